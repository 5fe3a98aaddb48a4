"""Long conversations: old turns are dropped, or a summary takes their place."""

from collections.abc import Callable, Sequence
from typing import Any

import openai
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.graph import as_sent
from lc.sturdy.model import SturdyChatOpenAI
from lc.sturdy.nodes import Trim
from lc.sturdy.trim import summarised, trimmed
from protocol import BadReply, encode_json

SUMMARISE = "Summarise this conversation in at most 200 words. Keep names, numbers and what was promised.\n\n"


def dropping(longest: int, to: int) -> Trim:
    """Drop the oldest turns of a history with more than `longest` messages, down to at most `to`.

    Far down: each time, the provider's prefix cache is lost.
    """

    def shorter(history: Sequence[AnyMessage]) -> list[AnyMessage]:
        return trimmed(history, to) if len(history) > longest else list(history)

    return shorter


def summarising(llm: SturdyChatOpenAI, longest: int, keep_turns: int) -> Trim:
    """Put a summary in place of all but the last turns of a history with more than `longest` messages."""

    def summary(old: Sequence[AnyMessage]) -> str:
        # As text: a history with calls is refused by providers where the request offers no tools.
        return llm.invoke([HumanMessage(SUMMARISE + encode_json(as_sent(old)).decode())]).text

    def shorter(history: Sequence[AnyMessage]) -> list[AnyMessage]:
        if len(history) <= longest:
            return list(history)
        try:
            return summarised(history, keep_turns, summary)
        except (openai.APIError, BadReply, ValueError):
            return list(history)  # the turn is more urgent; the next one tries again

    return shorter


def agent(llm: SturdyChatOpenAI, trim: Trim) -> Agent:
    """The graph with a history that is made shorter at the start of a turn."""
    return build(llm, [COUNT_WORDS], trim=trim)


def node(trim: Trim) -> Callable[[Any], dict[str, Any]]:
    """The same as a node of a larger graph, in front of ours: what a graph inside drops, the larger one keeps."""

    def shorten(state: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *trim(state["messages"])]}

    return shorten


if __name__ == "__main__":
    llm = model()
    show(agent(llm, summarising(llm, longest=40, keep_turns=3)).invoke(question("How many words has 'a b c'?")))
