"""`python -m tests.killed URL MEMORY EFFECTS MOMENT`: a turn with an effect, whose process kills itself at a moment."""

import os
import signal
import sys
from typing import Any

from pydantic import SecretStr

from lc.sturdy import build
from lc.sturdy.effects import Key, SqliteJournal
from lc.sturdy.memory import sqlite
from lc.sturdy.model import SturdyChatOpenAI
from toolbox import Tool

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def main(url: str, memory: str, effects: str, moment: str) -> None:
    """Ask the model behind the URL, which must call the tool `effect`."""

    def die(now: str) -> None:
        if now == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    class Watched(SqliteJournal):
        def _end(self, key: Key, observation: str) -> None:
            die("before-it-is-noted")
            super()._end(key, observation)
            die("before-the-checkpoint")

    def effect(text: str) -> str:
        with open(effects, "a") as file:
            file.write(f"{text}\n")
        die("in-the-effect")
        return "written"

    given: Any = {"messages": [("user", "go")]}
    llm = SturdyChatOpenAI(base_url=url, model="m", api_key=SecretStr("k"), max_retries=0)
    with sqlite(memory) as checkpointer:
        tools = [Tool("effect", "Write.", SCHEMA, effect, effects=True)]
        graph = build(llm, tools, approve="always", journal=Watched(memory), checkpointer=checkpointer)
        graph.invoke(given, {"configurable": {"thread_id": "t"}})


if __name__ == "__main__":
    main(*sys.argv[1:])
