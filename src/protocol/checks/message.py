"""The checks on each message for itself: its role, its content, the shape of its calls and their ids."""

import re
from collections.abc import Iterator
from typing import Any

from protocol.checks.sent import Problem, Sent, calls, objects
from protocol.messages import tool_calls
from protocol.text import is_json


def known_roles(sent: Sent, roles: list[str]) -> Iterator[Problem]:
    """Each message is an object, and its role is one of `roles`."""
    for index, message in enumerate(sent.messages[sent.start :], sent.start):
        if not isinstance(message, dict):
            yield f"messages[{index}]", "not an object"
        elif not isinstance(message.get("role"), str) or message["role"] not in roles:
            yield f"messages[{index}].role", f"{message.get('role')!r} is no role"


def content_types(sent: Sent, types: list[str]) -> Iterator[Problem]:
    """Content is of one of the `types`: "text", "parts" (a list with something in it), "null".

    Null counts as missing, and is always let pass in an assistant message with calls or a refusal.
    """
    for path, message in objects(sent):
        content = message.get("content")
        free = message.get("role") == "assistant" and (tool_calls(message) or message.get("refusal"))
        if content is None:
            if "null" not in types and not free:
                yield f"{path}.content", "null or missing, and no tool calls beside it"
        elif content == []:
            yield f"{path}.content", "an empty list"
        elif _kind(content) not in types:
            yield f"{path}.content", f"{type(content).__name__} where {' or '.join(types)} is wanted"


def _kind(content: Any) -> str:
    return "text" if isinstance(content, str) else "parts" if isinstance(content, list) else "something else"


def no_empty_text(sent: Sent) -> Iterator[Problem]:
    """No content, and no part of one, is an empty text."""
    for path, message in objects(sent):
        content = message.get("content")
        if content == "":
            yield f"{path}.content", "an empty text"
        for number, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and part.get("text") == "":
                yield f"{path}.content[{number}].text", "an empty text"


def content_or_calls(sent: Sent) -> Iterator[Problem]:
    """An assistant message has content that says something, or calls."""
    for path, message in objects(sent):
        if message.get("role") == "assistant" and not message.get("content") and not tool_calls(message):
            yield f"{path}.content", "no content, and no tool calls beside it"


def key_in_role(sent: Sent, role: str, key: str) -> Iterator[Problem]:
    """Each message of this role has a text that is not empty under the key."""
    for path, message in objects(sent):
        if message.get("role") == role and not (isinstance(message.get(key), str) and message[key]):
            yield f"{path}.{key}", "missing" if key not in message else f"{message[key]!r} is no text"


def list_not_empty(sent: Sent, key: str) -> Iterator[Problem]:
    """Where a message has the key, a list with something in it stands there."""
    for path, message in objects(sent):
        if key in message and not (isinstance(message[key], list) and message[key]):
            yield f"{path}.{key}", "there, and without an entry"


def call_shapes(sent: Sent, pattern: str) -> Iterator[Problem]:
    """Each tool call has a text id, a type, and a function with arguments as text and a name like `pattern`."""
    for path, message in objects(sent):
        for number, call in enumerate(tool_calls(message)):
            yield from _shape(call, f"{path}.tool_calls[{number}]", pattern)


def _shape(call: Any, path: str, pattern: str) -> Iterator[Problem]:
    if not isinstance(call, dict):
        yield path, "not an object"
        return
    if not (isinstance(call.get("id"), str) and call["id"]):
        yield f"{path}.id", f"{call.get('id')!r} is no id"
    if call.get("type") == "custom":
        return
    if call.get("type") != "function":
        yield f"{path}.type", f"{call.get('type')!r} is no type of call"
    function = call.get("function")
    if not isinstance(function, dict):
        yield f"{path}.function", "missing"
        return
    name, arguments = function.get("name"), function.get("arguments")
    if not (isinstance(name, str) and re.fullmatch(pattern, name)):
        yield f"{path}.function.name", f"{name!r} does not match {pattern}"
    if not isinstance(arguments, str):
        yield f"{path}.function.arguments", f"{type(arguments).__name__} where text is wanted"


def ids_match(sent: Sent, pattern: str = "", max_length: int = 0) -> Iterator[Problem]:
    """The ids of calls, and those in tool messages, are texts like `pattern` and not longer than `max_length`."""
    for path, call_id in _ids(sent):
        if pattern and not (isinstance(call_id, str) and re.fullmatch(pattern, call_id)):
            yield path, f"{call_id!r} does not match {pattern}"
        elif max_length and isinstance(call_id, str) and len(call_id) > max_length:
            yield path, f"{len(call_id)} characters"


def ids_not_null(sent: Sent) -> Iterator[Problem]:
    """The ids of calls, and those in tool messages, are not null. One that is missing passes."""
    yield from ((path, "null") for path, call_id in _ids(sent, missing="") if call_id is None)


def _ids(sent: Sent, missing: Any = None) -> Iterator[tuple[str, Any]]:
    for path, message in objects(sent):
        for number, call in enumerate(tool_calls(message)):
            if isinstance(call, dict):
                yield f"{path}.tool_calls[{number}].id", call.get("id", missing)
        if message.get("role") == "tool":
            yield f"{path}.tool_call_id", message.get("tool_call_id", missing)


def arguments_parse(sent: Sent) -> Iterator[Problem]:
    """The arguments of each call that are text are JSON."""
    for path, call in calls(sent):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str) and not is_json(arguments):
            yield f"{path}.function.arguments", "no JSON"
