"""What must not be written down: the values of keys in all their spellings, and whatever looks like a token."""

import base64
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MASK = "[masked]"
"""What stands in the place of a secret. No rule matches it, and it needs no escape in JSON."""
SHORTEST = 8
"""Characters. A shorter key is a word such as `none` or `ollama`, which protects nothing and stands in any text."""
SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)\Z", re.IGNORECASE)

_KEY_TEXT = rb"(?:[A-Za-z0-9+/=\s:,-]|\\{1,15}[nrt/])"


def _token(prefix: bytes, rest: bytes) -> bytes:
    """A token that begins with the prefix, behind no letter or digit but one of an escape: \\n, \\u000a, %20."""
    # The looking back comes second, because a search for a fixed beginning is ten times as fast.
    before = (rb"(?<![A-Za-z0-9]%b)", rb"(?<=\\[bfnrt]%b)", rb"(?<=\\u[0-9A-Fa-f]{4}%b)", rb"(?<=%%[0-9A-Fa-f]{2}%b)")
    return prefix + b"(?:" + b"|".join(one % prefix for one in before) + b")" + rest


TOKENS: Mapping[str, bytes] = {
    "private key": rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:%b*?-----END [A-Z ]{0,40}PRIVATE KEY-----|%b*)"
    % (_KEY_TEXT, _KEY_TEXT),
    "bearer": rb"(?i:bearer(?:\s|%20|\+){1,9})(?:(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})",
    # Bounded here and in jwt: else a text that begins a token at every few bytes takes the square of its length.
    "basic": rb"(?i:basic(?:\s|%20|\+){1,9})(?=[A-Za-z0-9+/]{0,200}\d)[A-Za-z0-9+/]{16,}=*",
    "sk": _token(rb"sk-", rb"(?:[\w-]{0,200}\*+[\w*-]*|[\w-]{16,})"),
    "github": _token(rb"gh", rb"[opsur]_[A-Za-z0-9]{20,}"),
    "github, fine": _token(rb"github_pat_", rb"\w{20,}"),
    "gitlab": _token(rb"glpat-", rb"[\w-]{16,}"),
    "hugging face": _token(rb"hf_", rb"[A-Za-z0-9]{20,}"),
    "google": _token(rb"AIza", rb"[\w-]{30,}"),
    "aws": _token(rb"A", rb"(?:KI|SI)A[0-9A-Z]{16}(?![0-9A-Z])"),
    "slack": _token(rb"xox", rb"[a-z]-[A-Za-z0-9-]{10,}"),
    "jwt": _token(rb"eyJ", rb"[\w-]{8,1000}+\.[\w-]{8,}\.[\w-]*"),
    "password in an address": rb"://(?P<secret>[^\s/:@\"'\\]{1,200}:[^\s/@\"'\\]{1,200})@",
    "parameter of an address": rb"[?&](?i:key|token|api[_-]?key|access_token|sig|signature)="
    rb"(?P<secret>[^\s&\"'#\\\[]{4,})",
}
"""What tokens look like, by the name of their kind; the public prefixes are those that the issuers document."""


Edit = tuple[int, int, bytes]
"""From where to where bytes are to be replaced, and by what."""


class Masker:
    """Puts MASK in the place of every secret that it finds, and counts them in `count`.

    `keys` are the values that are searched for besides what looks like a token: as they are, escaped in JSON (also in
    JSON inside JSON), percent-encoded, and in base64 at any place of a longer text.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.count = 0
        known = sorted({key.strip() for key in keys if len(key.strip()) >= SHORTEST}, key=len, reverse=True)
        self._keys = [re.compile(pattern) for key in known for pattern in patterns_of(key)]
        self._rules = [*self._keys, *(re.compile(pattern) for pattern in TOKENS.values())]

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        return self.moved(data, ())[0]

    def text(self, text: str) -> str:
        """The text without secrets; a lone surrogate stays."""
        data = text.encode("utf-8", "surrogatepass")
        return self.data(data).decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """A JSON value without secrets: in each of its strings, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand in the bytes, in order and without overlap."""
        found = sorted(match.span(match.lastgroup or 0) for rule in self._rules for match in rule.finditer(data))
        return list(joined(found))

    def moved(self, data: bytes, borders: Sequence[int]) -> tuple[bytes, list[int]]:
        """The bytes without secrets, and where the borders lie then; one within a secret moves behind its mask."""
        spans = self.spans(data)
        self.count += len(spans)
        return edited(data, [(start, stop, MASK.encode()) for start, stop in spans], borders)

    def holds_key(self, data: bytes) -> bool:
        """Whether one of the keys stands in the bytes."""
        return any(rule.search(data) for rule in self._keys)


def keys_in(environment: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names end as those of secrets do, such as OPENAI_API_KEY."""
    return [value for name, value in environment.items() if SECRET_VARIABLE.search(name)]


def patterns_of(key: str) -> Iterator[bytes]:
    """Regular expressions for a key: its own spellings, and its base64 at the three places it can have in a triple."""
    yield spelled(key)
    raw = key.encode("utf-8", "surrogatepass")
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw).decode()
        # Left out are the characters that also hold bits of what stands before or behind the key.
        core = text[(0, 2, 3)[before] : len(text) - (0, 3, 2)[(before + len(raw)) % 3]]
        yield spelled(core)
        if (safe := core.translate(str.maketrans("+/", "-_"))) != core:
            yield spelled(safe)


def spelled(text: str) -> bytes:
    """A regular expression for a text with any of its characters escaped, as JSON or addresses do."""
    return b"".join(map(spellings, text))


def spellings(character: str) -> bytes:
    """A regular expression for one character: itself, behind backslashes where JSON may put them, \\u or %.

    Each alternative begins with a fixed byte, so that a search is fast; at most 15 backslashes, which is four levels
    of JSON in one another, so that a run of them costs no more.
    """
    raw = character.encode("utf-8", "surrogatepass")
    itself = [re.escape(raw)]
    if character in '"\\/':
        itself.append(rb"\\\\{0,14}" + re.escape(raw))
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = b"".join(rb"\\\\{0,14}u(?i:%04x)" % int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    percent = b"".join(b"%%(?:25){0,3}(?i:%02x)" % byte for byte in raw)
    return b"(?:" + b"|".join((*itself, escaped, percent)) + b")"


def joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted spans, those that overlap made one."""
    last: tuple[int, int] | None = None
    for start, stop in spans:
        if last is not None and start < last[1]:
            last = last[0], max(last[1], stop)
            continue
        if last is not None:
            yield last
        last = start, stop
    if last is not None:
        yield last


def edited(data: bytes, edits: Sequence[Edit], borders: Sequence[int]) -> tuple[bytes, list[int]]:
    """The bytes after the edits, which are sorted, and where the borders lie then; one within an edit moves behind."""
    parts: list[bytes] = []
    moved: list[int] = []
    left, end, size = deque(borders), 0, 0
    for start, stop, new in [*edits, (len(data), len(data), b"")]:
        while left and left[0] <= start:
            moved.append(size + left.popleft() - end)
        parts += [data[end:start], new]
        size += start - end + len(new)
        while left and left[0] <= stop:
            left.popleft()
            moved.append(size)
        end = stop
    return b"".join(parts), moved
