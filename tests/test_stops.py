"""Why a run ended: as the wire shows it, and whether the lane's own account agrees."""

import time
from typing import Any

import pytest

from compare.backends import script
from compare.judge import judge
from compare.lanes import Lane
from compare.replies import Reply
from compare.runner import Task, run_lane
from compare.stops import contradicts
from protocol import STOP_REASONS
from tests.evidence import CLOSED, USER, answering, asking, call, failing, found, result, run_of, saying, use

BY_THE_HOST_ALONE = {"call-limit", "token-limit", "awaiting-approval"}
"""Words that only a lane can claim: the wire shows open calls, and not why they were left."""

ERROR = use(1, "1/0").error
FAILED = use(1, "1/0")


def caused() -> RuntimeError:
    """An exception of a lane's own, raised from a tool's."""
    error = RuntimeError("wrapped")
    error.__cause__ = FAILED.error
    return error


ENDINGS: list[tuple[str, list[tuple[Any, Reply]], dict[str, Any]]] = [
    ("answer", [([USER], saying(answering()))], {}),
    ("answer", [([USER], saying(answering(), None))], {}),
    ("answer", [([USER], failing()), ([USER], saying(answering()))], {}),
    ("empty-answer", [([USER], saying(answering("")))], {}),
    ("empty-answer", [([USER], saying(answering(None), "tool_calls"))], {}),
    ("cut-off", [([USER], saying(answering("2 and"), "length"))], {}),
    ("filtered", [([USER], saying(answering(""), "content_filter"))], {}),
    ("filtered", [([USER], saying({**answering(None), "refusal": "No."}))], {}),
    ("round-limit", [([USER], saying(asking(call())))], {"max_rounds": 1}),
    ("unanswered-calls", [([USER], saying(asking(call())))], {}),
    ("unanswered-calls", [([USER], saying(asking(call()), "length"))], {}),
    ("deadline", [([USER], saying(answering()))], {"timed_out": True, "raised": TimeoutError()}),
    ("http-error", [([USER], failing(401))], {"raised": RuntimeError()}),
    ("http-error", [([USER], failing(404))], {"target": "/v1/responses", "raised": RuntimeError()}),
    ("connection-error", [([USER], CLOSED)], {}),
    ("connection-error", [], {"stop": "connection-error", "messages": [USER]}),
    ("connection-error", [([USER], saying(answering()))], {"target": "/v1/models"}),
    ("bad-reply", [([USER], Reply(200, (), b"<html>"))], {}),
    ("bad-reply", [([USER], Reply(200, (), b'{"choices": []}'))], {"raised": RuntimeError()}),
    ("tool-error", [([USER], saying(asking(call())))], {"uses": [FAILED], "raised": FAILED.error}),
    ("tool-error", [([USER], saying(asking(call())))], {"uses": [FAILED], "raised": caused()}),
    ("crash", [([USER], saying(asking(call())))], {"uses": [FAILED], "raised": RuntimeError("another")}),
    ("crash", [([USER], saying(answering()))], {"raised": RuntimeError()}),
    ("crash", [], {"raised": RuntimeError()}),
]


@pytest.mark.parametrize(("expected", "steps", "more"), ENDINGS)
def test_the_stop_is_taken_from_the_evidence(expected: str, steps: Any, more: dict[str, Any]) -> None:
    """Whatever the lane returned or raised."""
    assert expected == judge(run_of(*steps, **more)).observed


def test_every_word_can_occur() -> None:
    """Each stop reason is observed somewhere, or is one that only a lane can claim."""
    assert set(STOP_REASONS) == {expected for expected, _, _ in ENDINGS} | BY_THE_HOST_ALONE


def test_a_lane_that_does_not_end_is_stopped_at_its_deadline() -> None:
    """The judge goes on without it."""

    def sleeps(prompt: str, tools: Any, **rest: Any) -> tuple[list[Any], str]:
        time.sleep(0.5)
        return [], "answer"

    run = run_lane(Lane("sleeps", sleeps), Task("Hello", "m"), script([], "m"), deadline=0.05)
    assert ("deadline", True) == (judge(run).observed, run.timed_out)


@pytest.mark.parametrize("observed", sorted(STOP_REASONS))
@pytest.mark.parametrize("claimed", sorted(STOP_REASONS))
def test_a_claim_may_only_say_why_calls_were_left_open(claimed: str, observed: str) -> None:
    """A limit of the host's own is not on the wire, so it is believed where calls are open, and nowhere else."""
    believed = claimed in (*BY_THE_HOST_ALONE, "deadline") and observed in ("unanswered-calls", "round-limit")
    assert (claimed != observed and not believed) == contradicts(claimed, observed)


ASKED = asking(call())
WIRE = [USER, ASKED, result(), answering()]
STEPS = (([USER], saying(ASKED)), (WIRE[:3], saying(WIRE[3])))


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        (WIRE, []),
        ([USER, {**ASKED, "content": ""}, *WIRE[2:]], []),
        ([USER, {**ASKED, "usage": 1}, *WIRE[2:]], []),
        ([*WIRE[:3], answering([{"type": "text", "text": "2"}])], []),
        ([USER, asking(call(arguments='{"expression":"1+1"}')), *WIRE[2:]], []),
        ([USER, asking(call(arguments='{"expression": "1+2"}')), *WIRE[2:]], ["claim-differs messages[1]"]),
        ([USER, asking(call("call_9")), *WIRE[2:]], ["claim-differs messages[1]"]),
        ([USER, asking(call(name="other")), *WIRE[2:]], ["claim-differs messages[1]"]),
        ([USER, asking(call(), call("call_2")), *WIRE[2:]], ["claim-differs messages[1]"]),
        ([USER, ASKED, result("call_9"), WIRE[3]], ["claim-differs messages[2]"]),
        ([USER, ASKED, result(content="3"), WIRE[3]], ["claim-differs messages[2]"]),
        ([*WIRE[:3], {**WIRE[3], "role": "user"}], ["claim-differs messages[3]"]),
        ([*WIRE[:3], answering("3")], ["claim-differs messages[3]"]),
        (WIRE[:3], ["claim-differs messages[3]"]),
        ([*WIRE, answering("And 3.")], ["claim-differs messages[4]"]),
        ([*WIRE, result("call_2")], ["claim-differs messages[4]"]),
        (["2"], ["claim-differs messages[0]"]),
        ([], ["claim-differs messages[0]"]),
    ],
)
def test_an_account_is_held_against_the_wire(claimed: list[Any], expected: list[str]) -> None:
    """The first message that tells another story is named; spelling and additions of the host's own are not."""
    assert expected == found(judge(run_of(*STEPS, uses=[use()], messages=claimed, stop="answer")))


def test_a_call_that_is_no_object_may_be_told_in_any_form() -> None:
    """What the model sent in its place cannot be told right."""
    asked = asking("nonsense")
    run = run_of(([USER], saying(asked)), messages=[USER, ASKED, result()], stop="unanswered-calls")
    assert [] == found(judge(run))


def test_results_that_no_request_carries_any_more_are_no_false_account() -> None:
    """At the round limit the last calls are answered in the lane's list alone."""
    claimed = [USER, ASKED, result()]
    run = run_of(STEPS[0], uses=[use()], messages=claimed, stop="round-limit", max_rounds=1)
    assert [] == found(judge(run))
    more = run_of(STEPS[0], uses=[use()], messages=[*claimed, result()], stop="round-limit", max_rounds=1)
    assert ["claim-differs messages[3]"] == found(judge(more))
