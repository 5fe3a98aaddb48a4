"""One run judged, by the evidence on the wire and in the tools."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.comparison import compare
from compare.judge import judge
from tests.evidence import (
    CLOSED,
    USER,
    answering,
    asking,
    call,
    failing,
    found,
    found_in,
    result,
    run_of,
    saying,
    use,
)

FAILED = '{"ok": false, "error_type": "unknown_tool", "error": "x"}'
FIRST = ([USER], saying(asking(call()), "tool_calls"))
SECOND = ([USER, asking(call()), result()], saying(answering()))


def test_a_faithful_run_gives_no_finding() -> None:
    """The ground that the other tests stand on."""
    assert [] == found_in(FIRST, SECOND, uses=[use()], scripted=2)


def test_a_client_that_runs_its_own_tools_is_not_accused_of_what_cannot_be_seen() -> None:
    """Of a foreign client only the wire is known: not its task, its tools, or what they returned."""
    first = {"model": "x", "messages": [{"role": "user", "content": "Other"}]}, saying(asking(call()), "tool_calls")
    second = {"model": "x", "messages": [*first[0]["messages"], asking(call()), result()]}, saying(answering())
    assert [] == found_in(first, second, foreign=True)
    open_calls = [f"unanswered-call {place}" for place in ("messages[1].tool_calls[0]",)]
    assert open_calls == found_in(first, foreign=True)


def test_a_retry_names_the_failure_that_it_followed() -> None:
    """Each attempt after the first is a finding of its own, after the attempt just before it."""
    judged = judge(run_of(([USER], failing(429)), ([USER], CLOSED), ([USER], saying(answering()))), 3)
    notes = {finding.path: finding.note for finding in judged.findings}
    assert {"request 2": "after HTTP 429", "request 3": "after the connection was closed without a reply"} == notes


def test_what_is_said_behind_a_failed_request_is_an_addition() -> None:
    """Where no reply came, nothing may follow but the same request."""
    more = [USER, {"role": "user", "content": "Are you there?"}]
    assert ["added-field messages[1]"] == found_in(([USER], failing()), (more, saying(answering())), scripted=2)


def test_a_tool_that_runs_while_no_reply_stands_is_reported() -> None:
    """Before the first request, or behind a failed one, nobody can have asked for it."""
    assert ["executed-n-times before the first request"] == found_in(([USER], saying(answering())), uses=[use(0)])
    assert ["executed-n-times behind request 1"] == found_in(([USER], failing()), uses=[use(1)])
    assert ["executed-n-times before the first request"] == found_in(uses=[use(0)])
    retried = FIRST, (SECOND[0], failing()), SECOND
    assert ["extra-attempt request 3", "executed-n-times behind request 2"] == sorted(
        found_in(*retried, uses=[use(1), use(2)]), reverse=True
    )


def test_a_tool_that_runs_once_more_in_a_later_round_is_reported() -> None:
    """The use belongs to the reply before it, and that one has no such call."""
    assert ["executed-n-times round 2"] == found_in(FIRST, SECOND, uses=[use(1), use(2)])


def test_a_tool_that_ran_on_other_arguments_is_told_by_value() -> None:
    """A default that the model left out is as good as given; another value is not."""
    path = "executed messages[1].tool_calls[0].arguments.expression"
    assert [f"changed-value {path}"] == found_in(FIRST, SECOND, uses=[use(1, "4-2")])
    assert [] == found_in(
        FIRST, SECOND, uses=[replace(use(), arguments={"expression": "1+1", "n": 3}, defaults={"n": 3})]
    )


@pytest.mark.parametrize("arguments", ['{"expression": "1+', "[]", "null", '"1+1"', '{"expression": NaN}'])
def test_a_tool_that_ran_on_what_is_no_object_is_reported(arguments: str) -> None:
    """There is no honest way from such arguments to a use of the tool."""
    asked = asking(call(arguments=arguments))
    steps = ([USER], saying(asked, "tool_calls")), ([USER, asked, result()], saying(answering()))
    assert ["changed-value executed messages[1].tool_calls[0].arguments"] == found_in(*steps, uses=[use()])


LONG = [USER, asking(call()), result(), asking(call("call_2")), result("call_2")]


@pytest.mark.parametrize(
    ("third", "expected"),
    [
        (LONG[1:], ["lost-field messages[0]"]),
        (LONG[3:], [f"lost-field messages[{index}]" for index in range(3)]),
        ([USER, *LONG[3:]], ["lost-field messages[1]", "lost-field messages[2]"]),
        (
            [{"role": "user", "content": "So far: 2."}, *LONG[3:]],
            ["changed-value messages[0].content", "lost-field messages[1]", "lost-field messages[2]"],
        ),
        (
            [USER, asking(call()), result(content="(cleared)"), *LONG[3:]],
            ["changed-value messages[2].content"],
        ),
        ([{"role": "system", "content": "Note."}, *LONG], ["added-field messages[0]"]),
    ],
)
def test_a_history_that_is_rewritten_is_no_lost_call(third: list[Any], expected: list[str]) -> None:
    """A window that slides, a summary, a cleared result: the new call came back, and is found where it stands."""
    steps = FIRST, (LONG[:3], saying(asking(call("call_2")), "tool_calls")), (third, saying(answering()))
    keys = [key for key in found_in(*steps, uses=[use(1), use(2)]) if not key.startswith("would-be-refused")]
    assert expected == keys


def test_a_result_under_the_id_of_a_failed_call_is_swapped() -> None:
    """The result of one call is recognised under the id of another, also where that other failed."""
    asked = asking(call("call_1"), call("call_2", '{"expression": "1/0"}'))
    good, bad = '{"ok": true, "result": 2}', '{"ok": false, "error_type": "ZeroDivisionError", "error": "x"}'
    sent = [USER, asked, result("call_1", bad), result("call_2", good)]
    keys = found_in(([USER], saying(asked)), (sent, saying(answering())), uses=[use(1), use(1, "1/0")])
    assert ["changed-value messages[2].content", "swapped-results messages[3].content"] == keys


@pytest.mark.parametrize("content", ["2", '{"ok": true, "result": 2}', '{"result":2,"ok":true}'])
@pytest.mark.parametrize("parts", [False, True])
def test_a_result_may_be_told_bare_enveloped_or_in_parts(content: str, parts: bool) -> None:
    """What the tool returned is recognised in each of the usual forms."""
    told: Any = [{"type": "text", "text": content}] if parts else content
    sent = [USER, asking(call()), result(content=told)]
    assert [] == found_in(FIRST, (sent, saying(answering())), uses=[use()])


def test_a_result_beside_a_picture_is_more_than_the_result() -> None:
    """Only parts that are all text are read as text."""
    parts = [{"type": "text", "text": "2"}, {"type": "image_url", "image_url": {"url": "x"}}]
    sent = [USER, asking(call()), result(content=parts)]
    assert ["changed-value messages[2].content"] == found_in(FIRST, (sent, saying(answering())), uses=[use()])


@pytest.mark.parametrize("content", ["3", "2.5", "true", "", None, "[2]", '{"ok": true, "result": "2"}'])
def test_another_result_than_the_tools_is_changed(content: Any) -> None:
    """Another number, type or form of nothing is not what the tool returned."""
    sent = [USER, asking(call()), result(content=content)]
    keys = [key for key in found_in(FIRST, (sent, saying(answering())), uses=[use()]) if "refused" not in key]
    assert ["changed-value messages[2].content"] == keys


def test_calls_that_share_an_id_are_told_apart_by_their_order() -> None:
    """Each gets one result; the provider's rule on ids is a finding of its own."""
    asked = asking(call("same"), call("same", '{"expression": "2+2"}'))
    sent = [USER, asked, result("same"), result("same", '{"ok": true, "result": 4}')]
    keys = found_in(([USER], saying(asked)), (sent, saying(answering())), uses=[use(1), use(1, "2+2")])
    assert {"would-be-refused"} == {key.split()[0] for key in keys}


