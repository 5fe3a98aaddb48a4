"""A recording is somebody else's file: whatever it holds, it is loaded or refused in one line, and nothing acts."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compare.judge import judge
from compare.lanes import load_lanes
from compare.recording import har_import, read
from compare.recording.error import RecordingError
from compare.recording.har_import import import_har
from compare.recording.load import load
from compare.recording.replay import prompts_of, replay_prompt
from tests.recordings import lines_of, record_replies, recorded, rewrite
from tests.servers import calls, says

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The lines of a recording of two requests: header, run, exchange, execution, exchange, end, footer."""
    path = tmp_path_factory.mktemp("recording") / "r.jsonl"
    record_replies(path, calls(("c1", "calculator", '{"expression": "3*4"}')), says("12"))
    order = ["header", "run", "exchange", "execution", "end", "footer"]
    return sorted(lines_of(path), key=lambda line: order.index(line.get("type", "header")))


def refusal(call: Callable[[], object]) -> str:
    """Why a file is refused; nothing where it is not."""
    try:
        call()
    except RecordingError as error:
        return str(error)
    return ""


def put(line: int, key: str, value: Any) -> Callable[[Lines], None]:
    """Sets a value in one of the lines."""

    def change(lines: Lines) -> None:
        lines[line][key] = value

    return change


REFUSED: dict[str, tuple[Callable[[Lines], object], str]] = {
    "no header": (lambda lines: lines.pop(0), ":1: is no header of a recording"),
    "another format": (put(0, "format", "other"), ":1: is no header of a recording"),
    "a later version": (put(0, "version", 2), ":1: is of version 2, but this Diptych reads version 1"),
    "a version that is a text": (put(0, "version", "1\u001b[2J"), ":1: is of version '1"),
    "an unknown type": (put(1, "type", "exec"), ":2: its type is 'exec', but must be one of run"),
    "an unknown key": (put(1, "import", "os"), ":2: is no run line"),
    "a missing key": (lambda lines: lines[2].pop("status"), ":3: is no exchange line"),
    "a time without end": (put(2, "received", 1e300), ":3: is no exchange line"),
    "a time that is a truth": (put(2, "received", True), ":3: is no exchange line"),
    "a header that splits the reply": (put(2, "reply_headers", [["X", "a\r\nSet-Cookie: b"]]), ":3: is no exchange"),
    "a header whose name splits it": (put(2, "reply_headers", [["X: y\r\nZ", "a"]]), ":3: is no exchange line"),
    "a target with a line": (put(2, "target", "/v1/x\r\nHost: y"), ":3: is no exchange line"),
    "a month of none": (put(0, "started", "2026-99-01T00:00:00.000+00:00"), ":1: begins at a time that is none"),
    "a time at the end of all": (put(0, "started", "9999-12-31T23:59:59.000+00:00"), ":1: begins at a time that is"),
    "a status of none": (put(2, "status", 7), ":3: its status is 7, which is none of HTTP"),
    "a piece behind the end": (put(2, "pieces", [{"end": 10**6, "pause": 0, "at": 0}]), ":3: a piece ends at 1000000"),
    "pieces that go back": (
        put(2, "pieces", [{"end": 9, "pause": 0, "at": 0}, {"end": 3, "pause": 0, "at": 0}]),
        ":3: a piece ends at 3",
    ),
    "pieces that end early": (put(2, "pieces", [{"end": 3, "pause": 0, "at": 0}]), ":3: its pieces end at 3"),
    "bytes that are none": (put(2, "reply", {"base64": "!!"}), ":3: bytes that cannot be read"),
    "a body on nothing": (put(2, "body", {"after": 9, "added": ""}), ":3: its body goes on from exchange 9"),
    "a body on itself": (put(2, "body", {"after": 1, "added": ""}), ":3: its body goes on from exchange 1"),
    "an addition that is none": (
        put(3, "body", {"after": 1, "added": "}]}"}),
        ":4: what its body adds are no messages",
    ),
    "a number twice": (put(3, "number", 1), ":4: exchange 1 of run 1 is there for the second time"),
    "a run twice": (lambda lines: lines.insert(2, lines[1]), ":3: run 1 begins for the second time"),
    "an exchange of no run": (put(2, "run", 5), ":3: run 5 has no beginning"),
    "a line behind the footer": (lambda lines: lines.append(lines[1]), ":8: stands behind the footer"),
    "a workspace that is no text": (
        lambda lines: lines[1]["task"].update(workspace={"a": 1}),
        ":2: is no run line",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_refused_in_one_line(lines: Lines, tmp_path: Path, what: str) -> None:
    """With the file, the line and the reason, and nothing that a terminal would obey."""
    change, words = REFUSED[what]
    path = tmp_path / "r.jsonl"
    changed = copy.deepcopy(lines)
    change(changed)
    rewrite(path, changed)
    with pytest.raises(RecordingError) as told:
        load(path)
    assert str(told.value).startswith(f"{path}{words}")
    assert str(told.value).isprintable()


TEXTS = {
    "nothing": ("", "holds no whole line"),
    "half a line": ('{"format":"diptych-recording"', "holds no whole line"),
    "no JSON": ("hello\n", ":1: is no line of JSON"),
    "a list": ("[]\n", ":1: is JSON, but no object"),
    "a deep nest": ("[" * 100_000 + "\n", ":1: is nested more than 110 levels deep"),
    "a text without end": ("[]" * 100 + '"' + '\\"' * 200_000 + "\n", ":1: is no line of JSON"),
    "a deep nest in a line": ('{"a":' * 200 + "1" + "}" * 200 + "\n", ":1: is nested more than 110 levels deep"),
    "a number without end": ('{"version":' + "9" * 5000 + "}\n", ":1: is no line of JSON"),
    "no number": ('{"version": NaN}\n', ":1: is no line of JSON"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_other_files_are_refused(tmp_path: Path, what: str) -> None:
    """In one line."""
    path = tmp_path / "r.jsonl"
    text, words = TEXTS[what]
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordingError) as told:
        load(path)
    assert words in str(told.value)
    assert len(str(told.value)) < 500


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """As no JSON."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(RecordingError, match="is no line of JSON"):
        load(path)


def test_what_never_ends_is_not_begun(tmp_path: Path) -> None:
    """A device or a pipe is no file."""
    with pytest.raises(RecordingError, match="is no file; name a recording"):
        load("/dev/zero")


@pytest.mark.parametrize(("limit", "value"), [("MAX_BYTES", 500), ("MAX_LINE", 500), ("MAX_LINES", 3)])
def test_each_limit_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    """Of bytes in all, of bytes in a line, and of lines."""
    recorded(tmp_path / "r.jsonl")
    monkeypatch.setattr(read, limit, value)
    with pytest.raises(RecordingError, match=r"larger than a recording may be|at most 3 lines"):
        load(tmp_path / "r.jsonl")


def test_no_path_leads_out_of_a_recording(lines: Lines, tmp_path: Path) -> None:
    """A workspace of somebody else's is written into a new folder, and nowhere else."""
    outside = tmp_path / "outside.txt"
    for name in (str(outside), "../../outside.txt", "a/../../../outside.txt", "", ".", "a\0b"):
        changed = copy.deepcopy(lines)
        changed[1]["task"]["workspace"] = {name: "owned"}
        path = tmp_path / "r.jsonl"
        rewrite(path, changed)
        with pytest.raises(RecordingError, match=":2: its workspace"):
            load(path)
    assert not outside.exists()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_changed_is_loaded_or_refused(lines: Lines, tmp_path: Path, data: st.DataObject) -> None:
    """Nothing else comes of it; and what is loaded can be judged."""
    changed = copy.deepcopy(lines)
    for _ in range(data.draw(st.integers(1, 3))):
        target: Any = changed
        while isinstance(target, list | dict) and target:
            key = data.draw(st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target))))
            if not isinstance(target[key], list | dict) or data.draw(st.booleans()):
                target[key] = data.draw(values)
                break
            target = target[key]
    path = tmp_path / "r.jsonl"
    rewrite(path, changed)
    assert refusal(lambda: [judge(one.run) for one in load(path).runs]).isprintable()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.integers(0, 3000))
