"""The graph inside one that has a state of its own: a node calls it, and looks at how it ended."""

from typing import TypedDict

import click
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model
from lc.sturdy import build
from lc.sturdy.limits import Limits
from lc.sturdy.model import SturdyChatOpenAI


class Report(TypedDict, total=False):
    """What the larger graph knows."""

    topic: str
    text: str
    stop: str
    attempts: int


def reporter(llm: SturdyChatOpenAI, at_most: int = 2) -> CompiledStateGraph[Report]:
    """Write a report, and begin anew where the run did not end with an answer."""
    agent = build(llm, [COUNT_WORDS], limits=Limits(rounds=5, seconds=120))

    def write(state: Report, config: RunnableConfig) -> Report:
        end = agent.invoke({"messages": [HumanMessage(f"Write a short report about {state['topic']}.")]}, config)
        return {"text": end["messages"][-1].text, "stop": end["stop"], "attempts": state.get("attempts", 0) + 1}

    def after_write(state: Report) -> str:
        return END if state["stop"] == "answer" or state["attempts"] >= at_most else "write"

    graph = StateGraph(Report)
    graph.add_node("write", write)
    graph.add_edge(START, "write")
    graph.add_conditional_edges("write", after_write, ["write", END])
    return graph.compile()


if __name__ == "__main__":
    click.echo(reporter(model()).invoke({"topic": "foxes"})["text"])
