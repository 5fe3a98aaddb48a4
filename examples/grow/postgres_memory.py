"""Conversations and effects in PostgreSQL, for agents on several machines."""

import os
from contextlib import closing
from typing import Any

from langchain_core.runnables import RunnableConfig

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.effects import PostgresJournal
from lc.sturdy.memory import postgres
from lc.sturdy.model import SturdyChatOpenAI


def turn(llm: SturdyChatOpenAI, url: str, thread: str, given: Any) -> Any:
    """One turn of a conversation that is in the database. Raises NoMemory and NoJournal."""
    with postgres(url) as memory, closing(PostgresJournal(url)) as journal:
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        return build(llm, [COUNT_WORDS], checkpointer=memory, journal=journal).invoke(given, config)


if __name__ == "__main__":
    show(turn(model(), os.environ["DATABASE_URL"], "1", question("How many words has 'the quick brown fox'?")))
