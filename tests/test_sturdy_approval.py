"""A person's decision reaches the call that it is about, and nothing else runs twice for it."""

import json
import re
from collections.abc import Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from lc.sturdy.approval import REFUSED, Decision, ask, decided, edited, rejected, request

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}
BIG = 2**70


def call(position: int, arguments: str = '{"path": "a"}', name: str = "write") -> dict[str, Any]:
    """A call as the functions take it."""
    return {"name": name, "arguments": arguments, "id": f"call_{position}", "position": position}


def edit(args: Any, name: str = "write") -> dict[str, Any]:
    """The decision to run a call with these arguments."""
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


class State(TypedDict, total=False):
    """What the small graph knows."""

    decisions: list[Decision]
    observations: list[str]


def graph(calls: Sequence[dict[str, Any]], ran: list[tuple[str, str]]) -> "CompiledStateGraph[State, None, Any, Any]":
    """A graph whose model has made these calls: those of `write` wait for a person. What runs is noted in `ran`."""
    asked = [one for one in calls if one["name"] == "write"]

    def run(one: dict[str, Any], decision: Decision | None) -> str:
        if decision and decision["type"] == "reject":
            return rejected(decision)
        arguments = decision["arguments"] if decision and decision["type"] == "edit" else one["arguments"]
        ran.append((one["id"], arguments))
        observation = '{"ok": true, "result": "' + one["id"] + '"}'
        return edited(observation, decision) if decision and decision["type"] == "edit" else observation

    def approve(state: State) -> State:
        return {"decisions": ask(asked)}

    def tools(state: State) -> State:
        decisions = {one["position"]: one for one in state["decisions"]}
        return {"observations": [run(one, decisions.get(one["position"])) for one in calls]}

    builder = StateGraph(State)
    builder.add_node("approve", approve)
    builder.add_node("tools", tools)
    builder.add_edge(START, "approve")
    builder.add_edge("approve", "tools")
    builder.add_edge("tools", END)
    return builder.compile(checkpointer=InMemorySaver())


def test_two_calls_of_one_turn_get_the_decision_of_their_own_and_a_sibling_runs_once() -> None:
    """Approved, edited and rejected in one answer; the call without effects between them needs none."""
    calls = [call(0), call(1, '{"query": "x"}', "search"), call(2, '{"path": "b"}'), call(3)]
    ran: list[tuple[str, str]] = []
    paused = graph(calls, ran)
    (asked,) = paused.invoke({}, CONFIG)["__interrupt__"]
    assert ["call_0", "call_2", "call_3"] == [one["id"] for one in asked.value["action_requests"]]
    assert [] == ran
    answer = {"decisions": [{"type": "approve"}, {"type": "reject", "message": "not b"}, edit({"path": "c"})]}
    observations = paused.invoke(Command(resume=answer), CONFIG)["observations"]
    assert [("call_0", '{"path": "a"}'), ("call_1", '{"query": "x"}'), ("call_3", '{"path": "c"}')] == ran
    assert [
        {"ok": True, "result": "call_0"},
        {"ok": True, "result": "call_1"},
        {"ok": False, "error_type": "rejected", "error": "not b"},
        {"ok": True, "result": "call_3", "edited_arguments": {"path": "c"}},
    ] == [json.loads(one) for one in observations]


def test_a_bad_answer_is_asked_for_again_with_what_is_wrong() -> None:
    """As often as it takes; the calls are asked about as before, and nothing has run."""
    ran: list[tuple[str, str]] = []
    paused = graph([call(0), call(1)], ran)
    (first,) = paused.invoke({}, CONFIG)["__interrupt__"]
    for bad, problem in [
        ({"decisions": ["approve"]}, "there must be 2 decisions, one for each call in order, not 1"),
        ("yes\ud800", "decisions[0]: a decision is of type approve, edit, reject, not 'yes\\ud800'"),
        ({"decisions": [edit({}, "delete"), "approve"]}, "may not change the tool, which is write, to 'delete'"),
    ]:
        (again,) = paused.invoke(Command(resume=bad), CONFIG)["__interrupt__"]
        assert problem in again.value["problem"]
        assert first.value == {key: value for key, value in again.value.items() if key != "problem"}
    assert [] == ran
    paused.invoke(Command(resume=["approve", "reject"]), CONFIG)
    assert [("call_0", '{"path": "a"}')] == ran


