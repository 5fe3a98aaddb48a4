"""The programs of examples/grow do what docs/grow.md says of them: over HTTP, on a scripted model server."""

import asyncio
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from compare.replies import Scripted
from compare.server import ModelServer
from examples.grow import (
    agent_as_tool,
    alone,
    fallback,
    hand_over,
    node_of_another,
    other_models,
    own_state,
    own_tool,
    postgres_memory,
    served,
    shorter,
    tool_with_effects,
    tool_with_state,
)
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.memory import NoMemory
from tests.servers import bodies, calls, echo_tool, fails, results, says, serving
from tests.sturdy import asking, in_thread, sturdy_model
from toolbox import Tool

GROW = Path(__file__).parent.parent / "examples" / "grow"
COUNT = calls(("c1", "count_words", '{"text":"a b c"}'))
COUNTED = ("c1", {"ok": True, "result": 3})


def last_results(server: ModelServer) -> list[Any]:
    return results(bodies(server)[-1])


def contents(server: ModelServer) -> list[Any]:
    """What the messages of the last request say."""
    return [message.get("content") for message in bodies(server)[-1]["messages"]]


# --- tools ---


def test_a_tool_of_ones_own_is_offered_and_checked() -> None:
    """The model sees the schema as it is written, and a call that does not fit it is told why."""
    bad = calls(("c2", "count_words", '{"text": "a b", "longer_than": "1"}'))
    with serving(COUNT, bad, says()) as server:
        own_tool.agent(sturdy_model(server)).invoke(asking("how many?"))
        assert [own_tool.COUNT_WORDS.schema()] == bodies(server)[0]["tools"]
        counted, refused = last_results(server)
    assert COUNTED == counted
    assert "invalid_arguments" == refused[1]["error_type"]


def test_a_tool_may_see_the_conversation_and_who_it_is_with() -> None:
    """What is injected stands in no schema, and the model cannot give it."""
    asked = calls(
        ("c1", "questions_so_far", "{}"),
        ("c2", "balance", '{"currency": "EUR"}'),
        ("c3", "balance", '{"currency": "EUR", "runtime": {"user": "eve"}}'),
    )
    with serving(asked, says()) as server:
        tool_with_state.agent(sturdy_model(server)).invoke(asking("hi"), {"configurable": {"user": "ada"}})
        offered = [tool["function"]["parameters"]["properties"] for tool in bodies(server)[0]["tools"]]
        got = last_results(server)
    assert [{}, {"currency": {"type": "string"}}] == offered
    assert [("c1", "1"), ("c2", "ada has 12.50 EUR")] == got[:2]
    assert "invalid_arguments" == got[2][1]["error_type"]


def test_effects_wait_for_a_person_one_by_one(tmp_path: Path) -> None:
    """Approved, edited and rejected; the tool of LangChain's too; and nothing happens twice."""
    wanted = calls(
        ("c1", "book_room", '{"room":"green","hour":14}'),
        ("c2", "order_cake", '{"kind":"plum"}'),
        ("c3", "book_room", '{"room":"blue","hour":9}'),
    )
    edit = {"type": "edit", "edited_action": {"name": "order_cake", "args": {"kind": "lemon"}}}
    answers = ["approve", edit, {"type": "reject", "message": "blue is closed"}]
    file, asked = tmp_path / "bookings", []

    def decide(request: Any) -> Any:
        asked.append([call["name"] for call in request["action_requests"]])
        return answers

    journal = SqliteJournal(tmp_path / "journal")
    with serving(wanted, says("all set")) as server:
        booking = tool_with_effects.agent(sturdy_model(server), file, InMemorySaver(), journal)
        end = tool_with_effects.turn(booking, asking("book"), in_thread(), decide)
        booked, ordered, rejected = last_results(server)
    journal.close()
    assert [["book_room", "order_cake", "book_room"]] == asked
    assert "green at 14\na lemon cake\n" == file.read_text()
    assert {"ok": True, "result": "booked"} == booked[1]
    assert {"result": "ordered", "edited_arguments": {"kind": "lemon"}} == ordered[1]
    assert {"ok": False, "error_type": "rejected", "error": "blue is closed"} == rejected[1]
    assert "answer" == end["stop"]


