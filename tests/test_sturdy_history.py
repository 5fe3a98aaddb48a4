"""A conversation only grows, and every call in it is answered once, directly behind it."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from lc.sturdy.history import append, healed, unanswered
from protocol.profile import profile
from protocol.rules import check

IDS = st.sampled_from([None, "", "a", "b", "c"])
PLAIN = (
    st.builds(HumanMessage, st.sampled_from("xy"), id=IDS)
    | st.builds(AIMessage, st.sampled_from("xy"), id=IDS)
    | st.sampled_from(["a", "b", "c", REMOVE_ALL_MESSAGES]).map(lambda known: RemoveMessage(id=known))
    | st.just("text")
    | st.just(("user", "pair"))
    | st.builds(lambda known: {"role": "user", "content": "dict", "id": known}, IDS)
)
WRITES = st.lists(PLAIN | st.lists(PLAIN, max_size=4), max_size=6)


def asking(*ids: str, invalid: Sequence[str] = (), **more: Any) -> AIMessage:
    """An assistant message with calls of these ids."""
    calls: Any = [{"name": "calculator", "args": {}, "id": one} for one in ids]
    spoiled: Any = [{"name": "calculator", "args": "{", "id": one, "error": "no JSON"} for one in invalid]
    return AIMessage("", tool_calls=calls, invalid_tool_calls=spoiled, **more)


def result(call_id: str, text: str = "4") -> ToolMessage:
    """The result of a call."""
    return ToolMessage(text, tool_call_id=call_id)


def lost(message: AIMessage, position: int) -> str:
    """What is said of a call without a result."""
    return f"lost {position}"


def sent(message: AnyMessage) -> dict[str, Any]:
    """The message as ChatOpenAI sends it: with all calls, the invalid ones last."""
    match message:
        case ToolMessage(content=text, tool_call_id=call_id):
            return {"role": "tool", "content": text, "tool_call_id": call_id}
        case AIMessage(tool_calls=valid, invalid_tool_calls=invalid) if valid or invalid:
            ids = [call["id"] for call in [*valid, *invalid]]
            function = {"name": "calculator", "arguments": "{}"}
            calls = [{"id": one, "type": "function", "function": function} for one in ids]
            return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": {"ai": "assistant", "human": "user"}[message.type], "content": message.content}


def shown(messages: Sequence[AnyMessage] | None) -> list[tuple[str, Any]]:
    """The messages as pairs of type and text; of a result, its call too."""
    return [
        (one.type, (one.tool_call_id, one.content) if isinstance(one, ToolMessage) else one.content)
        for one in messages or []
    ]


# --- append


def test_takes_whatever_langchain_makes_a_message_of() -> None:
    """A message, a dict, a text, a pair, a chunk, alone or in a list, are all added, each with an id."""
    history = append(
        [], ["one", ("user", "two"), {"role": "assistant", "content": "three"}, [HumanMessage("four")],
             AIMessageChunk(content="five")]
    )  # fmt: skip
    assert [("human", "one"), ("human", "two"), ("ai", "three"), ("human", "four"), ("ai", "five")] == shown(history)
    assert [HumanMessage, HumanMessage, AIMessage, HumanMessage, AIMessage] == [type(one) for one in history]
    assert all(one.id for one in history)


def test_a_constant_message_id_overwrites_nothing() -> None:
    """A server that gives every message the same id gets each of them into the history."""
    history = append([], ["q"])
    for number in range(4):
        history = append(history, [[AIMessage(str(number), id="chatcmpl-1")]])
    assert ["q", "0", "1", "2", "3"] == [one.content for one in history]
    assert 5 == len({one.id for one in history})
    assert "chatcmpl-1" == history[1].id


def test_the_same_user_message_can_be_sent_again() -> None:
    """A message object that is sent a second time is a second question; the object itself is not changed."""
    question = HumanMessage("and now?", id="q")
    history = append(append([], [question]), [AIMessage("this", id="a"), question])
    assert ["and now?", "this", "and now?"] == [one.content for one in history]
    assert "q" == question.id
    assert 3 == len({one.id for one in history})


def test_a_whole_history_adds_only_what_is_new() -> None:
    """A sub-graph returns all messages; the ones that are there stay the objects they were."""
    history = append([], [HumanMessage("q", id="q")])
    returned = [HumanMessage("changed", id="q"), AIMessage("a", id="a")]
    grown = append(history, [returned])
    assert ["q", "a"] == [one.content for one in grown]
    assert history[0] is grown[0]


def test_a_whole_history_may_have_results_put_in() -> None:
    """A sub-graph that heals the history puts a result between; it stands there in the parent too."""
    history = append([], [asking("c1", id="m"), HumanMessage("q", id="q")])
    mended = healed(history, lost)
    assert mended is not None
    grown = append(history, [[*mended, AIMessage("a", id="a")]])
    assert ["ai", "tool", "human", "ai"] == [one.type for one in grown]
    assert 4 == len({one.id for one in grown})


def test_messages_are_removed_when_asked() -> None:
    """One by its id, all by LangGraph's word for all; an id that is not there is no error."""
    history = append([], [HumanMessage("1", id="1"), HumanMessage("2", id="2")])
    assert ["2"] == [one.content for one in append(history, [RemoveMessage(id="1"), RemoveMessage(id="9")])]
    assert ["3"] == [one.content for one in append(history, [[RemoveMessage(id=REMOVE_ALL_MESSAGES), "3"]])]