def test_the_question_has_the_form_that_langchains_interfaces_show() -> None:
    """With the exact text of the arguments, the id and the position beside it."""
    arguments = '{"path":"a","text":"总","size":1.10}'
    assert {
        "action_requests": [
            {
                "name": "write",
                "args": {"path": "a", "text": "总", "size": 1.1},
                "description": "write waits for approval: " + arguments,
                "id": "call_4",
                "position": 4,
                "arguments": arguments,
            }
        ],
        "review_configs": [{"action_name": "write", "allowed_decisions": ["approve", "edit", "reject"]}],
    } == request([call(4, arguments)])


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        (f'{{"n": [{BIG}, {-BIG}, {2**63 - 1}]}}', {"n": [str(BIG), str(-BIG), 2**63 - 1]}),
        ('{"a\\ud800": "\\udfff"}', {"a\\ud800": "\\udfff"}),
        ('{"n": ' + "9" * 5000 + "}", {}),
        ('{"a": ' + "[" * 700 + "]" * 700 + "}", {}),
        ('{"a": ' + "[" * 100_000, {}),
        ("[1]", {}),
        ("{'a': 1}", {}),
        ('{"a": NaN}', {}),
        ("", {}),
    ],
)
def test_any_arguments_can_be_asked_about_and_stored(arguments: str, args: dict[str, Any]) -> None:
    """What is no object, or too deep to look at, is shown as text only."""
    asked = request([{**call(0, arguments), "id": {"odd": BIG}}])
    serializer = JsonPlusSerializer()
    assert asked == serializer.loads_typed(serializer.dumps_typed(asked))
    (one,) = asked["action_requests"]
    assert (args, arguments, {"odd": str(BIG)}) == (one["args"], one["arguments"], one["id"])


def test_half_a_surrogate_pair_in_the_text_becomes_an_escape() -> None:
    """Read as JSON it is still the same."""
    (one,) = request([call(0, '{"a": "\ud800"}', "w\ud800")])["action_requests"]
    assert ('{"a": "\\ud800"}', "w\\ud800") == (one["arguments"], one["name"])
    assert "w\\ud800 waits for approval: " + '{"a": "\\ud800"}' == one["description"]


@pytest.mark.parametrize(
    "answer",
    [
        "approve",
        {"type": "approve"},
        ["approve", {"type": "approve"}],
        {"decisions": "approve"},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    ],
)
def test_an_approval_can_be_said_shortly(answer: Any) -> None:
    """One for all, a word, or a list."""
    approved: list[Decision] = [{"position": 3, "type": "approve"}, {"position": 5, "type": "approve"}]
    assert approved == decided(answer, [call(3), call(5)])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("reject", REFUSED),
        ({"type": "reject"}, REFUSED),
        ({"type": "reject", "message": None}, REFUSED),
        ({"type": "reject", "message": ""}, REFUSED),
        ({"type": "reject", "message": "no 总\ud800"}, "no 总\\ud800"),
    ],
)
def test_a_rejection_is_told_to_the_model_with_its_reason(answer: Any, why: str) -> None:
    """Or, without a reason, that a person refused."""
    (decision,) = decided(answer, [call(0)])
    assert {"ok": False, "error_type": "rejected", "error": why} == json.loads(rejected(decision))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, "decisions[0]: a decision is of type approve, edit, reject, not None"),
        (True, "decisions[0]: a decision is of type approve, edit, reject, not True"),
        ("Approve", "decisions[0]: a decision is of type approve, edit, reject, not 'Approve'"),
        ({"approve": True}, "decisions[0]: a decision is of type approve, edit, reject, not None"),
        (
            {"type": "respond", "message": "4"},
            "decisions[0]: a decision is of type approve, edit, reject, not 'respond'",
        ),
        (["approve", ["reject"]], "decisions[1]: a decision is of type approve, edit, reject, not ['reject']"),
        ([], "there must be 2 decisions, one for each call in order, not 0"),
        ({"decisions": ["approve"] * 3}, "there must be 2 decisions, one for each call in order, not 3"),
        (edit({"path": "c"}), "an edit is for one call, but 2 calls wait: give a list of decisions"),
        ("edit", "an edit is for one call, but 2 calls wait: give a list of decisions"),
        (["approve", "edit"], "decisions[1]: a decision is of type approve, edit, reject, not 'edit'"),
        (["approve", {"type": "edit"}], "decisions[1]: an edit needs an edited_action, an object with name and args"),
        (
            ["approve", {"type": "edit", "edited_action": ["write", {}]}],
            "decisions[1]: an edit needs an edited_action, an object with name and args",
        ),
        (
            ["approve", edit({"path": "c"}, "delete\n" * 40)],
            "decisions[1]: an edit may not change the tool, which is write, to '" + ("delete\\n" * 13)[:99] + "…",
        ),
        (["approve", edit("c")], "decisions[1]: the edited args must be an object, not 'c'"),
        (["approve", edit(None)], "decisions[1]: the edited args must be an object, not None"),
        (
            ["approve", edit({"path": b"c"})],
            "decisions[1]: the edited args cannot be written as JSON: Object of type bytes is not JSON serializable",
        ),
        (
            ["approve", edit({"n": float("nan")})],
            "decisions[1]: the edited args cannot be written as JSON: Out of range float values are not JSON compliant",
        ),
        (
            ["approve", {"type": "edit", "edited_action": {"arguments": "[1]"}}],
            "decisions[1]: the edited arguments must be the text of a JSON object, not '[1]'",
        ),
        (
            ["approve", {"type": "edit", "edited_action": {"arguments": {"a": 1}}}],
            "decisions[1]: the edited arguments must be the text of a JSON object, not {'a': 1}",
        ),
        (
            ["approve", {"type": "reject", "message": 7}],
            "decisions[1]: the message of a rejection must be text, not 7",
        ),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused_in_one_line(answer: Any, problem: str) -> None:
    """It says which decision is wrong, and how."""
    # What Python says of a number that JSON does not have depends on its version.
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}(: nan)?$") as told:
        decided(answer, [call(0), call(1)])
    assert "\n" not in str(told.value)