# --- models ---


@pytest.mark.parametrize("name", sorted(other_models.SERVERS))
def test_another_server_gets_its_switches_as_they_are(name: str) -> None:
    """`extra_body` stands in the request, `max_tokens` under its own name, and nothing depends on the model's name."""
    given = other_models.SERVERS[name]
    with serving(says()) as server:
        client = sturdy_model(server).http_async_client
        other_models.agent(name, base_url=server.base_url, api_key="k", http_async_client=client).invoke(asking("hi"))
        (body,) = bodies(server)
    extra = {**given.get("extra_body", {}), **({"max_tokens": 2000} if "max_tokens" in given else {})}
    assert {"model": given["model"], **extra} == {key: body[key] for key in body if key not in ("messages", "tools")}


def test_what_a_model_thought_goes_back_to_it() -> None:
    """DeepSeek refuses the next request without it."""
    with serving(calls(("c1", "count_words", '{"text":"a"}'), reasoning_content="hm"), says()) as server:
        client = sturdy_model(server).http_async_client
        other_models.agent("deepseek", base_url=server.base_url, api_key="k", http_async_client=client).invoke(
            asking("hi")
        )
        assert "hm" == bodies(server)[1]["messages"][1]["reasoning_content"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_second_model_answers_where_the_first_gives_no_reply(stream: bool) -> None:
    """It gets the very request that the first got, and the history stays one."""
    with serving(COUNT, fails(503)) as first, serving(says("three")) as second:
        agent = fallback.agent(sturdy_model(first, streaming=stream), sturdy_model(second, streaming=stream))
        end = agent.invoke(asking("how many?"))
        assert ("answer", "three") == (end["stop"], end["messages"][-1].text)
        assert bodies(first)[1] == bodies(second)[0]


def test_the_second_model_is_not_asked_what_the_first_refuses() -> None:
    """A wrong key is found out."""
    with serving(fails(401)) as first, serving(says()) as second:
        assert "http-error" == fallback.agent(sturdy_model(first), sturdy_model(second)).invoke(asking("x"))["stop"]
        assert [] == second.exchanges


# --- graphs in graphs ---


def test_another_graph_looks_something_up_before_the_model_is_asked() -> None:
    """Over two turns on one thread of the larger graph, whose state has LangGraph's own channel."""
    with serving(COUNT, says("Reinhard"), says("six")) as server:
        larger = node_of_another.larger(sturdy_model(server), checkpointer=InMemorySaver())
        larger.invoke(asking("the fox?"), in_thread())
        end = larger.invoke(asking("the hen?"), in_thread())
        sent = contents(server)
    notes = [f"Notes:\n{note}" for note in node_of_another.NOTES.values()]
    assert ["the fox?", notes[0], None, '{"ok": true, "result": 3}', "Reinhard", "the hen?", notes[1]] == sent
    assert [*sent[4:], "six"] == [message.text for message in end["messages"][4:]]


def test_a_user_sees_what_happens_inside() -> None:
    """The events are those of the graph alone: a person is asked once, and may answer through the larger graph."""
    echo = echo_tool()
    effect = Tool(echo.name, echo.description, echo.parameters, echo.function, effects=True)
    with serving(calls(("c1", "echo", '{"text":"a"}')), says("some words")) as server:
        larger = node_of_another.larger(sturdy_model(server), effect, checkpointer=InMemorySaver())
        first = list(node_of_another.told(larger, asking("go"), in_thread()))
        then = list(node_of_another.told(larger, Command(resume="approve"), in_thread()))
    assert ["message", "approval", "stop"] == [event["type"] for event in first]
    kinds = [event["type"] for event in then if event["type"] != "token"]
    assert ["tool-start", "tool-end", "message", "stop"] == kinds
    assert ("awaiting-approval", "answer") == (first[-1]["reason"], then[-1]["reason"])
    assert "some words" == "".join(event["text"] for event in then if event["type"] == "token")


def test_a_graph_with_a_state_of_its_own_sees_how_the_run_ended() -> None:
    """It begins anew after an end that is no answer."""
    with serving(fails(500), COUNT, says("Foxes.")) as server:
        end = own_state.reporter(sturdy_model(server)).invoke({"topic": "foxes"})
    assert {"topic": "foxes", "text": "Foxes.", "stop": "answer", "attempts": 2} == end


def test_a_graph_is_a_tool_of_another() -> None:
    """The inner one gets the question alone, and its answer is the result."""
    asked = calls(("c1", "expert", '{"question":"how many?"}'))
    with serving(asked, says()) as outer, serving(COUNT, says("three")) as inner:
        agent_as_tool.agent(sturdy_model(outer), sturdy_model(inner)).invoke(asking("hi"))
        assert ["You know words.", "how many?"] == contents(inner)[:2]
        assert [("c1", "three")] == last_results(outer)


def test_the_end_of_the_inner_run_is_told() -> None:
    """An inner run that failed is a failed call of the outer one."""
    asked = calls(("c1", "expert", '{"question":"how many?"}'))
    with serving(asked, says()) as outer, serving(fails(500)) as inner:
        agent_as_tool.agent(sturdy_model(outer), sturdy_model(inner)).invoke(asking("hi"))
        failed = {"ok": False, "error_type": "NoAnswer", "error": "http-error"}
        assert [("c1", failed)] == last_results(outer)


def test_a_person_is_asked_through_the_outer_graph() -> None:
    """Two inner runs of one turn ask one after the other, and each goes on where it was."""
    log: list[Any] = []
    echo = echo_tool(log)
    effect = Tool(echo.name, echo.description, echo.parameters, echo.function, effects=True)
    asked = calls(("c1", "expert", '{"question":"A"}'), ("c2", "expert", '{"question":"B"}'))

    def wants(text: str) -> list[Scripted]:
        return [calls(("d", "echo", json.dumps({"text": text}))), says(f"{text} done")]

    with serving(asked, says()) as outer, serving(*wants("a"), *wants("b")) as inner:
        graph = agent_as_tool.agent(sturdy_model(outer), sturdy_model(inner), effect, checkpointer=InMemorySaver())
        given, seen = asking("hi"), []
        while "__interrupt__" in (end := graph.invoke(given, in_thread())):
            (request,) = end["__interrupt__"]
            seen.append(request.value["action_requests"][0]["args"]["text"])
            given = Command(resume={request.id: "approve"})
        assert [("c1", "a done"), ("c2", "b done")] == last_results(outer)
        assert (["a", "b"], ["a", "b"], 4) == (seen, log, len(inner.exchanges))


def test_a_conversation_is_handed_over_with_all_results() -> None:
    """The call beside the one that hands over ran, and its result goes along."""
    both = calls(("c1", "count_words", '{"text":"a b c"}'), ("c2", "to_the_writer", "{}"))
    with serving(both, says("A fox."), says("again")) as server:
        pair = hand_over.pair(sturdy_model(server), InMemorySaver())
        pair.invoke(asking("write"), in_thread())
        assert "You are the writer." == contents(server)[0]
        assert [COUNTED, ("c2", "the writer goes on")] == last_results(server)
        end = pair.invoke(asking("and now?"), in_thread())
        assert "You are the desk. The writer writes texts." == contents(server)[0]
    kinds = ["human", "ai", "tool", "tool", "ai", "human", "ai"]
    assert kinds == [message.type for message in end["messages"]]


# --- long conversations ---


def turns(server: ModelServer, trim: Any, count: int) -> None:
    agent = own_agent(server, trim)
    for number in range(count):
        agent.invoke(asking(f"q{number}"), in_thread())


def own_agent(server: ModelServer, trim: Any) -> Any:
    made = shorter.agent(sturdy_model(server), trim)
    made.checkpointer = InMemorySaver()
    return made


def test_old_turns_are_dropped() -> None:
    """Down to four messages, once there are more than six, as a turn begins."""
    with serving(*[says(f"a{number}") for number in range(4)]) as server:
        turns(server, shorter.dropping(longest=6, to=4), 4)
        assert ["q2", "a2", "q3"] == contents(server)


def test_a_summary_takes_the_place_of_old_turns() -> None:
    """The model is asked for it without tools, and with the turns as text."""
    with serving(says("a0"), says("a1"), says("they greeted"), says("a2")) as server:
        turns(server, shorter.summarising(sturdy_model(server), longest=4, keep_turns=2), 3)
        asked = bodies(server)[2]
        sent = contents(server)
    assert "tools" not in asked
    assert '"content":"a0"' in asked["messages"][0]["content"].replace(" ", "")
    assert ["Summary of the conversation so far:\n\nthey greeted", "q1", "a1", "q2"] == sent


@pytest.mark.parametrize("bad", [fails(500), says("")])
def test_a_summary_that_fails_costs_the_turn_nothing(bad: Scripted) -> None:
    """The history stays long."""
    with serving(says("a0"), says("a1"), bad, says("a2")) as server:
        turns(server, shorter.summarising(sturdy_model(server), longest=4, keep_turns=2), 3)
        assert ["q0", "a0", "q1", "a1", "q2"] == contents(server)


@pytest.mark.parametrize("state", [MessagesState, alone.Kept])
def test_a_larger_graph_drops_and_summarises_in_a_node_of_its_own(state: Any) -> None:
    """With LangGraph's channel and with ours, each turn is there once, and the summary in front."""
    with serving(says("a0"), says("a1"), says("they greeted"), says("a2")) as server:
        llm = sturdy_model(server)
        graph: Any = StateGraph(state)
        graph.add_node("shorten", shorter.node(shorter.summarising(llm, longest=4, keep_turns=2)))
        graph.add_node("agent", own_tool.agent(llm))
        graph.add_edge(START, "shorten")
        graph.add_edge("shorten", "agent")
        larger = graph.compile(checkpointer=InMemorySaver())
        for number in range(3):
            end = larger.invoke(asking(f"q{number}"), in_thread())
    said = ["Summary of the conversation so far:\n\nthey greeted", "q1", "a1", "q2", "a2"]
    assert said == [message.text for message in end["messages"]]


# --- memory and server ---


def test_a_database_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    """Before the model is asked."""
    with serving() as server, pytest.raises(NoMemory, match=r"^PostgreSQL: cannot be opened: "):
        postgres_memory.turn(sturdy_model(server), f"postgresql:///x?host={tmp_path}", "t", asking("hi"))


def test_the_server_gets_one_graph_without_a_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangGraph's server brings its own checkpointer."""
    with serving(says("hello")) as server:
        environment(monkeypatch, server)
        graph = asyncio.run(served.graph())
        assert (graph, None) == (asyncio.run(served.graph()), graph.checkpointer)
        assert "hello" == graph.invoke({"messages": [HumanMessage("hi")]})["messages"][-1].text
    served._graph.cache_clear()


# --- from the command line ---


def environment(monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    for name, value in {"BASE_URL": server.base_url, "MODEL": "m", "API_KEY": "k"}.items():
        monkeypatch.setenv(f"OPENAI_{name}", value)


@pytest.mark.parametrize(
    "name", ["own_tool", "tool_with_state", "fallback", "node_of_another", "own_state", "agent_as_tool", "hand_over",
             "shorter"]
)  # fmt: skip
def test_a_program_prints_the_answer(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """It takes the model from the environment and the question from the command line."""
    monkeypatch.setattr(sys, "argv", [name, *([] if name == "own_state" else ["What", "is", "it?"])])
    with serving(says("An answer.")) as server:
        environment(monkeypatch, server)
        runpy.run_path(str(GROW / f"{name}.py"), run_name="__main__")
        asked = contents(server)[-1]
    assert "An answer.\n" == capsys.readouterr().out
    assert ("Write a short report about foxes." if name == "own_state" else "What is it?") == asked


def test_the_program_with_effects_asks_at_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    """`y` lets the call happen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["x"])
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    with serving(calls(("c1", "book_room", '{"room":"green","hour":14}')), says("Done.")) as server:
        environment(monkeypatch, server)
        runpy.run_path(str(GROW / "tool_with_effects.py"), run_name="__main__")
    assert "Done.\n" == capsys.readouterr().out
    assert "green at 14\n" == (tmp_path / "bookings.txt").read_text()
