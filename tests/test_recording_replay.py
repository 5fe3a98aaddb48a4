"""A replay gives each lane the recorded replies to what means the same, asks nobody else, and says what it misses."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from compare.lanes import Lane, load_lanes
from compare.recording.load import load
from compare.recording.replay import Replay, prompts_of, replay_prompt
from compare.recording.told import told
from compare.replies import Piece, Reply
from compare.server import Request
from raw import run as raw_run
from tests.evidence import saying
from tests.recordings import lines_of, record_backend, record_replies, recorded, rewrite
from tests.servers import calls, fails, says
from tests.test_cli import diptych

SCENARIOS = [
    "two-calls-in-one-turn",
    "read-the-readme",
    "list-then-read",
    "missing-file",
    "division-by-zero",
    "arguments-not-json",
    "server-500-then-fine",
    "connection-cut-in-a-call",
    "content-as-parts",
    "id-missing-in-two-calls",
    "rate-limit-for-good",
]


def replays(path: Path, lanes: str | Sequence[Lane] = "raw,lc", pace: str = "fast") -> list[Replay]:
    """Replay all of a recording."""
    chosen = load_lanes(lanes) if isinstance(lanes, str) else lanes
    return [one for task, runs in prompts_of(load(path)) for one in replay_prompt(task, runs, chosen, pace)[1]]


def altered(change: Callable[[list[Any]], None]) -> Lane:
    """The raw lane, whose prompt or tools are changed first."""

    def run(prompt: str, tools: Sequence[Any], **rest: Any) -> tuple[list[Any], str]:
        given: list[Any] = [prompt, list(tools)]
        change(given)
        return raw_run(given[0], given[1], **rest)

    return Lane("raw", run)


@pytest.mark.parametrize("mode", ["plain", "stream"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_lanes_do_what_was_recorded(tmp_path: Path, name: str, mode: str) -> None:
    """Each of them, with the files of then and the errors of then."""
    recorded(tmp_path / "r.jsonl", name, "raw,lc", mode)
    found = replays(tmp_path / "r.jsonl")
    assert [one.agrees for one in found] == [True, True], list(told(found))
    assert [one.recorded for one in found] == [one.observed for one in found]


def test_another_lane_gets_the_first_ones_replies(tmp_path: Path) -> None:
    """While its requests mean the same."""
    recorded(tmp_path / "r.jsonl", "two-calls-in-one-turn", "raw")
    assert [(one.lane, one.source, one.agrees) for one in replays(tmp_path / "r.jsonl", "lc")] == [("lc", "raw", True)]


def test_files_of_then_need_not_be_here(tmp_path: Path) -> None:
    """What a tool read then is what it reads now: no path leads out of a recording."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "notes.txt").write_text("buy milk\n", encoding="utf-8")
    path = tmp_path / "r.jsonl"
    record_replies(path, calls(("c1", "read_text_file", '{"path": "notes.txt"}')), says("milk"), root=root)
    (root / "notes.txt").unlink()
    assert str(root) not in path.read_text(encoding="utf-8")
    assert [one.agrees for one in replays(path)] == [True, True]


def test_a_miss_names_the_nearest_request_and_where_it_differs(tmp_path: Path) -> None:
    """And the lane gets an error, because nobody else is asked."""
    path = tmp_path / "r.jsonl"
    record_replies(path, calls(("c1", "calculator", '{"expression": "3*4"}')), says("12"))

    def louder(given: list[Any]) -> None:
        given[0] += "!"

    (one,) = replays(path, [altered(louder)])
    assert [(miss.request, miss.nearest) for miss in one.misses] == [(1, 1)]
    assert [difference.path for difference in one.misses[0].differences] == ["messages[0].content"]
    assert one.observed == "http-error"
    assert list(told([one])) == [
        "replay: raw: request 1 means what no recorded one of raw does that is left; the nearest is request 1, "
        "which differs at:",
        '  messages[0].content: recorded "What is 3*4?", sent "What is 3*4?!"',
        "replay: raw ended with http-error, but with answer when it was recorded",
    ]


