"""The tools node: every call is answered exactly once, in order, whatever its siblings do."""

import asyncio
import json
import threading
import time
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command

from compare.server import ModelServer
from tests.servers import bodies, broken_tool, calls, echo_tool, results, says, serving
from tests.sturdy import Run, agent, asking, event_loop, in_thread
from toolbox import Tool

NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def answers(server: ModelServer) -> dict[str, Any]:
    """The observations of the last request, by call id."""
    return dict(results(bodies(server)[-1]))


@pytest.mark.parametrize("parallel", [True, False])
def test_one_failing_call_costs_its_siblings_nothing(run_graph: Run, parallel: bool) -> None:
    """Whatever is wrong with a call, it gets a result that says so, and the others get theirs, in order."""
    asked = calls(
        ("c1", "broken", "{}"),
        ("c2", "echo", '{"text": "a"}'),
        ("c3", "unknown", "{}"),
        ("c4", "echo", '{"text": '),
        ("c5", "echo", '{"text": 1}'),
        ("c6", "echo", '{"text": "b", "more": 1}'),
        ("c7", "echo", "[]"),
        ("c8", "echo", '{"text": "c"}'),
    )
    with serving(asked, says()) as server:
        run_graph(agent(server, echo_tool(), broken_tool(KeyError("k")), parallel=parallel), asking("go"))
        sent = results(bodies(server)[-1])
    assert [f"c{number}" for number in range(1, 9)] == [call_id for call_id, _ in sent]
    errors = [observation.get("error_type") for _, observation in sent]
    wrong = ["invalid_json", "invalid_arguments", "invalid_arguments", "invalid_arguments"]
    assert ["KeyError", None, "unknown_tool", *wrong, None] == errors


def test_a_call_that_takes_too_long_is_answered(run_graph: Run) -> None:
    """It may still be at work, and the result says so; its sibling's result is there."""
    gate = threading.Event()
    stuck = Tool("stuck", "Wait.", NOTHING, lambda: gate.wait(5))
    with serving(calls(("c1", "stuck", "{}"), ("c2", "echo", '{"text": "a"}')), says()) as server:
        started = time.monotonic()
        run_graph(agent(server, stuck, echo_tool(), tool_timeout=0.2), asking("go"))
        taken = time.monotonic() - started
        gate.set()
        sent = answers(server)
    assert ("timeout", "a") == (sent["c1"]["error_type"], sent["c2"]["result"])
    assert "may still be at work" in sent["c1"]["error"]
    assert taken < 4


@pytest.mark.parametrize(("parallel", "most"), [(True, 2), (False, 1)])
def test_calls_run_side_by_side_or_in_order(run_graph: Run, parallel: bool, most: int) -> None:
    """As the host chooses; the results stand in the order of the calls either way."""
    lock, now, seen = threading.Lock(), [0], [0]

    def wait(text: str) -> str:
        with lock:
            now[0] += 1
            seen[0] = max(seen[0], now[0])
        time.sleep(0.1 if text == "a" else 0.05)
        with lock:
            now[0] -= 1
        return text

    waiting = Tool("wait", "Wait.", echo_tool().parameters, wait)
    with serving(calls(("c1", "wait", '{"text": "a"}'), ("c2", "wait", '{"text": "b"}')), says()) as server:
        run_graph(agent(server, waiting, parallel=parallel), asking("go"))
        assert [("c1", "a"), ("c2", "b")] == [(key, one["result"]) for key, one in results(bodies(server)[-1])]
    assert most == seen[0]


def test_a_turn_with_an_effect_runs_in_order(run_graph: Run) -> None:
    """Also where calls may run side by side: what one call changes, the next one finds."""
    ran: list[str] = []

    def write(text: str) -> None:
        time.sleep(0.05)
        ran.append(text)

    writing = Tool("write", "Write.", echo_tool().parameters, write, effects=True)
    asked = calls(("c1", "write", '{"text": "a"}'), ("c2", "echo", '{"text": "b"}'), ("c3", "write", '{"text": "c"}'))
    with serving(asked, says()) as server:
        run_graph(agent(server, writing, echo_tool(ran), approve="always"), asking("go"))
    assert ["a", "b", "c"] == ran


