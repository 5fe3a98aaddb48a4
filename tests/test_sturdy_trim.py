"""A history gets shorter by whole turns, and nothing of it is parted."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)

from lc.sturdy.history import healed
from lc.sturdy.trim import SUMMARY, summarised, trimmed
from lc.sturdy.wire import sent_message
from protocol.profile import profile
from protocol.rules import check

SYSTEM = [SystemMessage("s1"), SystemMessage("s2")]


def turn(name: str, rounds: int = 1) -> list[AnyMessage]:
    """A turn of two messages, and of two more for each round of tools."""
    messages: list[AnyMessage] = [HumanMessage(f"q{name}")]
    for number in range(rounds):
        call_id = f"c{name}-{number}"
        messages.append(AIMessage("", tool_calls=[{"name": "calculator", "args": {}, "id": call_id}]))
        messages.append(ToolMessage("4", tool_call_id=call_id))
    return [*messages, AIMessage(f"a{name}")]


HISTORY = [*SYSTEM, *turn("1"), *turn("2"), *turn("3")]


def joined(messages: Sequence[AnyMessage]) -> str:
    """A summary that holds every word."""
    return " ".join(str(message.content) for message in messages if message.content)


@pytest.mark.parametrize(
    ("at_most", "kept"),
    [(14, "123"), (13, "23"), (10, "23"), (9, "3"), (6, "3"), (5, "3"), (0, "3")],
)
def test_whole_turns_go_from_the_oldest(at_most: int, kept: str) -> None:
    """What remains is at most so large, but for the last turn, which always remains; so do the system messages."""
    assert [*SYSTEM, *(message for name in kept for message in turn(name))] == trimmed(HISTORY, at_most)


def test_the_size_may_be_in_tokens() -> None:
    """`size` measures each message, as a count of tokens does."""
    history: list[AnyMessage] = [HumanMessage("x" * 100), AIMessage("y"), HumanMessage("z"), AIMessage("y")]
    assert history[2:] == trimmed(history, 50, lambda message: len(message.content))
    assert history == trimmed(history, 103, lambda message: len(message.content))


def test_what_stands_before_the_first_user_message_goes_first() -> None:
    """A greeting of the assistant is no start for a history that was made shorter."""
    assert turn("1") == trimmed([AIMessage("hello"), *turn("1")], 4)


def test_langchain_does_not_do_it() -> None:
    """Why this is not `trim_messages`: it parts a call from its result, or leaves nothing to answer to."""
    parted = trim_messages(HISTORY, max_tokens=3, token_counter=len, include_system=True)
    assert ["system", "tool", "ai"] == [message.type for message in parted]
    emptied = trim_messages(HISTORY, max_tokens=3, token_counter=len, include_system=True, start_on="human")
    assert SYSTEM[:1] == emptied
    fitting = trim_messages(HISTORY, max_tokens=len(HISTORY), token_counter=len, include_system=True, start_on="human")
    assert [SYSTEM[0], *HISTORY[2:]] == fitting


def test_a_summary_takes_the_place_of_old_turns() -> None:
    """One user message behind the system messages holds what was said before."""
    short = summarised(HISTORY, 1, joined)
    assert [*SYSTEM, *turn("3")] == [*short[:2], *short[3:]]
    assert "user" == sent_message(short[2])["role"]
    assert SUMMARY + "q1 4 a1 q2 4 a2" == short[2].content


def test_a_second_summary_is_made_of_the_first() -> None:
    """The earlier summary is the first thing that is summarised, and only one summary remains."""
    again = summarised([*summarised(HISTORY, 1, joined), *turn("4")], 1, joined)
    assert [*SYSTEM, *turn("4")] == [*again[:2], *again[3:]]
    assert f"{SUMMARY}{SUMMARY}q1 4 a1 q2 4 a2 q3 4 a3" == again[2].content


def test_trimming_keeps_a_summary() -> None:
    """A summary stands for all that went before, so it goes no sooner than the system messages."""
    short = summarised(HISTORY, 1, joined)
    assert [*short[:3], *turn("4")] == trimmed([*short, *turn("4")], 1)


def test_nothing_old_needs_no_summary() -> None:
    """Where no turn goes, `summarise` is not asked; the last turn stays even when none is to be kept."""

    def refuse(messages: Sequence[AnyMessage]) -> str:
        raise AssertionError("asked for a summary of nothing")

    assert HISTORY == summarised(HISTORY, 3, refuse)
    assert turn("1") == summarised(turn("1"), 0, refuse)
    assert [] == summarised([], 1, refuse)


def test_an_empty_summary_is_an_error() -> None:
    """Turns are not given up for a summary that holds nothing."""
    with pytest.raises(ValueError, match="the summary is empty"):
        summarised(HISTORY, 1, lambda messages: " \n")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(0, 30), st.integers(0, 4))
def test_what_remains_is_legal(rounds: list[int], at_most: int, keep: int) -> None:
    """However much goes, OpenAI's rules find nothing, and the first message behind the system's is a user's."""
    history = [*SYSTEM, *(message for number, many in enumerate(rounds) for message in turn(str(number), many))]
    for short in (trimmed(history, at_most), summarised(history, keep, joined)):
        assert [] == check([sent_message(message) for message in short], profile("openai").rules)
        assert healed(short, lambda message, position: "lost") is None
        assert SYSTEM == short[:2]
        assert "human" == short[2].type
        assert history[-1] == short[-1]