def test_the_nearest_is_the_one_that_differs_least(tmp_path: Path) -> None:
    """Not the one that stands in the same place."""
    path = tmp_path / "r.jsonl"
    record_replies(path, calls(("c1", "calculator", '{"expression": "3*4"}')), says("12"))

    def lost(prompt: str, tools: Sequence[Any], **rest: Any) -> tuple[list[Any], str]:
        return raw_run(prompt, [], **rest)

    (one,) = replays(path, [Lane("raw", lost)])
    assert (one.misses[0].nearest, one.misses[0].differences[0].path) == (1, "tools")


def test_a_request_too_many_is_a_miss(tmp_path: Path) -> None:
    """A recorded reply is given once."""
    path = tmp_path / "r.jsonl"
    record_replies(path, says("12"))

    def twice(prompt: str, tools: Sequence[Any], **rest: Any) -> tuple[list[Any], str]:
        raw_run(prompt, tools, **rest)
        return raw_run(prompt, tools, **rest)

    (one,) = replays(path, [Lane("raw", twice)])
    assert [(miss.request, miss.nearest) for miss in one.misses] == [(2, None)]
    assert "all of them are used up" in next(told([one]))


def test_equal_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    """A retry is the same request; the first reply was an error, the second was not."""
    path = tmp_path / "r.jsonl"
    record_replies(path, fails(500), says("12"))
    assert [one.agrees for one in replays(path, "raw")] == [True]


def test_what_was_never_sent_is_told(tmp_path: Path) -> None:
    """A lane that stops early misses nothing, and yet does not do what was recorded."""
    path = tmp_path / "r.jsonl"
    record_replies(path, calls(("c1", "calculator", '{"expression": "3*4"}')), says("12"))

    def short(prompt: str, tools: Sequence[Any], **rest: Any) -> tuple[list[Any], str]:
        return raw_run(prompt, tools, **{**rest, "max_rounds": 1})

    (one,) = replays(path, [Lane("raw", short)])
    assert (one.agrees, one.misses, one.unused) == (False, [], [2])
    assert "replay: raw never sent what is recorded of raw as request 2" in list(told([one]))


