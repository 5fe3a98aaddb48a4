"""What a user sees of a run of lc.sturdy while it goes on."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.types import Command

from compare.replies import Delta, ScriptedStream
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.events import Event, aevents, events
from lc.sturdy.limits import Limits
from tests.servers import broken_tool, calls, echo_tool, fails, says, serving
from tests.sturdy import CLIENTS, agent, asking, event_loop, in_thread, sturdy_model

Listen = Callable[..., list[Event]]
HELLO = ('{"role": "assistant", "content": "Hel"}', '{"content": "lo"}')


@pytest.fixture(params=["sync", "async"])
def listen(request: pytest.FixtureRequest) -> Iterator[Listen]:
    """Runs a graph, in both ways; returns the events."""
    if request.param == "sync":
        yield lambda *given: list(events(*given))
        return

    class Listening:
        """Has the shape of a graph, for the event loop that the tests share."""

        def __init__(self, graph: Agent) -> None:
            self.graph = graph

        async def ainvoke(self, *given: Any) -> list[Event]:
            return [event async for event in aevents(self.graph, *given)]

    # Clients of earlier tests belong to event loops that are closed: not ours to close, and kept as they are.
    earlier = CLIENTS[:]
    CLIENTS.clear()
    with event_loop() as run:
        yield lambda graph, *given: run(Listening(graph), *given)
    CLIENTS[:0] = earlier


def kinds(heard: list[Event]) -> list[str]:
    """The types of the events, in order."""
    return [event["type"] for event in heard]


def stream(*deltas: str, finish_reason: str = "stop") -> ScriptedStream:
    """A reply that comes in these deltas."""
    return ScriptedStream((*map(Delta, deltas), Delta("{}", finish_reason)))


def test_words_come_as_the_model_says_them(listen: Listen) -> None:
    """Each piece of a stream is a token; then the message is whole, and the run stops with its reason and use."""
    with serving(stream(*HELLO)) as server:
        heard = listen(agent(server), asking("hi"))
    assert heard[:-1] == [
        {"type": "token", "text": "Hel"},
        {"type": "token", "text": "lo"},
        {"type": "message", "text": "Hello", "calls": 0},
    ]
    assert (heard[-1]["reason"], heard[-1]["used"]["rounds"]) == ("answer", 1)


def test_the_first_word_does_not_wait_for_the_last() -> None:
    """A token is given while the rest of the reply is still on its way."""
    late = ScriptedStream((Delta(HELLO[0]), Delta(HELLO[1], "stop", pause=1.0)))
    with serving(late) as server:
        begun = time.monotonic()
        heard = events(agent(server), asking("hi"))
        first = next(heard)
        waited = time.monotonic() - begun
        assert (first, kinds(list(heard))) == ({"type": "token", "text": "Hel"}, ["token", "message", "stop"])
    assert waited < 1.0


def test_a_reply_that_is_no_stream_is_one_token() -> None:
    """With streaming off, the words come all at once."""
    with serving(says("Hello")) as server:
        heard = list(events(build(sturdy_model(server, streaming=False), []), asking("hi")))
    assert heard[0] == {"type": "token", "text": "Hello"}
    assert kinds(heard) == ["token", "message", "stop"]


def test_tools_are_seen_at_work(listen: Listen) -> None:
    """A start with the arguments as the model wrote them, an end with the result and the seconds that it took."""
    turn = (('{"content": "I look. "}'), '{"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": '
            '{"name": "echo", "arguments": "{\\"text\\":  \\"a\\"}"}}]}')  # fmt: skip
    with serving(stream(*turn, finish_reason="tool_calls"), says("done")) as server:
        heard = listen(agent(server), asking("hi"))
    assert kinds(heard) == ["token", "message", "tool-start", "tool-end", "token", "message", "stop"]
    assert heard[1] == {"type": "message", "text": "I look. ", "calls": 1}
    assert heard[2] == {"type": "tool-start", "id": "c1", "name": "echo", "arguments": '{"text":  "a"}'}
    assert heard[3] | {"seconds": 0} == {
        "type": "tool-end", "id": "c1", "name": "echo", "result": '{"ok": true, "result": "a"}', "seconds": 0,
    }  # fmt: skip
    assert heard[3]["seconds"] >= 0


def test_each_call_is_either_run_or_refused(listen: Listen) -> None:
    """A tool that fails has an end; a call that no tool gets is told with its answer."""
    asked = calls(("c1", "broken", "{}"), ("c2", "nothing", "{}"), ("c3", "echo", "{"))
    with serving(asked, says("done")) as server:
        heard = listen(agent(server, broken_tool(RuntimeError("no")), echo_tool()), asking("hi"))
    ended = {event["id"]: event["result"] for event in heard if event["type"] == "tool-end"}
    refused = {event["id"]: event["result"] for event in heard if event["type"] == "tool-refused"}
    assert (["c1"], ["c2", "c3"]) == (list(ended), list(refused))
    assert '"error_type": "RuntimeError"' in ended["c1"]
    assert '"error_type": "unknown_tool"' in refused["c2"]
    assert '"error_type": "invalid_json"' in refused["c3"]


def test_a_question_to_a_person_ends_the_run_and_its_answer_goes_on(listen: Listen) -> None:
    """The event carries what is asked; the run that is resumed has events of its own."""
    with serving(calls(("c1", "echo", '{"text": "a"}')), says("done")) as server:
        graph = agent(server, replace(echo_tool(), effects=True), checkpointer=InMemorySaver())
        first = listen(graph, asking("hi"), in_thread())
        resume = {first[1]["id"]: "approve"}
        second = listen(graph, Command(resume=resume), in_thread())
    assert kinds(first) == ["message", "approval", "stop"]
    (action,) = first[1]["request"]["action_requests"]
    assert (action["name"], action["arguments"]) == ("echo", '{"text": "a"}')
    assert first[-1]["reason"] == "awaiting-approval"
    assert kinds(second) == ["tool-start", "tool-end", "token", "message", "stop"]
    assert second[-1]["reason"] == "answer"


def test_a_retry_and_a_failure_are_told(listen: Listen) -> None:
    """Before the wait, with its length; and in the server's words when no more is tried."""
    with serving(fails(503, "busy", retry_after="0"), fails(401, "wrong key")) as server:
        heard = listen(build(sturdy_model(server, max_retries=1), []), asking("hi"))
    assert kinds(heard) == ["retry", "error", "stop"]
    assert (heard[0]["attempt"], heard[0]["seconds"]) == (1, 0.0)
    assert "busy" in heard[0]["error"]
    assert "wrong key" in heard[1]["error"]
    assert heard[2]["reason"] == "http-error"


def test_a_limit_is_the_reason_for_the_stop(listen: Listen) -> None:
    """The last event names the limit, and what was used."""
    with serving(calls(("c1", "echo", '{"text": "a"}'))) as server:
        heard = listen(agent(server, limits=Limits(rounds=1)), asking("hi"))
    assert heard[-1]["reason"] == "round-limit"
    assert (heard[-1]["used"]["rounds"], heard[-1]["used"]["calls"]) == (1, 1)


def test_what_a_tool_says_in_its_own_name_is_no_event_of_ours() -> None:
    """Only the graph tells of tools and retries; a model inside a tool does not speak to the user."""

    @tool
    def talker() -> str:
        """Talk."""
        get_stream_writer()({"type": "progress", "percent": 50})
        return str(inner.invoke("hi").text)

    with serving(calls(("c1", "talker", "{}")), says("inner"), says("outer")) as server:
        inner = sturdy_model(server)
        heard = list(events(agent(server, talker), asking("hi")))
    assert [event["text"] for event in heard if event["type"] == "token"] == ["outer"]
    assert kinds(heard) == ["message", "tool-start", "tool-end", "token", "message", "stop"]