def test_calls_under_other_ids_are_found_again_by_name_and_then_by_place() -> None:
    """A call that came back changed is a changed value, not a call lost and another added."""
    asked = asking(call("a"), call("b", name="other"))
    back = asking(call("x", name="other"), call("y"))
    keys = found_in(([USER], saying(asked)), ([USER, back, result("y"), result("x", FAILED)], CLOSED), uses=[use()])
    ids = [f"changed-value messages[1].tool_calls[{number}].id" for number in (0, 1)]
    reordered = ["reordered messages[1].tool_calls", *ids]
    assert reordered == keys
    renamed = [USER, asking(call(name="another")), result()]
    changed = ["changed-value messages[1].tool_calls[0].function.name"]
    assert changed == found_in(FIRST, (renamed, CLOSED), uses=[use()])


def test_two_calls_alike_have_one_use_each() -> None:
    """Neither is said to have run twice, and a third use is."""
    asked = asking(call("a"), call("b"))
    steps = ([USER], saying(asked)), ([USER, asked, result("a"), result("b")], saying(answering()))
    assert [] == found_in(*steps, uses=[use(), use()])
    assert ["executed-n-times messages[1].tool_calls[0]"] == found_in(*steps, uses=[use(), use(), use()])


@pytest.mark.parametrize("call_id", [None, "", 7])
def test_an_id_made_up_for_a_call_without_one_is_said_once(call_id: Any) -> None:
    """The made-up id counts for call and result, and is no changed value."""
    sent = [USER, asking(call("made_up_1")), result("made_up_1")]
    keys = found_in(([USER], saying(asking(call(call_id)))), (sent, saying(answering())), uses=[use()])
    assert ["invented-id messages[1].tool_calls[0].id"] == keys


