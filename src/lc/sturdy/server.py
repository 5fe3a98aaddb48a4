"""The graph for LangGraph's own server, which brings the memory: `langgraph dev` finds it by langgraph.json."""

import asyncio
import os
from functools import cache
from typing import Any

from pydantic import SecretStr

from lc.sturdy.agent import Agent
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.graph import build
from lc.sturdy.model import SturdyChatOpenAI
from toolbox.standard import standard_tools


async def graph() -> Agent:
    """The graph as the environment describes it; one for the whole process.

    OPENAI_API_KEY, OPENAI_MODEL and OPENAI_BASE_URL say which model; DIPTYCH_ROOT is the folder of the file tools, by
    default the one where the server was started. With DIPTYCH_JOURNAL, a SQLite file in which effects are entered
    (`lc.sturdy.effects`), the tool that writes files is offered too. Every call of it waits for a person.

    Raises KeyError for a setting that is missing, OSError for a folder that cannot be read, and NoJournal.
    """
    return await asyncio.to_thread(_graph)  # it looks at files, which the server does not allow in its event loop


@cache
def _graph() -> Agent:
    journal = os.environ.get("DIPTYCH_JOURNAL")
    settings: dict[str, Any] = {"base_url": os.environ["OPENAI_BASE_URL"]} if "OPENAI_BASE_URL" in os.environ else {}
    llm = SturdyChatOpenAI(
        model=os.environ["OPENAI_MODEL"], api_key=SecretStr(os.environ["OPENAI_API_KEY"]), **settings
    )
    tools = standard_tools(os.environ.get("DIPTYCH_ROOT", "."), write=bool(journal))
    return build(llm, tools, journal=SqliteJournal(journal) if journal else None)
