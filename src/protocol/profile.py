"""What a provider demands of a request: rules with their sources, and the check of a request against them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from protocol.messages import Message, tool_calls

Problem = tuple[str, str]
"""A JSON path into the request, and what is wrong there."""


@dataclass(frozen=True)
class Rule:
    """One demand of a provider: what it is, how a breach is answered, and where that is known from.

    `check(messages, start)` yields the problems at `messages[start:]`; what stands before has been checked already.
    """

    id: str
    provider: str
    demands: str
    status: int
    source: str
    check: Callable[[list[Any], int], Iterator[Problem]]


@dataclass(frozen=True)
class Breach:
    """One place where a request breaks a rule."""

    rule: Rule
    path: str
    text: str


def check(messages: list[Any], rules: tuple[Rule, ...], start: int = 0) -> list[Breach]:
    """All breaches of the rules in a request's messages, from index `start` on, in the order of the rules.

    `start` may be behind the first message when a request goes on from one that was checked before; it must not
    stand between an assistant message with tool calls and their results.
    """
    return [Breach(rule, path, text) for rule in rules for path, text in rule.check(messages, start)]


ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def roles(messages: list[Any], start: int) -> Iterator[Problem]:
    """Each message is an object with one of the known roles."""
    for index, message in enumerate(messages[start:], start):
        if not isinstance(message, dict):
            yield f"messages[{index}]", "not an object"
        elif not isinstance(message.get("role"), str) or message["role"] not in ROLES:
            yield f"messages[{index}].role", f"{message.get('role')!r} is no role"


def contents(messages: list[Any], start: int) -> Iterator[Problem]:
    """Content is a string or a list of parts; only an assistant message with calls may leave it out."""
    for index, message in enumerate(messages[start:], start):
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        open_ended = message.get("role") == "assistant" and (tool_calls(message) or message.get("refusal"))
        if content is None and not open_ended:
            yield f"messages[{index}].content", "null or missing, and no tool calls beside it"
        elif content is not None and not isinstance(content, str | list):
            yield (
                f"messages[{index}].content",
                f"{type(content).__name__} is neither text nor a list of parts",
            )
        elif content == []:
            yield f"messages[{index}].content", "an empty list"


def call_shapes(messages: list[Any], start: int) -> Iterator[Problem]:
    """Each tool call has a text id, type function, and a function with a name and arguments as text."""
    for index, message in enumerate(messages[start:], start):
        for number, call in enumerate(tool_calls(message) if isinstance(message, dict) else []):
            path = f"messages[{index}].tool_calls[{number}]"
            if not isinstance(call, dict):
                yield path, "not an object"
                continue
            if not (isinstance(call.get("id"), str) and call["id"]):
                yield f"{path}.id", f"{call.get('id')!r} is no id"
            if call.get("type") == "custom":
                continue
            if call.get("type") != "function":
                yield f"{path}.type", f"{call.get('type')!r} is no type of call"
            yield from _function(call.get("function"), f"{path}.function")


def _function(function: Any, path: str) -> Iterator[Problem]:
    if not isinstance(function, dict):
        yield path, "missing"
        return
    name, arguments = function.get("name"), function.get("arguments")
    if not (isinstance(name, str) and TOOL_NAME.fullmatch(name)):
        yield f"{path}.name", f"{name!r} does not match {TOOL_NAME.pattern}"
    if not isinstance(arguments, str):
        yield f"{path}.arguments", f"{type(arguments).__name__} where text is wanted"


def no_empty_calls(messages: list[Any], start: int) -> Iterator[Problem]:
    """A `tool_calls` key holds at least one call."""
    for index, message in enumerate(messages[start:], start):
        if isinstance(message, dict) and "tool_calls" in message and not tool_calls(message):
            yield f"messages[{index}].tool_calls", "there, and without a call"


def every_call_answered(messages: list[Any], start: int) -> Iterator[Problem]:
    """Directly behind an assistant message with calls stand tool messages, one for each id."""
    for index, message in enumerate(messages[start:], start):
        if not isinstance(message, dict) or not (calls := tool_calls(message)):
            continue
        answers = _answers_behind(messages, index)
        for number, call in enumerate(calls):
            call_id = call.get("id") if isinstance(call, dict) else None
            if (count := answers.count(call_id)) != 1:
                times = "not answered" if count == 0 else f"answered {count} times"
                yield f"messages[{index}].tool_calls[{number}]", f"{call_id!r} is {times} directly behind"


def no_orphans(messages: list[Any], start: int) -> Iterator[Problem]:
    """A tool message answers a call of the assistant message that it stands behind."""
    asked: list[Any] = []
    for index, message in enumerate(messages[start:], start):
        if not isinstance(message, dict):
            continue
        if message.get("role") != "tool":
            asked = [call.get("id") for call in tool_calls(message) if isinstance(call, dict)]
        elif message.get("tool_call_id") not in asked:
            yield (
                f"messages[{index}]",
                f"no call {message.get('tool_call_id')!r} in the assistant message before",
            )


def _answers_behind(messages: list[Any], index: int) -> list[Any]:
    answers = []
    for message in messages[index + 1 :]:
        if not isinstance(message, dict) or message.get("role") != "tool":
            break
        answers.append(message.get("tool_call_id"))
    return answers


def last_turn(messages: list[Message]) -> int:
    """The index to start a check of what came last at: the last assistant message, or 0."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], dict) and messages[index].get("role") == "assistant":
            return index
    return 0


_REFERENCE = "OpenAI API reference, Create chat completion: messages"

OPENAI = (
    Rule("known-roles", "openai", "every message has a known role", 400, _REFERENCE, roles),
    Rule(
        "content-type",
        "openai",
        "content is text or parts, null only beside calls",
        400,
        _REFERENCE,
        contents,
    ),
    Rule(
        "call-shape",
        "openai",
        "a tool call has id, type, name and arguments as text",
        400,
        _REFERENCE,
        call_shapes,
    ),
    Rule(
        "no-empty-tool-calls",
        "openai",
        "tool_calls holds at least one call",
        400,
        "openai/openai-node#1341",
        no_empty_calls,
    ),
    Rule(
        "every-call-answered",
        "openai",
        "every tool call id is answered by exactly one tool message, directly behind",
        400,
        "LangChain docs, INVALID_TOOL_RESULTS; agno-agi/agno#3105",
        every_call_answered,
    ),
    Rule(
        "no-orphan-result",
        "openai",
        "a tool message answers a call of the assistant message before it",
        400,
        "langchain-ai/langchain#33245",
        no_orphans,
    ),
)
"""What OpenAI's own endpoint refuses."""