def test_asking_for_the_models_is_innocent_and_any_other_endpoint_is_not() -> None:
    """A client may look what models there are."""
    assert [] == found_in(({}, saying(answering())), target="/v1/models")
    assert ["other-endpoint POST /v1/embeddings"] == found_in(({}, failing(404)), target="/v1/embeddings")


def test_requests_and_replies_beyond_the_other_are_counted() -> None:
    """A script that is too short, and one that is too long."""
    assert ["beyond-script request 2"] == found_in(FIRST, SECOND, uses=[use()], scripted=1)
    assert ["unused-reply reply 3", "unused-reply reply 4"] == found_in(FIRST, SECOND, uses=[use()], scripted=4)


def test_a_refusal_is_reported_once_and_names_its_rule() -> None:
    """A breach stays in the history of every later request; the first that shows it is named."""
    orphan = [USER, result("nobody")]
    steps = (orphan, saying(asking(call()))), ([*orphan, asking(call()), result()], saying(answering()))
    refused = [finding for finding in judge(run_of(*steps, uses=[use()])).findings if finding.rule]
    assert [("openai:no-orphan-result", "messages[1]", 1)] == [(one.rule, one.path, one.request) for one in refused]


def test_a_body_that_cannot_be_read_would_be_refused() -> None:
    """It went to the right place, so it is no other endpoint."""
    assert ["would-be-refused request 1"] == found_in(({"model": "m"}, failing(400)))


NEARLY = st.sampled_from(
    [
        "role", "assistant", "tool", "user", "content", "tool_calls", "tool_call_id", "id", "call_1", "type",
        "function", "name", "arguments", "calculator", '{"expression": "1+1"}', "", "{}", "2", 2, 0, 1.5, True, None,
    ]
)  # fmt: skip
KEYS = st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name", "arguments"])
JUNK = st.recursive(
    NEARLY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=10
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "tool", "user", None, 3])},
    optional={
        "content": JUNK,
        "tool_call_id": JUNK,
        "tool_calls": st.lists(
            st.fixed_dictionaries({}, optional={"id": JUNK, "type": JUNK, "function": JUNK}) | JUNK, max_size=3
        ),
    },
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.lists(MESSAGE | JUNK, max_size=4), MESSAGE, JUNK), max_size=3),
    st.none() | st.lists(MESSAGE | JUNK, max_size=4),
    st.booleans(),
)
def test_no_client_can_make_the_judge_fail(steps: Any, claimed: Any, foreign: bool) -> None:
    """Whatever is sent, replied and claimed, there is a judgement, and it can be laid beside another."""
    sent: list[Any] = []
    exchanged = []
    for added, reply, finish_reason in steps:
        sent = [*sent, *added]
        exchanged.append((sent, saying(reply, finish_reason)))
    run = run_of(*exchanged, uses=[use(1)], messages=claimed, stop="answer", foreign=foreign)
    other = run_of(FIRST, SECOND, uses=[use()], lane="other")
    compared = compare("x", "x", "x", run.task, [judge(run), judge(other)], None)
    assert all(isinstance(key, str) for lane in compared.lanes for key in found(lane))


def test_deep_nesting_does_not_end_the_judge() -> None:
    """Arguments too deep to compare count as changed where their text differs, whatever they hold."""
    deep = '{"":' * 900 + "1" + "}" * 900
    path = "messages[1].tool_calls[0].function.arguments"
    steps = (
        ([USER], saying(asking(call(arguments=deep)))),
        ([USER, asking(call(arguments=f"{deep} ")), result()], CLOSED),
    )
    assert [f"changed-value {path}"] == [key for key in found_in(*steps) if path in key]
