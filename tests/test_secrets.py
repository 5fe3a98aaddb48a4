"""Keys are found in all their spellings, tokens by what they look like, and nothing else is touched."""

import base64
import json
import re
import time
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.secrets import MASK, Masker, edited, keys_in

KEY = 'Zq7/c+Xv"9é-CANARY'
SPELLINGS = {
    "as it is": KEY,
    "in JSON": json.dumps(KEY),
    "in JSON with its letters": json.dumps(KEY, ensure_ascii=False),
    "in JSON with slashes escaped": json.dumps(KEY).replace("/", "\\/"),
    "in JSON inside JSON": json.dumps(json.dumps({"k": KEY})),
    "in JSON three deep": json.dumps(json.dumps(json.dumps(KEY))),
    "in JSON, every character escaped": "".join(f"\\u{ord(char):04X}" for char in KEY),
    "in an address": urllib.parse.quote(KEY),
    "in an address, everything escaped": urllib.parse.quote(KEY, safe=""),
    "in an address, lower case": re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(KEY, safe="")),
    "in a form": urllib.parse.quote_plus(KEY),
    "escaped twice": urllib.parse.quote(urllib.parse.quote(KEY, safe=""), safe=""),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "in base64 behind a name": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "in base64 behind one byte": base64.b64encode(f"u{KEY}!".encode()).decode(),
    "in base64 for addresses": base64.urlsafe_b64encode(f"us{KEY}???".encode()).decode(),
}
TOKENS = {
    "sk": "sk-proj-" + "a1" * 20,
    "sk, as OpenAI tells it back": "sk-ab***************************wxyz",
    "github": "ghp_" + "a1" * 18,
    "github, fine": "github_pat_" + "a1" * 30,
    "gitlab": "glpat-" + "a1" * 10,
    "hugging face": "hf_" + "a1" * 17,
    "google": "AIza" + "a1" * 18,
    "aws": "AKIA" + "A1" * 8,
    "slack": "xoxb-1234567890-abcdef",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "bearer": "Bearer a1b2c3d4",
    "basic": "Basic dXNlcjpwYXNzd29yZDEy",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow/+IBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY-----",
    "private key, cut off": "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n",
}
HARMLESS = [
    "a task-based-on-a-very-long-name and a risk-of-something-else-entirely",
    "the bearer of bad news, basic arithmetic, basic understanding",
    "AKIAN is a name; eyJ; xox; hf_model; ghp_; https://example.org:8080/a?page=2&monkey=1",
    "sk-short",
    MASK,
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_is_found_in_each_spelling(spelling: str) -> None:
    """Whatever carries a text escapes it, or puts it into base64."""
    masker = Masker([KEY])
    text = masker.text(f"before {SPELLINGS[spelling]} behind")
    assert "CANARY" not in text
    assert MASK in text
    assert not masker.holds_key(text.encode())
    assert text.startswith("before ")
    assert text.endswith(" behind")
    assert masker.count == 1


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("around", ["{}", '{{"a": "{}"}}', "x\\n{}", "\\u000a{}", "a%20{}", "= {};"])
def test_a_token_is_found_by_its_looks(kind: str, around: str) -> None:
    """Without knowing its value, behind an escape too; what is around it stays."""
    token = json.dumps(TOKENS[kind])[1:-1]
    masked = Masker().text(around.format(token))
    assert around.format(MASK) == masked


def test_what_an_address_holds_is_found() -> None:
    """A password in front of the host, and parameters that are named as secrets are."""
    text = Masker().text("see https://me:hunter2@host/x?a=1&api_key=abcd1234&key=zzzz9999#top")
    assert f"see https://{MASK}@host/x?a=1&api_key={MASK}&key={MASK}#top" == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay_as_they_are(text: str) -> None:
    """A mask that hides words would change what a recording says."""
    masker = Masker()
    assert (text, 0) == (masker.text(text), masker.count)


def test_a_word_is_no_key() -> None:
    """Local servers take any key: `ollama` must stay in texts on ollamas."""
    assert Masker(["ollama", "", "  "]).text("I use ollama") == "I use ollama"


def test_keys_come_from_the_environment_by_name() -> None:
    """Those of other services count too: a command that is a lane may use them."""
    environment = {"OPENAI_API_KEY": "1", "GITHUB_TOKEN": "2", "DB_PASSWORD": "3", "HOME": "4", "KEYBOARD": "5"}
    assert keys_in(environment) == ["1", "2", "3"]


def test_a_value_is_masked_in_its_keys_too() -> None:
    """A tool's arguments are an object whose keys a model chooses."""
    masked = Masker([KEY]).value({KEY: [KEY, 1, None, {"a": (KEY,)}]})
    assert masked == {MASK: [MASK, 1, None, {"a": [MASK]}]}


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(KEY),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just(f"a{KEY}b"), inner),
    max_leaves=10,
)


@given(documents, st.booleans())
def test_json_stays_json(document: Any, ascii_only: bool) -> None:
    """A masked body can still be read and judged, and holds no key."""
    data = json.dumps(document, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    masker = Masker([KEY])
    masked = masker.data(data)
    assert not masker.holds_key(masked)
    assert json.loads(masked.decode("utf-8", "surrogatepass")) == Masker([KEY]).value(document)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=4), st.lists(st.integers(0, 40)))
def test_borders_stay_where_they_were(places: list[tuple[int, int]], borders: list[int]) -> None:
    """What stands between two borders outside of the edits is the same afterwards."""
    data = bytes(range(40))
    edits, end = [], 0
    for start, length in sorted(places):
        if start >= end:
            edits.append((start, start + length, b"#"))
            end = start + length
    borders = sorted(borders)
    out, moved = edited(data, edits, borders)
    assert sorted(moved) == moved
    assert len(moved) == len(borders)
    for before, after in zip(borders, moved, strict=True):
        inside = any(start < before < stop for start, stop, _ in edits)
        touches = any(start <= before <= stop for start, stop, _ in edits)
        if not inside and not touches and before < len(data):
            assert data[before : before + 1] == out[after : after + 1]


def test_a_long_run_of_backslashes_costs_no_more() -> None:
    """A hostile text must not hold up a run."""
    for text in (b"\\" * 300_000, b"bearer " * 50_000, b"-----BEGIN PRIVATE KEY-----" * 10_000, b"://a:" * 50_000):
        assert len(Masker([KEY]).data(text)) > 0


@pytest.mark.parametrize("start", [b"basic+", b"-eyJ", b"bearer+", b"sk-", b"ghp_"])
def test_a_long_run_of_beginnings_costs_in_proportion(start: bytes) -> None:
    """A text in which a token begins at every few bytes and none ends: four times as much may not cost 16 times."""
    seconds = []
    for size in (20_000, 80_000):
        begun = time.process_time()
        Masker().data(start * (size // len(start)))
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 10 * seconds[0] + 0.2
