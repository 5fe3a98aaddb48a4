"""What a user sees of a run while it goes on: a few kinds of events, each a plain dict, in order.

| type           | with                              | when                                                    |
|----------------|-----------------------------------|---------------------------------------------------------|
| `token`        | text                              | the model says the next piece of its text               |
| `message`      | text, calls                       | its message is whole, with so many tool calls           |
| `tool-start`   | id, name, arguments (JSON text)   | a tool begins to work                                   |
| `tool-end`     | id, name, result, seconds         | it is done                                              |
| `tool-refused` | id, name, arguments, result       | a call is answered without being run                    |
| `retry`        | attempt, seconds, error           | a request failed, and is sent again in so many seconds  |
| `error`        | error                             | a request failed for good                               |
| `approval`     | id, request (see lc.sturdy.approval) | a person is asked                                    |
| `stop`         | reason, used                      | the run is over: always the last, and always there      |
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig

from lc.sturdy.agent import Agent
from lc.sturdy.limits import nothing

Event = dict[str, Any]

MODES: list[Literal["messages", "custom", "updates"]] = ["messages", "custom", "updates"]
"""The `stream_mode` of what is listened to."""

TOLD = {"tool-start", "tool-end", "tool-refused", "retry", "error"}
"""The events that the nodes write themselves. What else a tool writes is its own."""


def events(agent: Agent, given: Any, config: RunnableConfig | None = None) -> Iterator[Event]:
    """Run the graph, and give what happens as it happens.

    `given` is what the graph takes: `{"messages": [...]}`, `Command(resume=...)`, or None to go on with a run that was
    not finished. Raises what the graph raises; there is no `stop` then.
    """
    listener = Listener()
    for mode, chunk in agent.stream(given, config, stream_mode=MODES):
        yield from listener.heard(mode, chunk)
    yield listener.stop()


async def aevents(agent: Agent, given: Any, config: RunnableConfig | None = None) -> AsyncIterator[Event]:
    """As `events`, in an event loop."""
    listener = Listener()
    async for mode, chunk in agent.astream(given, config, stream_mode=MODES):
        for event in listener.heard(mode, chunk):
            yield event
    yield listener.stop()


class Listener:
    """Translates what LangGraph streams of one run, whoever reads the stream."""

    def __init__(self) -> None:
        self._reason, self._used = "", nothing()

    def heard(self, mode: str, chunk: Any) -> Iterator[Event]:
        """The events that are in a chunk of this stream mode."""
        match mode, chunk:
            case "messages", (AIMessage() | AIMessageChunk() as message, {"langgraph_node": "model"}):
                if message.text:
                    yield {"type": "token", "text": message.text}
            case "custom", {"type": kind} if kind in TOLD:
                yield dict(chunk)
            case "updates", {"__interrupt__": interrupts}:
                self._reason = "awaiting-approval"
                for one in interrupts:
                    yield {"type": "approval", "id": one.id, "request": one.value}
            case "updates", dict():
                for node, update in chunk.items():
                    yield from self._updated(node, update)

    def stop(self) -> Event:
        """The last event, when the stream is over."""
        return {"type": "stop", "reason": self._reason, "used": self._used}

    def _updated(self, node: str, update: Any) -> Iterator[Event]:
        for one in update if isinstance(update, list) else [update]:
            if isinstance(one, dict):
                self._reason, self._used = one.get("stop", self._reason), one.get("used", self._used)
                if node == "model":
                    for message in one.get("messages", []):
                        yield {"type": "message", "text": message.text, "calls": len(message.tool_calls)}
