"""What a request is to the rules of a provider: its messages, its envelope, and what the model had replied so far."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.messages import Message, tool_calls

Problem = tuple[str, str]
"""A JSON path into the request, and what is wrong there."""


@dataclass(frozen=True)
class Sent:
    """One request as the checks see it.

    What stands before `messages[start]` was checked already; `start` must not stand between an assistant message
    with tool calls and their results. `envelope` is the body without its messages; empty where it is not to be
    looked at. `heard` are the model's replies so far, in order, each as the message that came.
    """

    messages: list[Any]
    start: int = 0
    envelope: dict[str, Any] | None = None
    heard: Sequence[Message] = ()


def objects(sent: Sent) -> Iterator[tuple[str, Message]]:
    """The path and the message, for each message from `start` on that is an object."""
    for index, message in enumerate(sent.messages[sent.start :], sent.start):
        if isinstance(message, dict):
            yield f"messages[{index}]", message


def calls(sent: Sent) -> Iterator[tuple[str, Message]]:
    """The path and the call, for each tool call in these messages that is an object."""
    for path, message in objects(sent):
        for number, call in enumerate(tool_calls(message)):
            if isinstance(call, dict):
                yield f"{path}.tool_calls[{number}]", call


def functions(sent: Sent) -> Iterator[tuple[str, dict[str, Any]]]:
    """The path and the function, for each entry of the envelope's `tools` that has one."""
    tools = (sent.envelope or {}).get("tools")
    for number, tool in enumerate(tools if isinstance(tools, list) else []):
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            yield f"tools[{number}].function", tool["function"]


def replies(sent: Sent) -> list[tuple[str, Message, Message]]:
    """The path of each assistant message with calls from `start` on, the message, and the reply that it was.

    A message is taken for the reply that shares the id of a call with it. Both are walked from the end, where what
    is new stands, so that an id that a model uses again belongs to the reply of its own turn.
    """
    found = []
    place = len(sent.heard)
    for path, message in reversed(list(objects(sent))):
        asked = ids(message)
        for number in range(place - 1, -1, -1) if asked else ():
            if asked & ids(sent.heard[number]):
                found.append((path, message, sent.heard[number]))
                place = number
                break
    return found[::-1]


def ids(message: Message) -> set[str]:
    """The ids of a message's tool calls, as far as they are text that says something."""
    entries = (call.get("id") for call in tool_calls(message) if isinstance(call, dict))
    return {call_id for call_id in entries if isinstance(call_id, str) and call_id}
