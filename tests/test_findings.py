"""A finding says what it leads to and what it is about, in words that fit its place."""

from typing import Any

import pytest

from compare.findings import CLASSES, OF_ENVELOPE, Finding, meaning
from compare.judge import judge
from compare.replies import ScriptedStream, Sending
from compare.streams import to_stream
from tests.evidence import USER, answering, asking, call, result, run_of, saying, use
from tests.servers import says

FIRST = ([USER], saying(asking(call()), "tool_calls"))
SECOND = ([USER, asking(call()), result()], saying(answering()))


@pytest.mark.parametrize("path", ["tools", "tools[1]", "stream", "temperature", "stop", "request_timeout", "messages"])
@pytest.mark.parametrize("kind", OF_ENVELOPE)
def test_what_stands_beside_the_messages_is_no_affair_of_the_model(kind: str, path: str) -> None:
    """The consequence speaks of the request; whatever a parameter is named."""
    assert OF_ENVELOPE[kind] == Finding(kind, "x", path).consequence


@pytest.mark.parametrize(
    "path", ["messages[1].reasoning", "messages[0]", "executed messages[1].tool_calls[0].arguments"]
)
@pytest.mark.parametrize("kind", OF_ENVELOPE)
def test_what_stands_in_the_messages_is(kind: str, path: str) -> None:
    """There the consequence is that of the class."""
    assert CLASSES[kind][1] == Finding(kind, "x", path).consequence


def test_a_legend_says_both() -> None:
    """And only one thing of any other class."""
    both = (
        "what the model sent does not come back to it; "
        "beside the messages: the request leaves out what the lane was given"
    )
    assert both == meaning("lost-field")
    assert CLASSES["reordered"][1] == meaning("reordered")


@pytest.mark.parametrize(
    ("steps", "scripted", "note"),
    [
        ((FIRST,), 2, "the script has 2 replies, and 1 was asked for"),
        ((FIRST, SECOND), 1, "the script has 1 reply, and 2 were asked for"),
        ((), 1, "the script has 1 reply, and 0 were asked for"),
    ],
)
def test_a_script_of_another_length_is_told_in_words(steps: tuple[Any, ...], scripted: int, note: str) -> None:
    """The two numbers stand in the note, and are no values that differ."""
    found = [one for one in judge(run_of(*steps), scripted).findings if one.kind in ("unused-reply", "beyond-script")]
    assert [(None, None, note)] == [(one.expected, one.found, one.note) for one in found]


def test_calls_in_another_order_are_given_in_both_orders() -> None:
    """By their ids, as the model made them and as they came back."""
    asked, back = asking(call("a"), call("b"), call("c")), asking(call("c"), call("a"), call("b"))
    sent = [USER, back, *map(result, ("a", "b", "c"))]
    run = run_of(([USER], saying(asked)), (sent, saying(answering())), uses=[use(), use(), use()])
    (found,) = [one for one in judge(run).findings if one.kind == "reordered"]
    assert (["a", "b", "c"], ["c", "a", "b"]) == (found.expected, found.found)


def test_results_in_another_order_are_given_in_both_orders() -> None:
    """By the ids of their calls; a call without a result has no place."""
    asked = asking(call("a"), call("b"), call("c"))
    sent = [USER, asked, result("c"), result("a")]
    run = run_of(([USER], saying(asked)), (sent, saying(answering())), uses=[use(), use()])
    (found,) = [one for one in judge(run).findings if one.kind == "reordered"]
    assert (["a", "c"], ["c", "a"]) == (found.expected, found.found)


def test_calls_without_ids_of_their_own_are_named_by_number() -> None:
    """Two made-up ids would tell nobody which is which."""
    asked = asking(call(None, '{"expression": "1+1"}'), call(None, '{"expression": "2+2"}', name="other"))
    back = asking(call("x", '{"expression": "2+2"}', name="other"), call("y", '{"expression": "1+1"}'))
    sent = [USER, back, result("y"), result("x")]
    run = run_of(([USER], saying(asked)), (sent, saying(answering())), uses=[use()])
    found = [one for one in judge(run).findings if one.kind == "reordered"]
    assert [["call 1", "call 2"]] * len(found) == [one.expected for one in found]
    assert ["call 2", "call 1"] == found[0].found


def test_a_stop_that_was_claimed_stands_behind_the_one_observed() -> None:
    """The note says which is which."""
    run = run_of(FIRST, messages=[USER, asking(call())], stop="answer")
    (found,) = [one for one in judge(run).findings if one.key == "claim-differs stop"]
    expected = ("unanswered-calls", "answer", "observed on the wire, then claimed")
    assert expected == (found.expected, found.found, found.note)


def test_an_attempt_after_a_cut_reply_says_that_it_was_cut() -> None:
    """Its status was 200, and that was no failure."""
    reply = to_stream(ScriptedStream((), says(), Sending(cut=0, ending="cut")), 1, "m")
    request = {"model": "m", "stream": True, "messages": [USER]}
    run = run_of((request, reply), (request, saying(answering())))
    notes = [one.note for one in judge(run).findings if one.kind == "extra-attempt"]
    assert ["after the head and 0 bytes of the body came, then the connection was closed"] == notes
