"""What an attempt to break lc.sturdy found: limits, tools, approvals and the journal where two of them meet."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from lc.sturdy import build
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.events import events
from lc.sturdy.limits import Limits
from lc.sturdy.memory import sqlite
from tests.servers import bodies, calls, echo_tool, fails, results, says, serving
from tests.sturdy import Run, agent, asking, event_loop, in_thread, sturdy_model
from toolbox import Tool

ECHO = ("c1", "echo", '{"text": "a"}')


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    """A journal of effects in a file."""
    opened = SqliteJournal(tmp_path / "journal.db")
    yield opened
    opened.close()


def with_effects(tool: BaseTool) -> BaseTool:
    """The tool of LangChain's, marked as one that changes something."""
    return tool.model_copy(update={"metadata": {"effects": True}})


# --- the deadline


@pytest.mark.parametrize("effects", [False, True])
def test_calls_in_order_share_the_time_of_the_run(run_graph: Run, effects: bool) -> None:
    """None begins when the time is over, and the seconds of the run are not given to each call anew."""
    began: list[str] = []

    def slow(text: str) -> str:
        began.append(text)
        time.sleep(0.2)
        return text

    wait = Tool("wait", "Wait.", echo_tool().parameters, slow, effects)
    asked = [(f"c{number}", "wait", f'{{"text": "{number}"}}') for number in range(5)]
    with serving(calls(*asked)) as server:
        graph = agent(server, wait, limits=Limits(seconds=0.3), parallel=False, approve="always")
        end = run_graph(graph, asking("go"))
    assert "deadline" == end["stop"]
    assert ["0", "1"] == began
    told = [message.content for message in end["messages"] if message.type == "tool"]
    assert [True, False, True, True, True] == ["timeout" not in one for one in told]
    assert all("the time of this run is over" in one for one in told[2:])


def test_a_call_that_the_deadline_keeps_from_running_is_told_as_refused() -> None:
    """Each call is either started or refused, for whoever watches."""
    slow = Tool("echo", "Wait.", echo_tool().parameters, lambda text: time.sleep(0.2))
    with serving(calls(ECHO, ("c2", "echo", '{"text": "b"}'))) as server:
        graph = agent(server, slow, limits=Limits(seconds=0.1), parallel=False)
        kinds = [(event["type"], event["id"]) for event in events(graph, asking("go")) if "tool-" in event["type"]]
    assert [("tool-start", "c1"), ("tool-end", "c1"), ("tool-refused", "c2")] == kinds


def test_the_deadline_bounds_retries_and_their_waits(run_graph: Run) -> None:
    """A server that asks for patience gets no more of it than the run has."""
    with serving(fails(429, retry_after="5"), says()) as server:
        llm = sturdy_model(server, max_retries=2)
        started = time.monotonic()
        end = run_graph(build(llm, [echo_tool()], limits=Limits(seconds=1)), asking("go"))
        assert 1 == len(bodies(server))
    assert "http-error" == end["stop"]
    assert time.monotonic() - started < 4


# --- tools


@pytest.mark.parametrize("name", ["config", "run_manager", "callbacks", "self", "args", "arguments", "runtime"])
def test_a_parameter_may_have_any_name(run_graph: Run, name: str) -> None:
    """LangChain puts its own values in the place of arguments that are named as its own are."""
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    given = Tool("given", "Give the arguments back.", schema, lambda **arguments: arguments)
    with serving(calls(("c1", "given", f'{{"{name}": "x"}}')), says()) as server:
        run_graph(agent(server, given), asking("go"))
        assert [("c1", {"ok": True, "result": {name: "x"}})] == results(bodies(server)[-1])


def test_tools_that_hang_do_not_stop_other_runs() -> None:
    """LangChain's pool has a few threads, and all tools and nodes of an event loop wait for one of them."""
    released = threading.Event()

    @tool
    def hang() -> str:
        """Wait."""
        released.wait(10)
        return "late"

    with serving(*[calls(("c1", "hang", "{}"))] * 40) as server, event_loop() as run:
        graph = agent(server, hang, tool_timeout=0.2, limits=Limits(rounds=1))
        many = RunnableLambda(lambda given: given, lambda given: graph.abatch([given] * 40))
        started = time.monotonic()
        ends = run(many, asking("go"))
        took = time.monotonic() - started
    released.set()
    assert {"round-limit"} == {end["stop"] for end in ends}
    assert took < 8


@tool
def another_id() -> Any:
    """Answer another call."""
    return ToolMessage("mine", tool_call_id="another")


@tool
def goes() -> Any:
    """Say where to go, and nothing else."""
    return Command(goto="model")


@pytest.mark.parametrize(("plain", "told"), [(another_id, "mine"), (goes, {"ok": True, "result": None})])
def test_a_call_is_answered_under_its_own_id_whatever_the_tool_gives(run_graph: Run, plain: Any, told: Any) -> None:
    """A result for a call that nobody made, or none, would make every later request illegal."""
    with serving(calls(("c1", plain.name, "{}")), says()) as server:
        run_graph(agent(server, plain), asking("go"))
        assert [("c1", told)] == results(bodies(server)[-1])


# --- the journal and what tools give


