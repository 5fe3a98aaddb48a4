"""The graph as a node of a larger one, behind another graph that looks something up before the model is asked."""

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.model import SturdyChatOpenAI

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


def larger(llm: SturdyChatOpenAI, checkpointer: Checkpointer = None) -> CompiledStateGraph[MessagesState]:
    """Look up, then answer. The checkpointer is the larger graph's: the one inside uses it too."""
    graph = StateGraph(MessagesState)
    graph.add_node("lookup", lookup())
    graph.add_node("agent", build(llm, [COUNT_WORDS]))
    graph.add_edge(START, "lookup")
    graph.add_edge("lookup", "agent")
    return graph.compile(checkpointer=checkpointer)


if __name__ == "__main__":
    show(larger(model()).invoke(question("What is the name of the fox?")))
