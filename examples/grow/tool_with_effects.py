"""Tools that change something: each call waits for a person, and happens at most once."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.effects import Journal, SqliteJournal
from lc.sturdy.memory import sqlite
from lc.sturdy.model import SturdyChatOpenAI
from lc.sturdy.review import review
from toolbox import Tool

ROOM = {
    "type": "object",
    "properties": {"room": {"type": "string"}, "hour": {"type": "integer", "minimum": 0, "maximum": 23}},
    "required": ["room", "hour"],
    "additionalProperties": False,
}


def agent(
    llm: SturdyChatOpenAI, bookings: Path, checkpointer: BaseCheckpointSaver[Any], journal: Journal | None = None
) -> Agent:
    """The graph with two tools that write lines into the file: one of the toolbox's, one of LangChain's."""

    def book_room(room: str, hour: int) -> str:
        with bookings.open("a", encoding="utf-8") as file:
            file.write(f"{room} at {hour}\n")
        return "booked"

    def order_cake(kind: str) -> str:
        """Order a cake for the meeting."""
        with bookings.open("a", encoding="utf-8") as file:
            file.write(f"a {kind} cake\n")
        return "ordered"

    tools: list[Tool | BaseTool] = [
        Tool("book_room", "Book a room for an hour of today.", ROOM, book_room, effects=True),
        StructuredTool.from_function(order_cake, metadata={"effects": True}),
    ]
    return build(llm, tools, checkpointer=checkpointer, journal=journal)


def turn(agent: Agent, given: Any, config: RunnableConfig, decide: Callable[[Any], Any]) -> Any:
    """One turn: whenever the graph asks, `decide` gets the request and returns the decisions."""
    end = agent.invoke(given, config)
    while "__interrupt__" in end:
        answers = {asked.id: decide(asked.value) for asked in end["__interrupt__"]}
        end = agent.invoke(Command(resume=answers), config)
    return end


if __name__ == "__main__":
    with sqlite("bookings.sqlite") as memory, closing(SqliteJournal("bookings.sqlite")) as journal:
        booking = agent(model(), Path("bookings.txt"), memory, journal)
        thread: RunnableConfig = {"configurable": {"thread_id": "today"}}
        show(
            turn(
                booking,
                question("Book the green room at 14."),
                thread,
                lambda request: review(request, lambda prompt, _: input(prompt)),
            )
        )
