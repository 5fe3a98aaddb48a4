"""The limits of a run: each ends it with its own stop reason, and with a history that the next turn can go on from."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from compare.replies import Reply, ScriptedMessage, to_reply
from compare.server import ModelServer, Request
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.limits import Limits
from protocol.profile import profile
from protocol.rules import check
from tests.servers import bodies, calls, echo_tool, results, says, serving
from tests.sturdy import agent, asking, in_a_loop, in_thread, sturdy_model
from toolbox import Tool


def call(number: int) -> ScriptedMessage:
    return calls((f"c{number}", "echo", '{"text": "a"}'))


def endless(rounds: int) -> list[ScriptedMessage]:
    return [call(number) for number in range(rounds)]


def from_a_tool(graph: Agent, given: Any) -> Any:
    return RunnableLambda(lambda value: graph.invoke(value)).invoke(given)


async def by_events(graph: Agent, given: Any) -> Any:
    return [event async for event in graph.astream_events(given, version="v2")][-1]["data"]["output"]


def as_sub_graph(graph: Agent, given: Any) -> Any:
    parent = StateGraph(MessagesState)
    parent.add_node("agent", graph)
    parent.add_edge(START, "agent")
    parent.add_edge("agent", END)
    ended = list(parent.compile().stream(given, stream_mode="values", subgraphs=True))
    return next(values for space, values in reversed(ended) if space)


WAYS: dict[str, Callable[[Agent, Any], Any]] = {
    "invoke": lambda graph, given: graph.invoke(given),
    "ainvoke": lambda graph, given: in_a_loop(graph.ainvoke(given)),
    "stream": lambda graph, given: list(graph.stream(given, stream_mode="values"))[-1],
    "batch": lambda graph, given: graph.batch([given])[0],
    "abatch": lambda graph, given: in_a_loop(graph.abatch([given]))[0],
    "astream_events": lambda graph, given: in_a_loop(by_events(graph, given)),
    "pipe": lambda graph, given: (RunnableLambda(lambda value: value) | graph).invoke(given),
    "inside": from_a_tool,
    "with_config": lambda graph, given: graph.with_config(recursion_limit=3).batch([given])[0],
    "sub-graph": as_sub_graph,
}


@pytest.mark.parametrize("way", WAYS)
def test_n_rounds_are_n_requests_however_the_graph_is_called(way: str) -> None:
    """LangGraph's own limit of 25 steps, which holds in some ways of calling and not in others, ends no run."""
    with serving(*endless(20)) as server:
        end = WAYS[way](agent(server, limits=Limits(rounds=15)), asking("go"))
        assert 15 == len(server.exchanges)
    assert "round-limit" == end["stop"]
    assert [f"c{number}" for number in range(15)] == [message.tool_call_id for message in end["messages"][2::2]]


def test_an_answer_in_the_last_round_is_kept() -> None:
    """The answer that was paid for is the end of the run, and no error."""
    with serving(call(0), says("done")) as server:
        end = agent(server, limits=Limits(rounds=2)).invoke(asking("go"))
    assert ("answer", "done") == (end["stop"], end["messages"][-1].content)


def test_calls_beyond_the_limit_are_answered_and_end_the_run() -> None:
    """Two calls are allowed and three are made: two run, the third is told why not, and no further request goes out."""
    ran: list[str] = []
    three = calls(*((f"c{number}", "echo", f'{{"text": "{number}"}}') for number in range(3)))
    with serving(three, says("done")) as server:
        end = agent(server, echo_tool(ran), limits=Limits(calls=2), parallel=False).invoke(asking("go"))
        assert 1 == len(server.exchanges)
    assert ("call-limit", ["0", "1"]) == (end["stop"], ran)
    assert "not_run" in end["messages"][-1].content


def test_as_many_calls_as_are_allowed_leave_the_answer() -> None:
    """A run that needs no more calls than it may make ends with its answer."""
    with serving(call(0), says("done")) as server:
        end = agent(server, limits=Limits(calls=1)).invoke(asking("go"))
    assert "answer" == end["stop"]


@pytest.mark.parametrize("stream", [False, True])
def test_tokens_are_counted_over_the_run(stream: bool) -> None:
    """Each scripted reply costs two tokens: the second reaches the limit of three, and its call is not run."""
    ran: list[str] = []
    with serving(*endless(5)) as server:
        llm = sturdy_model(server, streaming=stream)
        end = build(llm, [echo_tool(ran)], limits=Limits(tokens=3)).invoke(asking("go"))
        assert 2 == len(server.exchanges)
    assert ("token-limit", ["a"], 4) == (end["stop"], ran, end["used"]["tokens"])


def test_the_deadline_ends_the_run_between_two_requests() -> None:
    """Time that a tool takes counts; its result is kept."""
    slow = Tool("slow", "Wait.", {"type": "object", "properties": {}}, lambda: time.sleep(0.3))
    with serving(calls(("c1", "slow", "{}")), says("late")) as server:
        end = agent(server, slow, limits=Limits(seconds=0.2)).invoke(asking("go"))
        assert 1 == len(server.exchanges)
    assert ("deadline", "c1") == (end["stop"], end["messages"][-1].tool_call_id)


def test_the_deadline_bounds_a_request() -> None:
    """A server that hangs is left when the time of the run is over, though one reply might take longer."""

    def late(request: Request) -> Reply:
        time.sleep(0.5)
        return to_reply(says(), 1, "m")

    with ModelServer(late) as server:
        started = time.monotonic()
        end = agent(server, limits=Limits(seconds=0.1)).invoke(asking("go"))
        assert time.monotonic() - started < 0.45
    assert "deadline" == end["stop"]


LIMITS = {
    "round-limit": Limits(rounds=1),
    "call-limit": Limits(calls=1),
    "token-limit": Limits(tokens=1),
    "deadline": Limits(seconds=0.000001),
}


@pytest.mark.parametrize("stop", LIMITS)
def test_the_next_turn_goes_on_from_every_limit(stop: str) -> None:
    """The history that a limit leaves is legal, and the counting begins anew."""
    two = calls(("c1", "echo", '{"text": "a"}'), ("c2", "echo", '{"text": "b"}'))
    memory = InMemorySaver()
    with serving(two, says("done")) as server:
        first = agent(server, limits=LIMITS[stop], checkpointer=memory).invoke(asking("go"), in_thread())
        second = agent(server, checkpointer=memory).invoke(asking("and now?"), in_thread())
        sent = bodies(server)[-1]
    assert (stop, "answer") == (first["stop"], second["stop"])
    assert [] == list(check(sent["messages"], profile("openai").rules, 0, sent, []))
    assert 1 == second["used"]["rounds"]
    if stop != "deadline":
        assert ["c1", "c2"] == [call_id for call_id, _ in results(sent)]


@pytest.mark.parametrize("limit", ["rounds", "calls", "tokens", "seconds"])
def test_a_limit_that_nothing_can_keep_is_refused(limit: str) -> None:
    """It names the limit and the mend."""
    with pytest.raises(ValueError, match=rf"^the limit {limit} is 0, but must be more than 0, or None for no limit$"):
        Limits(**{limit: 0})