def test_a_new_id_is_not_one_that_a_removed_message_had() -> None:
    """An id made for a message is not made again once messages were removed: the journal of effects goes by it."""
    first = append([], [HumanMessage("1", id="1"), AIMessage("a", id="x"), AIMessage("b", id="x")])
    second = append(first, [RemoveMessage(id="1"), HumanMessage("2", id="2"), AIMessage("c", id="x")])
    third = append(second, [RemoveMessage(id=second[-1].id or ""), HumanMessage("3", id="3"), AIMessage("d", id="x")])
    assert not {second[-1].id, third[-1].id} & {one.id for one in first}
    assert second[-1].id != third[-1].id


@given(WRITES, WRITES)
def test_batches_make_no_difference(early: list[Any], late: list[Any]) -> None:
    """DeltaChannel saves writes and replays them in other batches: the history is the same, ids and all."""
    at_once = append([], [*early, *late])
    assert at_once == append(append([], early), late)
    one_by_one: list[AnyMessage] = []
    for write in [*early, *late]:
        one_by_one = append(one_by_one, [write])
    assert at_once == one_by_one
    ids = [one.id for one in at_once]
    assert all(ids)
    assert len(ids) == len(set(ids))


class Conversation(TypedDict):
    """The state of a small graph."""

    messages: Annotated[list[AnyMessage], DeltaChannel(append, snapshot_frequency=1000)]


def test_in_a_graph_with_a_sub_graph() -> None:
    """The state that is replayed from the checkpoints is the one that the nodes saw, also through a sub-graph."""
    seen: list[list[AnyMessage]] = []

    def answer(state: Conversation) -> dict[str, Any]:
        seen.append(state["messages"])
        return {"messages": [AIMessage("a", id="constant")]}

    inner = StateGraph(Conversation)
    inner.add_node("answer", answer)
    inner.add_edge(START, "answer")
    outer = StateGraph(Conversation)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=InMemorySaver())
    question = HumanMessage("q")
    for _ in range(3):
        state = graph.invoke({"messages": [question]}, {"configurable": {"thread_id": "1"}})
    assert ["q", "a"] * 3 == [one.content for one in state["messages"]]
    assert state["messages"] == graph.get_state({"configurable": {"thread_id": "1"}}).values["messages"]
    assert seen[-1] == state["messages"][:-1]


# --- healed


