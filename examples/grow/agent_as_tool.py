"""A graph as a tool of another: it gets a question, and its answer is the result of the call."""

from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Checkpointer

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.limits import Limits
from lc.sturdy.model import SturdyChatOpenAI
from toolbox import Tool


class NoAnswer(Exception):
    """The inner run ended for another reason than an answer, which the model of the outer one is told."""


def as_tool(inner: Agent) -> BaseTool:
    """The graph as a tool. Where it asks a person, the outer graph asks, and goes on inside with the answer."""

    @tool
    def expert(question: str) -> str:
        """Ask the expert for words. The expert sees nothing but this question."""
        end = inner.invoke({"messages": [HumanMessage(question)]})
        if end["stop"] != "answer":
            raise NoAnswer(end["stop"])
        return str(end["messages"][-1].text)

    return expert


def agent(
    llm: SturdyChatOpenAI, expert_llm: SturdyChatOpenAI, *tools: Tool, checkpointer: Checkpointer = None, **more: Any
) -> Agent:
    """A graph that asks another. Calls run in order: those that wait for a person inside are then asked one by one."""
    expert = build(expert_llm, tools or [COUNT_WORDS], system="You know words.", limits=Limits(rounds=5))
    return build(llm, [as_tool(expert)], parallel=False, tool_timeout=300, checkpointer=checkpointer, **more)


if __name__ == "__main__":
    show(agent(model(), model()).invoke(question("Ask the expert how many words 'the quick brown fox' has.")))