PIECES = (Piece(b'data: {"choices":[{"index":0,"delta":{"role":"assistant",', 0.1), Piece(b'"content":"12"},', 0.0))
END = Piece(b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n', 0.2)


def stream(request: Request) -> Reply:
    """A reply in three pieces that no event begins or ends with."""
    pieces = (*PIECES, END)
    body = b"".join(piece.data for piece in pieces)
    return Reply(200, (("Content-Type", "text/event-stream"),), body, pieces=pieces)


@pytest.mark.parametrize(("pace", "least", "most"), [("fast", 0.0, 0.15), ("real", 0.3, 0.9)])
def test_a_stream_has_its_borders_and_at_real_pace_its_pauses(
    tmp_path: Path, pace: str, least: float, most: float
) -> None:
    """As they were recorded."""
    path = tmp_path / "r.jsonl"
    record_backend(path, stream, stream=True)
    ((task, runs),) = prompts_of(load(path))
    comparison, (one,) = replay_prompt(task, runs, load_lanes("raw"), pace)
    (exchange,) = comparison.lanes[0].run.exchanges
    assert one.agrees
    assert [piece.data for piece in exchange.reply.pieces] == [piece.data for piece in (*PIECES, END)]
    assert least <= exchange.chunks[-1][1] - exchange.answered <= most


def test_a_plain_reply_comes_as_late_as_it_did(tmp_path: Path) -> None:
    """At real pace."""
    path = tmp_path / "r.jsonl"

    def slow(request: Request) -> Reply:
        time.sleep(0.2)
        return saying({"content": "hi"})

    record_backend(path, slow)
    for pace, least, most in (("fast", 0.0, 0.15), ("real", 0.2, 0.9)):
        ((task, runs),) = prompts_of(load(path))
        comparison, _ = replay_prompt(task, runs, load_lanes("raw"), pace)
        (exchange,) = comparison.lanes[0].run.exchanges
        assert least <= exchange.answered - exchange.received <= most


def test_a_cut_off_recording_replays_as_far_as_it_goes(tmp_path: Path) -> None:
    """Then comes a miss; the end is not held against what is not there."""
    path = tmp_path / "r.jsonl"
    record_replies(path, calls(("c1", "calculator", '{"expression": "3*4"}')), says("12"))
    lines = [line for line in lines_of(path) if line.get("type") not in ("end", "footer")]
    rewrite(path, [line for line in lines if line.get("number", 1) == 1])
    (one,) = replays(path, "raw")
    assert ([(miss.request, miss.nearest) for miss in one.misses], one.recorded) == ([(2, None)], None)


# --- on the command line ---


def test_the_command_records_and_replays(tmp_path: Path) -> None:
    """Without a model, and the exit code is 0."""
    ran = diptych("ask", "计算 (17 * 23) + 9", "--record", "r.jsonl", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = diptych("replay", "r.jsonl", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "replay: raw did what was recorded of raw, and ended with answer" in ran.stdout
    assert "400" in ran.stdout


def test_the_prompts_of_a_recording_are_told_apart(tmp_path: Path) -> None:
    """Two prompts give two names in the report; one is just the replay."""
    run = tmp_path / "run.jsonl"
    diptych("run", "one-call", "two-calls-in-one-turn", "--lanes", "raw", "--record", str(run))
    told = json.loads(diptych("replay", str(run), "--lanes", "raw", "--json", "-").stdout)
    assert ["replay-1", "replay-2"] == [one["name"] for one in told["comparisons"]]


def test_a_miss_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    """Another than a difference, wrong use or a fault of ours."""
    assert diptych("run", "one-call", "--record", "r.jsonl", "--lanes", "raw", cwd=tmp_path).returncode == 0
    (tmp_path / "loud.py").write_text(
        "import raw\ndef run(prompt, tools, **rest):\n    return raw.run(prompt + '!', tools, **rest)\n", "utf-8"
    )
    ran = diptych("replay", "r.jsonl", "--lanes", "loud", "--json", "-", cwd=tmp_path)
    assert ran.returncode == 4
    assert "messages[0].content" in ran.stderr
    assert json.loads(ran.stdout)["lanes"] == ["loud"]


def test_a_lane_that_stops_early_ends_with_1(tmp_path: Path) -> None:
    """It is a difference."""
    assert diptych("run", "one-call", "--record", "r.jsonl", "--lanes", "raw", cwd=tmp_path).returncode == 0
    (tmp_path / "short.py").write_text(
        "import raw\ndef run(prompt, tools, **rest):\n    return raw.run(prompt, tools, **rest | {'max_rounds': 1})\n",
        "utf-8",
    )
    ran = diptych("replay", "r.jsonl", "--lanes", "short", cwd=tmp_path)
    assert ran.returncode == 1
    assert "never sent what is recorded of raw as request 2" in ran.stdout


@pytest.mark.parametrize("name", ["no.jsonl", ".", "bad.jsonl"])
@pytest.mark.parametrize("command", [["replay"], ["export", "--curl", "1"]])
def test_what_is_no_recording_ends_with_2(tmp_path: Path, command: list[str], name: str) -> None:
    """In one line that names it."""
    (tmp_path / "bad.jsonl").write_text("hello\n", encoding="utf-8")
    ran = diptych(*command, name, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"diptych: {name}:")
    assert ran.stderr.count("\n") == 1


def test_a_lane_named_in_a_recording_is_not_loaded(tmp_path: Path) -> None:
    """Whoever wrote the file must not choose what runs here."""
    (tmp_path / "evil.py").write_text("open('pwned', 'w').close()\nfrom raw import run\n", encoding="utf-8")
    path = tmp_path / "r.jsonl"
    recorded(path)
    path.write_text(path.read_text(encoding="utf-8").replace('"lane":"raw"', '"lane":"evil"'), encoding="utf-8")
    assert diptych("replay", "r.jsonl", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "pwned").exists()


def test_a_recording_that_is_not_whole_says_so(tmp_path: Path) -> None:
    """On standard error, and is replayed."""
    path = tmp_path / "r.jsonl"
    recorded(path)
    path.write_bytes(path.read_bytes().rpartition(b'{"type":"footer"')[0])
    ran = diptych("replay", "r.jsonl", "--lanes", "raw", cwd=tmp_path)
    assert ran.returncode == 0
    assert "r.jsonl: missing is the footer" in ran.stderr