def test_whatever_bytes_are_put_in_are_loaded_or_refused(lines: Lines, tmp_path: Path, junk: bytes, at: int) -> None:
    """At any place of the file."""
    path = tmp_path / "r.jsonl"
    rewrite(path, lines)
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + junk + whole[at + len(junk) :])
    assert refusal(lambda: load(path)).isprintable()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values)
def test_whatever_reply_is_put_in_replays(lines: Lines, tmp_path: Path, value: Any) -> None:
    """A lane may make of it what it can; the replay comes to its end."""
    changed = copy.deepcopy(lines)
    changed[2]["reply"] = json.dumps(value)
    path = tmp_path / "r.jsonl"
    rewrite(path, changed)
    ((task, runs),) = prompts_of(load(path))
    replay_prompt(task, runs, load_lanes("raw"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_archive_is_given_is_imported_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """And what is imported loads."""
    body = {"mimeType": "application/json", "text": '{"model":"m","messages":[{"role":"user","content":"hi"}]}'}
    entry: Any = {
        "pageref": "p",
        "time": 5,
        "request": {"method": "POST", "url": "https://x.invalid/v1/chat/completions", "headers": [], "postData": body},
        "response": {"status": 200, "headers": [{"name": "A", "value": "b"}], "content": {"text": "{}"}},
    }
    har: Any = {"log": {"pages": [{"id": "p", "_lane": "raw"}], "entries": [entry, copy.deepcopy(entry)]}}
    target = har
    while isinstance(target, list | dict) and target:
        key = data.draw(st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target))))
        if not isinstance(target[key], list | dict) or data.draw(st.booleans()):
            target[key] = data.draw(values)
            break
        target = target[key]
    path, out = tmp_path / "a.har", tmp_path / "a.jsonl"
    path.write_text(json.dumps(har), encoding="utf-8")
    out.unlink(missing_ok=True)
    refused = refusal(lambda: import_har(path, out, []))
    assert refused.isprintable()
    assert refused or load(out).missing == []


def test_an_archive_has_limits_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of depth and of entries."""
    path = tmp_path / "a.har"
    path.write_text('{"log":{"entries":[' + "[" * 200 + "]" * 200 + "]}}", encoding="utf-8")
    with pytest.raises(RecordingError, match="is nested more than 120 levels deep"):
        import_har(path, tmp_path / "r.jsonl", [])
    path.write_text('{"log":{"entries":[{},{},{}]}}', encoding="utf-8")
    monkeypatch.setattr(har_import, "MAX_LINES", 2)
    with pytest.raises(RecordingError, match="has more than 2 entries"):
        import_har(path, tmp_path / "r.jsonl", [])
