"""What must not go back as it came: the few repairs of an assistant message that providers would refuse."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from protocol.messages import Message
from protocol.text import is_json

REPAIRS = {
    "missing-role": "a message without a role is sent back as an assistant message",
    "empty-tool-calls": "an empty tool_calls list is left out: OpenAI and DeepSeek refuse it",
    "null-content": "content that is null or missing beside no calls is sent back as an empty string",
    "made-up-id": "a tool call without an id gets one, used for the call and for its result",
    "repeated-id": "a tool call with the id of one before it in the message gets one of its own, for the same use",
    "missing-type": "a tool call without a type that is known is sent back as a function call",
    "missing-name": "a tool call without a name is sent back as a call of unnamed: OpenAI refuses an empty name",
    "unparsable-arguments": "arguments that are no JSON are sent back as {}: vLLM and llama.cpp refuse later turns",
    "arguments-as-object": "arguments that are an object are sent back as the JSON text the protocol asks for",
}
"""The names of the repairs, each with the sentence that a report prints for it."""


UNNAMED = "unnamed"
"""The name of a call that came without one."""

TYPES = ("function", "custom")
"""The types of tool calls that Chat Completions has."""


def made_up_ids() -> Iterator[str]:
    """Ids for tool calls that came without one, unlike any that a provider gives."""
    return (f"made_up_{number}" for number in itertools.count(1))


def sendable(message: Message, ids: Iterator[str]) -> Message:
    """The message as it may be sent back: itself where nothing needs a repair, else a repaired copy.

    The message that came is never changed. `ids` gives an id to each call that has none.
    """
    match message:
        case {"role": str(), "tool_calls": [_, *_] as calls}:
            taken: set[str] = set()
            sent = [_sendable_call(call, ids, taken) for call in calls]
            return message if sent == calls else {**message, "tool_calls": sent}
        case {"role": str(), "content": content} if content is not None and "tool_calls" not in message:
            return message
        case {"role": str()}:
            without_calls = {key: value for key, value in message.items() if key != "tool_calls"}
            return {**without_calls, "content": "" if message.get("content") is None else message["content"]}
    return sendable({**message, "role": "assistant"}, ids)


def _sendable_call(call: Any, ids: Iterator[str], taken: set[str]) -> Any:
    """The call as it may be sent back. `taken` holds the ids of the calls before it, and gets its own."""
    match call:
        case {"id": str(known), "type": "function", "function": {"name": str(name), "arguments": str(text)}}:
            if known and known not in taken and name and is_json(text):
                taken.add(known)
                return call
        case dict():
            pass  # what it lacks is filled in below
        case _:
            call = {"function": {"name": json.dumps(call), "arguments": "{}"}}
    repaired = dict(call)
    if not (isinstance(call.get("id"), str) and call["id"] and call["id"] not in taken):
        repaired["id"] = next(ids)
    taken.add(repaired["id"])
    if call.get("type") not in TYPES:
        repaired["type"] = "function"
    if repaired["type"] == "function":
        function = call.get("function")
        repaired["function"] = _sendable_function(function if isinstance(function, dict) else {})
    return repaired


def _sendable_function(function: dict[str, Any]) -> dict[str, Any]:
    repaired = dict(function)
    name, arguments = function.get("name"), function.get("arguments")
    if not (isinstance(name, str) and name):
        repaired["name"] = UNNAMED
    if isinstance(arguments, dict):
        repaired["arguments"] = json.dumps(arguments, ensure_ascii=False)
    elif not isinstance(arguments, str) or not is_json(arguments):
        repaired["arguments"] = "{}"
    return repaired