def test_a_nest_too_deep_is_refused() -> None:
    """As any other bad answer."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="too deeply"):
        decided([edit({"a": deep})], [call(0)])


def test_what_an_edit_leaves_alone_stays_what_the_model_wrote() -> None:
    """The person saw digits and escapes, and sends them back; a text of digits that is new stays a text."""
    written = f'{{"n": {BIG}, "deep": [{{"n": {BIG}, "s": "\\ud800"}}], "yes": 1, "path": "a"}}'
    (asked,) = request([call(0, written)])["action_requests"]
    changed = {**asked["args"], "path": "b", "new": str(BIG), "yes": True}
    (decision,) = decided(edit(changed), [call(0, written)])
    expected = json.loads(written) | {"path": "b", "new": str(BIG), "yes": True}
    assert json.dumps(expected) == json.dumps(json.loads(decision["arguments"]))
    assert decision["arguments"].isascii()


def test_an_edit_that_changes_nothing_is_an_approval() -> None:
    """The model must not be told of a change that was not made, nor is its text written anew."""
    written = f'{{"path":"a","n":{BIG},"x":1.10}}'
    (asked,) = request([call(0, written)])["action_requests"]
    text = {"type": "edit", "edited_action": {"name": "write", "arguments": written + " "}}
    for answer in (edit(asked["args"]), text):
        assert [{"position": 0, "type": "approve"}] == decided(answer, [call(0, written)])


def test_an_empty_edit_of_unreadable_arguments_is_no_approval() -> None:
    """They are shown as an empty object, but are none."""
    assert [{"position": 0, "type": "edit", "arguments": "{}"}] == decided(edit({}), [call(0, '{"path": "a')])


@pytest.mark.parametrize(
    ("text", "kept"),
    [(f'{{"n":{BIG},"x":1.10}}', f'{{"n":{BIG},"x":1.10}}'), ("", "{}"), ('{"s": "\ud800"}', '{"s": "\\ud800"}')],
)
def test_an_edit_can_be_given_as_text(text: str, kept: str) -> None:
    """It is run as it was written; nothing is lost on the way through a parser."""
    (decision,) = decided({"type": "edit", "edited_action": {"arguments": text}}, [call(0)])
    assert {"position": 0, "type": "edit", "arguments": kept} == decision


def test_a_decision_can_be_stored() -> None:
    """It comes back from a checkpoint as it was, big integers included."""
    answer = ["approve", {"type": "edit", "edited_action": {"arguments": f'{{"n": {BIG}, "s": "\ud800"}}'}}, "reject"]
    decisions = decided(answer, [call(0), call(1), call(2)])
    serializer = JsonPlusSerializer()
    assert decisions == serializer.loads_typed(serializer.dumps_typed(decisions))


@pytest.mark.parametrize(
    ("observation", "told"),
    [
        ('{"ok": true, "result": 1.10}', '{"ok": true, "result": 1.10, "edited_arguments": {"n": 1.20}}'),
        ('{"ok": true, "result": {}}\n', '{"ok": true, "result": {}, "edited_arguments": {"n": 1.20}}'),
        ('a "file}', '{"result": "a \\"file}", "edited_arguments": {"n": 1.20}}'),
        ("{}", '{"result": "{}", "edited_arguments": {"n": 1.20}}'),
        ("", '{"result": "", "edited_arguments": {"n": 1.20}}'),
    ],
)
def test_the_model_is_told_what_ran_in_place_of_its_call(observation: str, told: str) -> None:
    """The observation stays as it was, to the letter; what is no object is put into one."""
    decision: Decision = {"position": 0, "type": "edit", "arguments": '{"n": 1.20}'}
    assert told == edited(observation, decision)
    json.loads(told)