def test_the_host_may_run_no_effect_at_all() -> None:
    """The call is answered with the reason, and its sibling runs."""
    ran: list[str] = []
    writing = Tool("write", "Write.", NOTHING, lambda: ran.append("written"), effects=True)
    with serving(calls(("c1", "write", "{}"), ("c2", "echo", '{"text": "b"}')), says()) as server:
        agent(server, writing, echo_tool(ran), approve="never").invoke(asking("go"))
        assert "not_run" == answers(server)["c1"]["error_type"]
    assert ["b"] == ran


def test_what_is_no_exception_of_the_tool_goes_through() -> None:
    """Ctrl-C ends the run, and no model hears of it."""
    with serving(calls(("c1", "interrupted", "{}")), says()) as server:

        def interrupted() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            agent(server, Tool("interrupted", "", NOTHING, interrupted)).invoke(asking("go"))


# --- tools of LangChain's own ---


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool
def turns_so_far(state: Annotated[dict[str, Any], InjectedState]) -> int:
    """Count the messages."""
    return len(state["messages"])


@tool
def remember(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Keep something in the state."""
    return Command(update={"messages": [ToolMessage(f"kept {what}", tool_call_id=tool_call_id)]})


@tool
async def later(text: str) -> str:
    """Give the text back, in an event loop only."""
    await asyncio.sleep(0)
    return text


def asked_of(run_graph: Run, *tools: BaseTool, call: tuple[str, str]) -> Any:
    """What the model is told about a call of LangChain's tools."""
    with serving(calls(("c1", *call)), says()) as server:
        run_graph(agent(server, *tools), asking("go"))
        return answers(server)["c1"]


def test_a_tool_of_langchains_is_run_by_tool_node(run_graph: Run) -> None:
    """Its result goes out as LangChain writes it; state is injected."""
    assert "3" == asked_of(run_graph, add, call=("add", '{"a": 1, "b": 2}'))
    assert "2" == asked_of(run_graph, turns_so_far, call=("turns_so_far", "{}"))
    assert "kept it" == asked_of(run_graph, remember, call=("remember", '{"what": "it"}'))


@pytest.mark.parametrize("arguments", ['{"a": "1", "b": 2}', '{"a": true, "b": 2}', '{"a": 1, "b": 2, "c": 3}', "{}"])
def test_its_arguments_are_neither_converted_nor_dropped(run_graph: Run, arguments: str) -> None:
    """LangChain would take a text for a number, and leave out what the schema does not name."""
    assert "invalid_arguments" == asked_of(run_graph, add, call=("add", arguments))["error_type"]


def test_its_exception_is_its_result(run_graph: Run) -> None:
    """ToolNode's default would end the run."""

    @tool
    def fail() -> str:
        """Fail."""
        raise OSError("no disk")

    told = asked_of(run_graph, fail, call=("fail", "{}"))
    assert {"ok": False, "error_type": "OSError", "error": "no disk"} == told


def test_a_tool_of_langchains_may_be_a_coroutine() -> None:
    """It runs where the graph runs in an event loop, and anywhere else it says so to the model."""
    with serving(*[calls(("c1", "later", '{"text": "a"}')), says()] * 2) as server:
        with event_loop() as run:
            graph = agent(server, later)  # here, so that its client is closed with the event loop
            run(graph, asking("go"))
        assert "a" == answers(server)["c1"]
        graph.invoke(asking("go"))
        assert "NotImplementedError" == answers(server)["c1"]["error_type"]


def test_two_tools_of_one_name_are_refused() -> None:
    """Only one of them could be called."""
    with serving() as server, pytest.raises(ValueError, match=r"^two tools are named echo; rename one$"):
        agent(server, echo_tool(), echo_tool())


# --- a person decides ---


def written(log: list[str]) -> Tool:
    """A tool with an effect."""
    return Tool("write", "Write.", echo_tool().parameters, lambda text: log.append(text), effects=True)


TWO = calls(("c1", "write", '{"text": "a"}'), ("c2", "echo", '{"text": "b"}'), ("c3", "write", '{"text": "c"}'))


@pytest.mark.parametrize(
    ("decisions", "effects", "told"),
    [
        ("approve", ["a", "c"], [None, None]),
        ("reject", [], ["rejected", "rejected"]),
        ({"decisions": ["approve", {"type": "reject", "message": "no c"}]}, ["a"], [None, "rejected"]),
        (
            [{"type": "edit", "edited_action": {"name": "write", "args": {"text": "z"}}}, "approve"],
            ["z", "c"],
            [None, None],
        ),
        (
            [{"type": "edit", "edited_action": {"name": "write", "args": {"text": 1}}}, "approve"],
            ["c"],
            ["invalid_arguments", None],
        ),
    ],
)
def test_a_person_decides_about_each_effect(
    run_graph: Run, decisions: Any, effects: list[str], told: list[Any]
) -> None:
    """Nothing runs before the decision; then each call gets its own, its sibling runs once, and the message stays."""
    log: list[str] = []
    siblings: list[str] = []
    with serving(TWO, says()) as server:
        graph = agent(server, written(log), echo_tool(siblings), checkpointer=InMemorySaver())
        waiting = run_graph(graph, asking("go"), in_thread())
        assert ("awaiting-approval", [], []) == (waiting["stop"], log, siblings)
        assert ["c1", "c3"] == [one["id"] for one in waiting["__interrupt__"][0].value["action_requests"]]
        end = run_graph(graph, Command(resume=decisions), in_thread())
        sent = bodies(server)[-1]["messages"]
    assert ("answer", effects, ["b"]) == (end["stop"], log, siblings)
    assert told == [answers_of(sent)[key].get("error_type") for key in ("c1", "c3")]
    assert json.loads(TWO.message)["tool_calls"] == sent[1]["tool_calls"]


def answers_of(messages: list[Any]) -> dict[str, Any]:
    return dict(results(messages))


def test_an_edited_call_is_told_with_what_it_ran_with() -> None:
    """The model's own message says something else, so the result must say what was done."""
    edit = {"type": "edit", "edited_action": {"name": "write", "args": {"text": "z"}}}
    with serving(calls(("c1", "write", '{"text": "a"}')), says()) as server:
        graph = agent(server, written([]), checkpointer=InMemorySaver())
        graph.invoke(asking("go"), in_thread())
        graph.invoke(Command(resume=edit), in_thread())
        assert {"ok": True, "result": None, "edited_arguments": {"text": "z"}} == answers(server)["c1"]


def test_a_new_question_instead_of_a_decision_closes_the_call() -> None:
    """Nothing runs, and the history stays legal."""
    log: list[str] = []
    with serving(calls(("c1", "write", '{"text": "a"}')), says()) as server:
        graph = agent(server, written(log), checkpointer=InMemorySaver())
        graph.invoke(asking("go"), in_thread())
        graph.invoke(asking("never mind"), in_thread())
        sent = bodies(server)[-1]["messages"]
    assert ["user", "assistant", "tool", "user"] == [message["role"] for message in sent]
    assert ("not_run", []) == (answers_of(sent)["c1"]["error_type"], log)


def test_a_message_of_somebody_elses_making_is_planned_too() -> None:
    """A history from another program ends with an AIMessage that has no text of the wire."""
    from lc.sturdy.tools import Tools

    message = AIMessage("", tool_calls=[{"name": "echo", "args": {"text": "a"}, "id": "c1", "type": "tool_call"}])
    (plan,) = Tools([echo_tool()]).plan(message)
    assert ({"text": "a"}, "") == (plan.arguments, plan.refusal)
