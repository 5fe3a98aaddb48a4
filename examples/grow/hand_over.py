"""Two agents of one conversation: the first hands it over to the second by calling a tool."""

from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Checkpointer, Command

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.model import SturdyChatOpenAI


@tool
def to_the_writer(
    state: Annotated[dict[str, Any], InjectedState], call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    """Hand the conversation over to the writer."""
    # A graph that is left gives nothing back, so all messages go along; those that are known are not added twice.
    answer = ToolMessage("the writer goes on", tool_call_id=call_id)
    return Command(graph=Command.PARENT, goto="writer", update={"messages": [*state["messages"], answer]})


def pair(llm: SturdyChatOpenAI, checkpointer: Checkpointer = None) -> CompiledStateGraph[MessagesState]:
    """Every turn begins at the desk. Each agent puts its own system text in front; neither is stored."""
    graph = StateGraph(MessagesState)
    desk = build(llm, [COUNT_WORDS, to_the_writer], system="You are the desk. The writer writes texts.")
    graph.add_node("desk", desk, destinations=("writer",))
    graph.add_node("writer", build(llm, [COUNT_WORDS], system="You are the writer."))
    graph.add_edge(START, "desk")
    return graph.compile(checkpointer=checkpointer)


if __name__ == "__main__":
    show(pair(model()).invoke(question("Write a line about the fox.")))