def test_a_legal_history_is_left_alone() -> None:
    """None says that nothing had to change."""
    assert healed([], lost) is None
    assert (
        healed(
            [SystemMessage("s"), HumanMessage("q"), asking("a", "b"), result("a"), result("b"), AIMessage("x")], lost
        )
        is None
    )


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        pytest.param([asking("a", "b"), result("b", "4")], [("a", "lost 0"), ("b", "4")], id="one is missing"),
        pytest.param([asking("a"), HumanMessage("q")], [("a", "lost 0"), "q"], id="the user spoke first"),
        pytest.param([asking("a"), HumanMessage("q"), result("a", "4")], [("a", "4"), "q"], id="the result came late"),
        pytest.param(
            [asking("a", "b"), result("b", "5"), result("a", "4")], [("a", "4"), ("b", "5")], id="out of order"
        ),
        pytest.param([asking("a"), result("a", "4"), result("a", "5")], [("a", "4")], id="answered twice"),
        pytest.param([HumanMessage("q"), result("a")], ["q"], id="an orphan"),
        pytest.param([asking("a", invalid=["b"]), result("a", "4")], [("a", "4"), ("b", "lost 1")], id="invalid"),
        pytest.param([asking("a", "a"), result("a", "4")], [("a", "4"), ("a", "lost 1")], id="one id twice in a turn"),
        pytest.param(
            [asking("a"), asking("a"), result("a", "4")], [("a", "lost 0"), ("a", "4")], id="one id in two turns"
        ),
    ],
)  # fmt: skip
def test_a_broken_history_is_mended(broken: list[AnyMessage], whole: list[Any]) -> None:
    """Each call has one result, directly behind, in the order of the calls; what came is kept where it belongs."""
    mended = healed(broken, lost)
    assert whole == [text for kind, text in shown(mended) if kind != "ai"]
    assert [] == unanswered(mended or [])


def test_a_made_result_names_its_tool_and_is_an_error() -> None:
    """A result that the host made up carries the name of the tool and the status of a failure."""
    mended = healed([asking("a")], lost)
    assert [ToolMessage("lost 0", tool_call_id="a", name="calculator", status="error")] == (mended or [])[1:]


def test_says_which_calls_are_open() -> None:
    """The open calls are given as the message and the position in it."""
    first, second = asking("a", "b"), asking("c", invalid=["d"])
    assert [(first, 1), (second, 0), (second, 1)] == unanswered([first, result("a"), second])


@st.composite
def broken_histories(draw: st.DrawFn) -> list[AnyMessage]:
    """Messages in any order; the ids differ within a message, and come again in others."""
    call_ids = st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=3)
    return draw(
        st.lists(
            st.just(HumanMessage("q"))
            | st.just(AIMessage("text"))
            | call_ids.map(lambda ids: asking(*ids))
            | call_ids.map(lambda ids: asking(*ids[:1], invalid=ids[1:]))
            | st.sampled_from("abcde").map(result),
            max_size=12,
        )
    )


@settings(max_examples=300)
@given(broken_histories())
def test_what_comes_out_is_legal(broken: list[AnyMessage]) -> None:
    """Whatever the history was, OpenAI's rules find nothing in the mended one, and no user message is lost."""
    mended = healed(broken, lost)
    whole = broken if mended is None else mended
    assert [] == check([sent(one) for one in whole], profile("openai").rules)
    assert healed(whole, lost) is None
    assert [one for one in broken if one.type != "tool"] == [one for one in whole if one.type != "tool"]
    if mended is None:
        assert [] == unanswered(broken)


@given(st.lists(st.sampled_from("ab"), max_size=5), st.lists(st.sampled_from("abc"), max_size=6))
def test_equal_ids_in_one_turn_are_answered_in_order(asked: list[str], answered: list[str]) -> None:
    """As many results as calls, with the ids of the calls, in their order."""
    history: list[AnyMessage] = [asking(*asked), *(result(one, str(number)) for number, one in enumerate(answered))]
    mended = healed(history, lost)
    whole = history if mended is None else mended
    assert asked == [one.tool_call_id for one in whole if isinstance(one, ToolMessage)]
    kept = [one.content for one in whole if isinstance(one, ToolMessage) and not str(one.content).startswith("lost")]
    for call_id in "ab":
        came = [str(number) for number, one in enumerate(answered) if one == call_id][: asked.count(call_id)]
        assert came == [text for text in kept if text in came]
