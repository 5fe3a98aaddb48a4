"""LangChain tools that see more than the model writes: the conversation, and who it is with."""

from typing import Annotated, Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.prebuilt import InjectedState, ToolRuntime

from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.model import SturdyChatOpenAI


@tool
def questions_so_far(state: Annotated[dict[str, Any], InjectedState]) -> int:
    """Count the questions that the user has asked so far."""
    return sum(isinstance(message, HumanMessage) for message in state["messages"])


@tool
def balance(currency: str, runtime: ToolRuntime) -> str:
    """Look up the balance of the user who asks, in a currency such as EUR."""
    # The user is the host's to say: a name among the arguments would be the model's.
    return f"{runtime.config['configurable']['user']} has 12.50 {currency}"


def agent(llm: SturdyChatOpenAI) -> Agent:
    """The graph with both tools."""
    return build(llm, [questions_so_far, balance])


if __name__ == "__main__":
    show(agent(model()).invoke(question("How many euros do I have?"), {"configurable": {"user": "ada"}}))
