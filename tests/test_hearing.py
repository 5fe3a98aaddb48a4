"""What the judge takes for the model's reply: a stream put together, and nothing where half of one came."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.backends import script
from compare.body import read_whole
from compare.findings import SERIOUS
from compare.judge import Judged, judge
from compare.lanes import Lane
from compare.replies import (
    Piece,
    Reply,
    Scripted,
    ScriptedBody,
    ScriptedMessage,
    ScriptedStream,
    Sending,
    in_pieces,
)
from compare.runner import Execution, Run, Task, run_lane
from compare.server import Exchange, Request
from compare.stops import observed_stop
from compare.streams import to_stream
from compare.turns import Turn, conversation
from compare.wire import to_bytes
from protocol import DEVIATIONS, STOP_REASONS

USER = {"role": "user", "content": "What is 1+1?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "calculator", "arguments": '{"expression": "1+1"}'}}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true, "result": 2}'}
ANSWER = ScriptedMessage('{"role":"assistant","content":"2"}', "stop", {})
USE = Execution(1, "calculator", {"expression": "1+1"}, {}, 2, None, 0.0)


def asking(finish_reason: str = "tool_calls", **how: Any) -> ScriptedMessage:
    """A reply with a call."""
    return ScriptedMessage(json.dumps(ASKING), finish_reason, {}, Sending(**how))


def exchange(number: int, sent: Sequence[Any], reply: Reply, stream: bool = True, **more: Any) -> Exchange:
    """An exchange with this reply."""
    body = read_whole(json.dumps({"model": "m", "messages": sent, "stream": stream}).encode())
    request = Request(number, "POST", "/v1/chat/completions", (), b"", body)
    return Exchange(request, reply, to_bytes(reply), 1.0, 1.0, True, **more)


def turn_of(reply: Reply, stream: bool = True, **more: Any) -> Turn:
    """The turn that a request with this reply makes."""
    (turn,) = conversation([exchange(1, [USER], reply, stream, **more)]).turns
    return turn


def of(*data: str, **how: Any) -> Reply:
    """A stream of events with these texts."""
    pieces = tuple(Piece(f"data: {text}\n\n".encode()) for text in data)
    return to_stream(ScriptedStream(pieces, None, Sending(**how)), 1, "m")


def chunk(delta: Any, finish_reason: Any = None) -> str:
    """The text of a chunk."""
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def judged(*steps: tuple[Sequence[Any], Reply], uses: Sequence[Execution] = (), **more: Any) -> Judged:
    """A streamed run of these requests and replies, judged."""
    exchanges = [exchange(number, sent, reply) for number, (sent, reply) in enumerate(steps, 1)]
    values = {"messages": None, "stop": None, "raised": None} | more
    return judge(
        Run(
            "lane",
            Task(USER["content"], "m", stream=True),
            [],
            exchanges,
            list(uses),
            values["messages"],
            values["stop"],
            values["raised"],
            0.0,
            0,
        )
    )


# --- whole replies ---


@pytest.mark.parametrize("split", [None, 1, 7])
def test_a_streamed_reply_is_the_message_that_was_scripted(split: int | None) -> None:
    """However its bytes were cut."""
    turn = turn_of(to_stream(asking(split=split), 1, "m"))
    assert (ASKING, "tool_calls", True, ()) == (turn.reply, turn.finish_reason, turn.whole, turn.deviations)


def test_numbers_of_a_stream_are_heard_as_they_were_spelled() -> None:
    """Or a lane that rewrites 1.10 would look as if it had not."""
    turn = turn_of(of('{"choices":[{"delta":{"content":"a","vendor":1.10},"finish_reason":"stop"}]}', "[DONE]"))
    assert "1.10" == str((turn.reply or {})["vendor"])


def test_a_plain_reply_where_a_stream_was_asked_for_is_heard_and_named() -> None:
    """As a plain reply, and it was one all the same."""
    body = json.dumps({"choices": [{"index": 0, "message": ASKING, "finish_reason": "tool_calls"}]})
    turn = turn_of(Reply(200, (), body.encode()))
    assert (ASKING, True, ("plain-body",)) == (turn.reply, turn.whole, turn.deviations)
    assert () == turn_of(Reply(200, (), body.encode()), stream=False).deviations


def test_what_had_to_be_forgiven_is_named() -> None:
    """By the names of the rules, those of the reading before those of the assembling."""
    pieces = (Piece(f"data: {chunk({'role': 'assistant', 'content': 'a'}, 'stop')}\n".encode()),)
    turn = turn_of(to_stream(ScriptedStream(pieces), 1, "m"))
    assert ("event-without-blank-line", "no-done") == turn.deviations


def test_a_lane_that_does_right_gives_no_finding_with_a_stream() -> None:
    """The ground that the others stand on."""
    first, second = to_stream(asking(), 1, "m"), to_stream(ANSWER, 2, "m")
    steps = ([USER], first), ([USER, ASKING, RESULT], second)
    envelope = {"lost-field tools"}
    assert envelope >= {finding.key for finding in judged(*steps, uses=[USE]).findings}


# --- a stream that just ended ---

HALF = of(chunk({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **CALL}]}))


def test_a_stream_that_just_ends_is_a_reply_that_is_not_whole() -> None:
    """It has a message, and nobody said that it was all of it."""
    turn = turn_of(HALF)
    assert (ASKING, None, False) == (turn.reply, turn.finish_reason, turn.whole)


@pytest.mark.parametrize(
    ("reply", "caught"),
    [
        (HALF, True),
        (to_stream(asking("length"), 1, "m"), True),
        (to_stream(asking("tool_calls"), 1, "m"), False),
        (of(chunk({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **CALL}]}), "[DONE]"), False),
    ],
)
def test_running_a_tool_on_a_turn_that_is_not_whole_is_caught(reply: Reply, caught: bool) -> None:
    """By its own class; [DONE] alone says that the turn is whole."""
    steps = ([USER], reply), ([USER, ASKING, RESULT], to_stream(ANSWER, 2, "m"))
    found = [one for one in judged(*steps, uses=[USE]).findings if one.kind == "executed-despite-cut-off"]
    assert ([("messages[1].tool_calls[0]", SERIOUS)] if caught else []) == [(one.path, one.severity) for one in found]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([chunk({"content": "2 and"})], "cut-off"),
        ([chunk({"content": ""})], "cut-off"),
        ([chunk({"refusal": "No, I"})], "cut-off"),
        ([chunk({"tool_calls": [{"index": 0, **CALL}]})], "unanswered-calls"),
        ([chunk({"content": "2"}), "[DONE]"], "answer"),
        ([chunk({"content": "2"}, "stop")], "answer"),
        ([chunk({"content": "2"}, "length")], "cut-off"),
    ],
)
def test_a_run_that_ends_with_half_an_answer_was_cut_off(data: list[str], expected: str) -> None:
    """Not answered: an end must be said."""
    assert expected == judged(([USER], of(*data))).observed


# --- no reply at all ---

TEXT = chunk({"role": "assistant", "content": "2"})
LAST = chunk({}, "stop")
SIZE = len(f"data: {TEXT}\n\n")


@pytest.mark.parametrize(
    ("reply", "more", "expected"),
    [
        (of(TEXT, LAST, "[DONE]", ending="cut", cut=SIZE + 5), {}, "connection-error"),
        (of(TEXT, LAST, "[DONE]", ending="reset", cut=SIZE), {}, "connection-error"),
        (of(TEXT, LAST, "[DONE]", ending="cut", cut=0), {}, "connection-error"),
        (of(TEXT, ending="cut"), {"client_left": 9.0}, "connection-error"),
        (of(TEXT, ending="stall"), {"client_left": 9.0, "chunks": ((SIZE, 1.0),)}, "deadline"),
        (of(TEXT, ending="stall"), {}, "connection-error"),
        (of(TEXT, LAST, "[DONE]", drip=1.0), {"client_left": 3.0, "chunks": ((SIZE, 2.0),)}, "deadline"),
        (of(TEXT, LAST, "[DONE]", drip=1.0), {"client_left": 3.0}, "deadline"),
        (of(TEXT, '{"error":{"message":"busy"}}', ending="cut"), {}, "bad-reply"),
        (of(TEXT, '{"error":{"message":"busy"}}', "[DONE]"), {}, "bad-reply"),
        (of(TEXT, "no json"), {}, "bad-reply"),
        (of(), {}, "bad-reply"),
        (Reply(200, (), b"<html>"), {}, "bad-reply"),
        (Reply(200, (), b'{"error":{"message":"busy"}}'), {}, "bad-reply"),
        (Reply(200, (), b'{"choices', ending="cut", announced=50), {}, "connection-error"),
        (Reply(200, (), b"", ending="stall", announced=50), {"client_left": 9.0}, "deadline"),
        (Reply(429, (), b"{}"), {}, "http-error"),
        (Reply(500, (), b"{", ending="reset", announced=50), {}, "connection-error"),
        (Reply(0, (), b"", close=True), {}, "connection-error"),
    ],
)
def test_half_a_reply_is_none(reply: Reply, more: dict[str, Any], expected: str) -> None:
    """What it lacks decides how the run ends, and it is said in words."""
    turn = turn_of(reply, **more)
    assert (None, expected, True) == (turn.reply, turn.stop, turn.problem != "")


@pytest.mark.parametrize("stream", [True, False])
def test_a_plain_reply_that_is_cut_is_none_in_either_mode(stream: bool) -> None:
    """The end of the body is known by its announced length."""
    body = json.dumps({"choices": [{"index": 0, "message": ASKING}]}).encode()
    whole = Reply(200, (), body, ending="cut", announced=len(body))
    assert ASKING == turn_of(whole, stream).reply
    assert "connection-error" == turn_of(Reply(200, (), body, ending="cut", announced=len(body) + 1), stream).stop


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        (of(TEXT, LAST, "[DONE]", ending="cut"), {}),
        (of(TEXT, LAST, "[DONE]", ending="reset"), {}),
        (of(TEXT, LAST, ending="cut"), {}),
        (of(TEXT, LAST, "[DONE]", ending="stall"), {"client_left": 9.0}),
        (of(TEXT, LAST, "[DONE]"), {"client_left": 1.0}),
        (of(TEXT, LAST, "[DONE]", drip=1.0), {"client_left": 4.0, "chunks": ((SIZE, 2.0), (SIZE + 200, 3.0))}),
    ],
)
def test_what_was_whole_before_the_connection_broke_is_a_reply(reply: Reply, more: dict[str, Any]) -> None:
    """A message is whole with its finish reason or with [DONE], whatever comes after."""
    assert "2" == (turn_of(reply, **more).reply or {}).get("content")


@pytest.mark.parametrize(
    ("claimed", "messages", "expected"),
    [
        ("connection-error", [USER], []),
        ("answer", [USER, {"role": "assistant", "content": "2"}], []),
        ("deadline", [USER], ["claim-differs stop", "claim-differs messages[1]"]),
        ("connection-error", [USER, {"role": "assistant", "content": "2"}], ["claim-differs messages[1]"]),
    ],
)
def test_a_client_may_say_that_the_connection_broke_behind_a_whole_message(
    claimed: str, messages: list[Any], expected: list[str]
) -> None:
    """Both are true, and then it has no message; but it cannot have both."""
    result = judged(([USER], of(TEXT, LAST, ending="cut")), stop=claimed, messages=messages)
    assert expected == [one.key for one in result.findings if one.kind == "claim-differs"]


def test_a_request_that_is_sent_again_after_the_connection_broke_is_a_retry() -> None:
    """Also where the message had been whole."""
    steps = ([USER], of(TEXT, LAST, ending="cut")), ([USER], to_stream(ANSWER, 2, "m"))
    kinds = [one.kind for one in judged(*steps).findings if one.kind != "lost-field"]
    assert ["extra-attempt"] == kinds


def test_a_problem_says_how_much_came() -> None:
    """And what became of the rest."""
    cut = turn_of(of(TEXT, ending="cut", cut=5)).problem
    assert "the head and 5 bytes of the body came, then the connection was closed" == cut
    assert turn_of(of(TEXT, ending="reset")).problem.endswith("then the connection was reset")
    left = turn_of(of(TEXT, ending="stall"), client_left=3.0).problem
    assert left.endswith("and the client left before the rest")


@pytest.mark.parametrize(
    ("left", "raised", "expected"),
    [(61.0, RuntimeError(), "deadline"), (5.0, RuntimeError(), "crash"), (5.0, None, "deadline")],
)
def test_a_lane_that_raises_in_the_middle_of_a_reply_has_crashed(
    left: float, raised: BaseException | None, expected: str
) -> None:
    """Unless it had waited as long as it was told to."""
    stalled = exchange(1, [USER], of(TEXT, ending="stall"), client_left=left)
    run = Run("lane", Task("x", "m", stream=True), [], [stalled], [], None, None, raised, 0.0, 0)
    assert expected == observed_stop(run, conversation([stalled]))


def test_a_request_that_is_sent_again_after_half_a_reply_is_a_retry() -> None:
    """The turn is heard anew."""
    steps = ([USER], of(TEXT, ending="cut")), ([USER], to_stream(ANSWER, 2, "m"))
    result = judged(*steps)
    assert ["extra-attempt request 2"] == [one.key for one in result.findings if one.kind == "extra-attempt"]
    assert "answer" == result.observed


PARTS = (TEXT, LAST, "[DONE]", '{"choices":[{"delta":null}]}', '{"error":1}', "[]", "{", "")


@given(
    data=st.lists(st.sampled_from(PARTS) | st.text(), max_size=5),
    noise=st.binary(max_size=20),
    cut=st.none() | st.integers(0, 300),
    ending=st.sampled_from(["whole", "cut", "reset", "stall"]),
    left=st.none() | st.floats(1, 99),
    status=st.sampled_from([200, 429]),
)
def test_whatever_comes_is_a_message_or_a_problem(
    data: list[str], noise: bytes, cut: int | None, ending: str, left: float | None, status: int
) -> None:
    """Never both, never neither, and never an exception of the judge's own.

    Beside a message, a stop says only that the sending broke off behind it.
    """
    pieces = (*(Piece(f"data: {text}\n\n".encode("utf-8", "replace")) for text in data), Piece(noise))
    reply = in_pieces(status, (), pieces, Sending(cut=cut, ending=ending))
    turn = turn_of(reply, client_left=left)
    assert (turn.reply is None) == bool(turn.problem)
    broke_off = {"connection-error", "deadline"} if reply.ending != "whole" or left is not None else set()
    assert turn.stop in (STOP_REASONS if turn.reply is None else {"", *broke_off})
    assert set(turn.deviations) <= set(DEVIATIONS)


# --- through a lane ---


def run_of(lane: Any, *replies: Scripted, timeout: float = 5.0, stream: bool = True) -> Judged:
    """A lane run against these replies, judged."""
    task = Task(USER["content"], "m", stream=stream, timeout=timeout)
    return judge(run_lane(Lane("lane", lane), task, script(replies, "m")), len(replies))


def test_the_lane_is_told_of_the_mode_and_of_its_time() -> None:
    """The keyword `stream` comes only where it is true, so that a lane without it still runs plain."""
    seen: list[dict[str, Any]] = []

    def lane(prompt: str, tools: Any, **how: Any) -> tuple[list[Any], str]:
        seen.append(how)
        return [], "answer"

    run_of(lane, ANSWER, timeout=1.5)
    run_of(lane, ANSWER, stream=False)
    assert [(True, 1.5), (None, 5.0)] == [(how.get("stream"), how["timeout"]) for how in seen]


STALL = Sending(cut=40, ending="stall")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (ScriptedMessage(ANSWER.message, "stop", {}, STALL), "deadline"),
        (ScriptedMessage(ANSWER.message, "stop", {}, Sending(cut=200, ending="stall", split=1)), "deadline"),
        (ScriptedMessage(ANSWER.message, "stop", {}, Sending(split=5, drip=0.1)), "deadline"),
        (ScriptedMessage(ANSWER.message, "stop", {}, Sending(cut=200, ending="cut")), "connection-error"),
        (ScriptedMessage(ANSWER.message, "stop", {}, Sending(cut=200, ending="reset")), "connection-error"),
        (ScriptedBody(200, (), "{}", Sending(cut=0, ending="cut")), "connection-error"),
        (ScriptedBody(200, (), "{}", Sending(cut=0, ending="stall")), "deadline"),
        (ScriptedMessage(ANSWER.message, "stop", {}, Sending(split=50, drip=0.01)), "answer"),
    ],
)
def test_the_lane_by_hand_ends_as_the_judge_says(reply: Scripted, expected: str) -> None:
    """Its claim and the evidence agree, whatever the server does to it."""
    import raw

    result = run_of(raw.run, reply, timeout=0.4)
    assert (expected, expected) == (result.observed, result.run.stop)
    assert [] == [one.key for one in result.findings if one.kind in ("claim-differs", "extra-attempt")]
