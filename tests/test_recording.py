"""What a run did is in its recording, to the byte; what ends the process takes nothing that was complete."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from compare.judge import judge
from compare.recording.error import RecordingError
from compare.recording.load import load
from compare.recording.recorder import Recorder
from compare.replies import Reply, ScriptedBody, ScriptedClose
from compare.runner import Run, Task
from compare.secrets import Masker
from compare.server import Request
from tests.recordings import lines_of, record_backend, record_replies, recorded, rewrite
from tests.servers import backend, calls, says

SCENARIOS = [
    ("two-calls-in-one-turn", "plain"),
    ("two-calls-in-one-turn", "stream"),
    ("read-the-readme", "stream"),
    ("character-cut-in-two", "stream"),
    ("connection-reset-in-a-call", "stream"),
    ("body-cut-off", "plain"),
    ("server-500-then-fine", "plain"),
    ("connection-closed", "plain"),
    ("arguments-beyond-floats", "plain"),
    ("division-by-zero", "plain"),
    ("control-characters-in-a-result", "plain"),
]


def evidence(run: Run) -> list[list[Any]]:
    """Everything of a run that is the same each time it is looked at."""
    return [
        [
            [one.request.number, one.request.method, one.request.target, one.request.body.raw(), one.for_model],
            [one.reply.status, one.reply.body, one.reply.close, one.reply.ending, one.reply.announced],
            [(piece.data, piece.pause) for piece in one.reply.pieces],
            [end for end, _ in one.chunks],
        ]
        for one in run.exchanges
    ]


@pytest.mark.parametrize(("name", "mode"), SCENARIOS)
def test_a_recording_holds_the_evidence_to_the_byte(tmp_path: Path, name: str, mode: str) -> None:
    """Bodies, borders, endings and uses of tools come back, and the judge makes the same of them."""
    runs = recorded(tmp_path / "r.jsonl", name, "raw,lc", mode)
    recording = load(tmp_path / "r.jsonl")
    assert recording.missing == []
    for was, one in zip(runs, recording.runs, strict=True):
        assert evidence(was) == evidence(one.run)
        assert [(use.after, use.name, use.arguments) for use in was.executions] == [
            (use.after, use.name, use.arguments) for use in one.run.executions
        ]
        then, now = judge(was), judge(one.run)
        assert (then.observed, [it.key for it in then.findings]) == (now.observed, [it.key for it in now.findings])


def test_times_and_versions_are_in_it(tmp_path: Path) -> None:
    """And what decides what crosses the wire: the versions of the packages."""
    (run,) = recorded(tmp_path / "r.jsonl", "stream-drips", mode="stream")
    recording = load(tmp_path / "r.jsonl")
    assert recording.versions.keys() == {
        "python", "diptych", "httpx", "langchain-core", "langchain-openai", "langgraph", "openai"
    }  # fmt: skip
    for was, now in zip(run.exchanges, recording.runs[0].run.exchanges, strict=True):
        assert [now.received, now.answered] == pytest.approx([was.received, was.answered], abs=1e-5)
        assert [at for _, at in now.chunks] == pytest.approx([at for _, at in was.chunks], abs=1e-5)


def test_only_headers_of_the_list_keep_their_values(tmp_path: Path) -> None:
    """The key stands in one of the others."""
    record_replies(tmp_path / "r.jsonl", ScriptedBody(200, (("Set-Cookie", "c=CANARY"), ("x-request-id", "7")), "{}"))
    exchange = lines_of(tmp_path / "r.jsonl")[2]
    assert ["Authorization", "[masked]"] in [[name.title(), value] for name, value in exchange["headers"]]
    assert {"Set-Cookie": "[masked]", "x-request-id": "7"}.items() <= dict(exchange["reply_headers"]).items()


def test_a_long_conversation_grows_by_what_is_new(tmp_path: Path) -> None:
    """Each request repeats all before it; kept whole, sixty rounds would be thirty times as much."""

    def size(rounds: int) -> int:
        path = tmp_path / f"{rounds}.jsonl"
        replies = [calls((f"c{number}", "calculator", '{"expression": "1+1"}')) for number in range(rounds)]
        record_replies(path, *replies, says("2"), max_rounds=rounds + 2)
        exchanges = [line for line in lines_of(path) if line.get("type") == "exchange"]
        return sum(len(json.dumps(line)) for line in exchanges)

    assert size(60) < 5 * size(15)


LANE = """
import http.client, json, sys
from compare.recording.recorder import Recorder
from compare.runner import Task, run_lane
from compare.lanes import Lane
from tests.servers import backend, replies

def lane(prompt, tools, *, base_url, **rest):
    messages = [{"role": "user", "content": prompt}]
    for number in range(1, 10**6):
        body = json.dumps({"model": "m", "messages": messages}).encode()
        if number == 1:
            lane.line = http.client.HTTPConnection(base_url.split("/")[2])
        lane.line.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        reply = json.loads(lane.line.getresponse().read())["choices"][0]["message"]
        messages += [reply, {"role": "user", "content": "more"}]
        print(number, flush=True)

