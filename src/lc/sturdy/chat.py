"""A conversation at the terminal: turn by turn, with a memory from which it goes on, and a person who approves."""

import asyncio
import contextlib
import os
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot
from pydantic import SecretStr

from lc.sturdy.agent import Agent
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.events import Event, aevents
from lc.sturdy.graph import build, start
from lc.sturdy.limits import Limits, nothing
from lc.sturdy.memory import asqlite
from lc.sturdy.model import SturdyChatOpenAI
from lc.sturdy.nodes import NEVER, Approve
from lc.sturdy.review import Read, review
from lc.sturdy.terminal import Screen, accept_any_bytes, read_line
from protocol import STOP_REASONS
from toolbox.console import INTERRUPTED, exit_status, tell
from toolbox.tool import Tool

UNFINISHED = "go on with it? y(es), n(o): "


@dataclass(frozen=True)
class Settings:
    """What a chat is started with. `memory` is a file, or None for a conversation that ends with the process."""

    model: str
    base_url: str
    key: str
    system: str | None
    stream: bool
    timeout: float
    limits: Limits
    approve: Approve
    thread: str
    memory: Path | None
    debug: bool


def memory_file() -> Path:
    """Where conversations are kept if nobody says otherwise: in the user's folder for what programs remember."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The specification says so: a relative path there is to be ignored.
    folder = given if given.is_absolute() else Path.home() / ".local" / "state"
    return folder / "diptych" / "sturdy.sqlite"


def converse(settings: Settings, tools: list[Tool], prompt: str | None) -> int:
    """One turn for the prompt, or turns until the input ends; the exit status of the last.

    First, what the thread has left open is shown, and gone on with if a person wants that.
    Raises lc.sturdy.memory.NoMemory, KeyboardInterrupt during a single turn, and OSError where the answer cannot be
    written.
    """
    accept_any_bytes()
    runner = asyncio.Runner()  # never closed: it would wait for a tool that never ends
    with _agent(runner, settings, tools) as agent:
        chat = Chat(runner, agent, settings)
        if settings.memory is not None:
            chat.resume()
        if prompt is not None:
            return exit_status(chat.turn(start([HumanMessage(prompt)])))
        return chat.talk()


@contextmanager
def _agent(runner: asyncio.Runner, settings: Settings, tools: list[Tool]) -> Iterator[Agent]:
    """The graph with its memory, and with a journal of effects in the same file."""
    llm = SturdyChatOpenAI(
        base_url=settings.base_url,
        model=settings.model,
        api_key=SecretStr(settings.key),
        streaming=settings.stream,
        timeout=settings.timeout,
    )
    with contextlib.ExitStack() as stack:
        memory = asqlite(settings.memory or ":memory:")
        saver = runner.run(memory.__aenter__())
        stack.callback(lambda: runner.run(memory.__aexit__(None, None, None)))
        journal = None
        if settings.memory is not None:
            journal = stack.enter_context(contextlib.closing(SqliteJournal(settings.memory)))
        yield build(
            llm, tools, system=settings.system, limits=settings.limits, approve=settings.approve,
            journal=journal, checkpointer=saver,
        )  # fmt: skip


class Chat:
    """Turns of one thread. A turn runs in an event loop, where an interruption ends it at once and cleanly."""

    def __init__(self, runner: asyncio.Runner, agent: Agent, settings: Settings, read: Read = read_line) -> None:
        self._runner, self._agent, self._settings, self._read = runner, agent, settings, read
        self._config: RunnableConfig = {"configurable": {"thread_id": settings.thread}}
        self._screen = Screen()

    def turn(self, given: Any) -> str:
        """Run the graph to the end of the turn, and let the person decide whenever that is asked; the stop reason.

        Raises KeyboardInterrupt: the thread then has an unfinished turn, which the next one closes.
        """
        while True:
            stop, asked = self._runner.run(self._listen(given))
            if not asked:
                return stop
            given = Command(resume={event["id"]: self._decide(event["request"]) for event in asked})

    def talk(self) -> int:
        """Turn after turn until the input ends; the exit status of the last, as a shell has it."""
        status = 0
        while True:
            try:
                text = self._read("> ", "")
            except EOFError:
                return status
            except KeyboardInterrupt:
                tell("")
                continue
            try:
                if text.strip():
                    status = exit_status(self.turn(start([HumanMessage(text)])))
            except KeyboardInterrupt:
                tell("interrupted")
                status = INTERRUPTED

    def resume(self) -> None:
        """Say where the thread ended, and go on with what it has left open."""
        state = self._runner.run(self._agent.aget_state(self._config))
        name, count = self._settings.thread, len(state.values.get("messages", []))
        tell(f"[thread] {name} goes on: {count} messages" if count or state.next else f"[thread] {name} is new")
        if state.interrupts:
            tell("[thread] its last turn waits for approval")
            answers = {one.id: self._decide(one.value) for one in state.interrupts}
            self.turn(Command(resume=answers))
        elif state.next:
            tell(f"[thread] its last turn was not finished: {_told(state)}")
            if self._wanted():
                self.turn(None)
        elif (stop := state.values.get("stop") or "answer") != "answer":
            tell(f"[thread] its last turn ended: {stop}: {STOP_REASONS[stop]}")

    def _wanted(self) -> bool:
        try:
            return self._read(UNFINISHED, "").strip().lower() in ("y", "yes")
        except EOFError:
            return False

    def _decide(self, request: Any) -> Any:
        match self._settings.approve:
            case "always":
                return "approve"
            case "never":
                return {"type": "reject", "message": NEVER}
        return review(request, self._read)

    async def _listen(self, given: Any) -> tuple[str, list[Event]]:
        """Show a run; its stop reason, and the questions to a person that it ends with."""
        stop, asked = "", []
        self._screen.wait()
        try:
            async for event in self._events(given):
                self._screen.show(event)
                if event["type"] == "approval":
                    asked.append(event)
                elif event["type"] == "stop":
                    stop = event["reason"]
        finally:
            self._screen.end()
        return stop, asked

    async def _events(self, given: Any) -> AsyncIterator[Event]:
        """The events of a run, which also ends with a stop where the graph raises."""
        try:
            async for event in aevents(self._agent, given, self._config):
                yield event
        except Exception as error:  # noqa: BLE001 # whatever the graph raises ends the turn with one line
            if self._settings.debug:
                traceback.print_exc(file=sys.stderr)
            yield {"type": "error", "error": f"{type(error).__name__}: {error}"}
            yield {"type": "stop", "reason": "crash", "used": nothing()}


def _told(state: StateSnapshot) -> str:
    """The question that an unfinished turn is about, and the step that it stopped at."""
    asked = [message.text for message in state.values.get("messages", []) if isinstance(message, HumanMessage)]
    return f"{asked[-1][:100] if asked else ''!r}, stopped before {', '.join(state.next)}"