@tool
def command(call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Command the graph."""
    return Command(update={"messages": [ToolMessage("commanded", tool_call_id=call_id)]})


@tool
def parts() -> Any:
    """Give text and a picture."""
    return [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]


@tool(response_format="content_and_artifact")
def artifact() -> Any:
    """Give a text and something beside it."""
    return "text", {"beside": 1}


@pytest.mark.parametrize("plain", [command, parts, artifact], ids=lambda one: one.name)
def test_a_journal_changes_nothing_of_what_a_tool_gives(run_graph: Run, journal: SqliteJournal, plain: Any) -> None:
    """It keeps a text for the case that the process dies; while it lives, the outcome itself counts."""
    told = []
    for kept in (None, journal):
        with serving(calls(("c1", plain.name, "{}")), says()) as server:
            graph = agent(
                server, with_effects(plain), approve="always", journal=kept, checkpointer=InMemorySaver()
            )  # fmt: skip
            message = run_graph(graph, asking("go"), in_thread())["messages"][2]
            told.append((message.content, message.artifact, message.status))
    assert told[0] == told[1]


@tool
def sure(text: str) -> str:
    """Ask a person."""
    return f"{text}: {interrupt('sure?')}"


def test_a_tool_with_effects_may_ask_a_person_itself(run_graph: Run, journal: SqliteJournal) -> None:
    """Its interrupt is no failure that the journal keeps, and when it is resumed it runs."""
    with serving(calls(("c1", "sure", '{"text": "a"}')), says()) as server:
        graph = agent(
            server, with_effects(sure), approve="always", journal=journal, checkpointer=InMemorySaver()
        )  # fmt: skip
        asked = run_graph(graph, asking("go"), in_thread())
        assert ["sure?"] == [one.value for one in asked["__interrupt__"]]
        run_graph(graph, Command(resume="yes"), in_thread())
        assert [("c1", "a: yes")] == results(bodies(server)[-1])


# --- approvals


def test_a_thread_that_waits_for_a_tool_which_is_gone_goes_on(run_graph: Run) -> None:
    """The graph was built anew without it: the call is answered as one of an unknown tool, whatever was decided."""
    effect = Tool("effect", "Write.", echo_tool().parameters, lambda text: text, effects=True)
    memory = InMemorySaver()
    with serving(calls(("c1", "effect", '{"text": "a"}')), says()) as server:
        run_graph(agent(server, effect, checkpointer=memory), asking("go"), in_thread())
        decision: Any = Command(resume={"decisions": [{"type": "approve"}]})
        end = run_graph(agent(server, checkpointer=memory), decision, in_thread())
        ((_, told),) = results(bodies(server)[-1])
    assert ("answer", "unknown_tool") == (end["stop"], told["error_type"])


def test_an_answer_that_cannot_be_used_leaves_the_run_waiting() -> None:
    """And whoever watches is told so: the stop has its reason."""
    effect = Tool("effect", "Write.", echo_tool().parameters, lambda text: text, effects=True)
    with serving(calls(("c1", "effect", '{"text": "a"}'))) as server:
        graph = agent(server, effect, checkpointer=InMemorySaver())
        graph.invoke(asking("go"), in_thread())
        *_, stop = events(graph, Command(resume="perhaps"), in_thread())
    assert "awaiting-approval" == stop["reason"]


def test_an_answer_is_for_the_calls_that_were_asked_about(run_graph: Run) -> None:
    """The graph was built anew meanwhile, and another tool has effects: its call waits for an answer of its own."""
    ran: list[str] = []

    def named(name: str, effects: bool) -> Tool:
        return Tool(name, "Do.", echo_tool().parameters, lambda text: ran.append(name), effects=effects)

    memory = InMemorySaver()
    with serving(calls(("c1", "one", '{"text": "a"}'), ("c2", "two", '{"text": "b"}')), says()) as server:
        graph = agent(server, named("one", True), named("two", False), checkpointer=memory)
        run_graph(graph, asking("go"), in_thread())
        changed = agent(server, named("one", False), named("two", True), checkpointer=memory)
        approved: Any = Command(resume="approve")
        still = run_graph(changed, approved, in_thread())
        assert (["c2"], []) == ([one["id"] for one in still["__interrupt__"][0].value["action_requests"]], ran)
        end = run_graph(changed, Command(resume="reject"), in_thread())
    assert ("answer", ["one"]) == (end["stop"], ran)


@pytest.mark.parametrize("kept", ["in memory", "in a file"])
def test_an_effect_happens_once_though_nobody_gave_a_journal(tmp_path: Path, kept: str) -> None:
    """Two people press the button at once: with a thread that is kept, the graph has a journal of its own."""
    ran: list[str] = []
    gate = threading.Barrier(2, timeout=5)

    def slow(text: str) -> None:
        ran.append(text)
        time.sleep(0.1)

    effect = Tool("effect", "Write.", echo_tool().parameters, slow, effects=True)
    with ExitStack() as stack:
        server = stack.enter_context(serving(calls(("c1", "effect", '{"text": "a"}')), says(), says()))
        memory = InMemorySaver() if kept == "in memory" else stack.enter_context(sqlite(tmp_path / "memory.db"))
        graph = agent(server, effect, checkpointer=memory)
        graph.invoke(asking("go"), in_thread())

        def press() -> None:
            gate.wait()
            graph.invoke(Command(resume="approve"), in_thread())

        threads = [threading.Thread(target=press) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert ["a"] == ran