with Recorder(sys.argv[1], ["go"], ["lane", "other"], []) as recorder:
    run_lane(Lane("lane", lane), Task("go", "m"), backend(*replies(10**5)), recorder=recorder)
"""


@pytest.mark.parametrize("after", [2, 7, 40])
def test_a_kill_leaves_all_that_was_complete(tmp_path: Path, after: int) -> None:
    """By the one signal that nothing can catch; loading says what is missing."""
    path = tmp_path / "r.jsonl"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", LANE, str(path)], stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= after:
                break
        child.send_signal(signal.SIGKILL)
        seen = [after, *map(int, child.stdout)][-1]
    assert child.returncode == -signal.SIGKILL
    recording = load(path)
    there = [exchange.request.number for exchange in recording.runs[0].run.exchanges]
    # The last reply that the lane told of may have been on its way into the file when the signal came.
    assert there[: seen - 1] == list(range(1, seen))
    assert len(recording.runs[0].run.exchanges[seen - 2].request.body.messages()) == 2 * (seen - 1) - 1
    assert "run 1 (lane): its end" in recording.missing
    assert "the run of other on 'go'" in recording.missing
    assert recording.missing[-1].startswith("the footer")


def test_each_end_of_a_file_is_told_from_the_whole(tmp_path: Path) -> None:
    """Cut off behind any line, or within one, what is left loads and says what is missing."""
    path = tmp_path / "r.jsonl"
    recorded(path)
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    for size in {*range(first, len(data), 97), *(at + 1 for at, byte in enumerate(data) if byte == 10)} - {len(data)}:
        path.write_bytes(data[:size])
        recording = load(path)
        assert recording.missing
        assert ("the rest of the last line" in str(recording.missing)) == (data[size - 1] != 10)
    path.write_bytes(data)
    assert load(path).missing == []


def test_a_missing_exchange_is_named(tmp_path: Path) -> None:
    """By its run and number, which those around it give away."""
    path = tmp_path / "r.jsonl"
    recorded(path)
    rewrite(path, [{**line, "number": 3} if line.get("number") == 2 else line for line in lines_of(path)])
    assert load(path).missing == ["run 1 (raw): exchange 2"]


def test_a_file_that_is_there_is_not_touched(tmp_path: Path) -> None:
    """It may be the record of a run that cost money."""
    path = tmp_path / "r.jsonl"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(RecordingError, match="is there already; name another file, or remove this one"):
        Recorder(path, [], [], [])
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Before anything runs."""
    with pytest.raises(RecordingError, match="cannot be written: No such file or directory"):
        Recorder(tmp_path / "no" / "r.jsonl", [], [], [])


def test_a_rule_that_fails_lets_nothing_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the line nor any later one; the run goes on, and its end says what happened without the text."""
    asked = []
    spans = Masker.spans

    def breaks(masker: Masker, data: bytes) -> list[tuple[int, int]]:
        if b"CANARY" in data:
            asked.append(data)
            raise ValueError(f"cannot mask {data!r}")
        return spans(masker, data)

    monkeypatch.setattr(Masker, "spans", breaks)
    path = tmp_path / "r.jsonl"
    replies = (calls(("c1", "calculator", '{"expression": "1+1"}'), reasoning="CANARY"), says("2"))
    with pytest.raises(RecordingError) as told:
        record_replies(path, *replies)
    assert asked
    assert "CANARY" not in path.read_text(encoding="utf-8") + str(told.value)
    assert "is not whole: a ValueError while secrets were masked; nothing was written behind that" in str(told.value)
    assert load(path).runs[0].run.exchanges == []


def test_a_full_disk_is_told_and_ends_the_recording_only(tmp_path: Path) -> None:
    """The run may have cost money: its report comes all the same."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    recorder = Recorder(tmp_path / "r.jsonl", [], [], [])
    recorder._file.close()
    recorder._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 # closed by `close`
    recorder.run_started("raw", Task("p", "m"), [])
    with pytest.raises(RecordingError, match="No space left on device"):
        recorder.close()


def test_a_reply_that_never_came_is_recorded(tmp_path: Path) -> None:
    """As a connection that was closed."""
    record_replies(tmp_path / "r.jsonl", ScriptedClose(), ScriptedClose(), ScriptedClose())
    assert all(one.reply.close for one in load(tmp_path / "r.jsonl").runs[0].run.exchanges)


def test_a_finished_exchange_is_on_disk_before_the_next_one_is_answered(tmp_path: Path) -> None:
    """So that what a lane acts on can be found, whatever comes then."""
    path, seen = tmp_path / "r.jsonl", []
    inner = backend(calls(("c1", "calculator", '{"expression": "1+1"}')), says("2"))

    def answer(request: Request) -> Reply:
        time.sleep(0.05)
        seen.append(sum('"type":"exchange"' in line for line in path.read_text(encoding="utf-8").splitlines()))
        return inner(request)

    record_backend(path, answer)
    assert seen == [0, 1]
