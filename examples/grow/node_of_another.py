"""The graph as a node of a larger one, behind another graph that looks something up before the model is asked."""

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.events import MODES, Event, Listener
from lc.sturdy.model import SturdyChatOpenAI
from toolbox import Tool

NOTES = {"fox": "The fox in this house is called Reinhard.", "hen": "There are six hens."}


def lookup() -> CompiledStateGraph[MessagesState]:
    """A graph of its own that adds the notes that the question touches."""

    def find(state: MessagesState) -> dict[str, Any]:
        asked = state["messages"][-1].text
        notes = [note for word, note in NOTES.items() if word in asked]
        return {"messages": [HumanMessage("Notes:\n" + "\n".join(notes))] if notes else []}

    graph = StateGraph(MessagesState)
    graph.add_node("find", find)
    graph.add_edge(START, "find")
    return graph.compile()


def larger(llm: SturdyChatOpenAI, *tools: Tool, checkpointer: Checkpointer = None) -> CompiledStateGraph[MessagesState]:
    """Look up, then answer. The checkpointer is the larger graph's: the one inside uses it too."""
    graph = StateGraph(MessagesState)
    graph.add_node("lookup", lookup())
    graph.add_node("agent", build(llm, tools or [COUNT_WORDS]))
    graph.add_edge(START, "lookup")
    graph.add_edge("lookup", "agent")
    return graph.compile(checkpointer=checkpointer)


def told(graph: CompiledStateGraph[MessagesState], given: Any, config: RunnableConfig | None = None) -> Iterator[Event]:
    """What a user sees of the run: the events from inside, as `lc.sturdy.events` gives them for a graph alone."""
    listener = Listener()
    for inside, mode, chunk in graph.stream(given, config, stream_mode=MODES, subgraphs=True):
        for event in listener.heard(mode, chunk):
            if event["type"] != "approval" or not inside:  # which comes from both
                yield event
    yield listener.stop()


if __name__ == "__main__":
    show(larger(model()).invoke(question("What is the name of the fox?")))
