"""Whether a tool message tells the model that its own call failed, in whatever words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.calls import function_of, parsed, ran_with
from compare.results import envelope
from compare.runner import Execution
from protocol import tool_calls

WORDS = re.compile(r"error|invalid|fail|exception|not|unknown|denied|refused", re.IGNORECASE)
"""One of these stands in every failure that a framework tells in words of its own."""


@dataclass(frozen=True)
class Asked:
    """One request to the model: its envelope, its messages, and the uses of tools that the lane had made by then.

    `executions` is None for a lane whose tools ran where nobody saw them.
    """

    envelope: dict[str, Any]
    messages: list[Any]
    executions: Sequence[Execution] | None = None


def failed_at(asked: Asked, index: int) -> bool:
    """Whether the tool message at this index tells the failure of its call: by its own word, or by what the tools did.

    A text that is no observation must have the words of a failure, and its call must have raised or never run. What
    names the failure of a sibling, and not its own, is another thing: two failures were swapped.
    """
    message = asked.messages[index]
    content = message.get("content")
    observation = envelope(content)
    calls = calls_before(asked.messages, index)
    own = [call for call in calls if call.get("id") == message.get("tool_call_id")]
    if observation is not None:
        told = observation["ok"] is False
    else:
        raised = asked.executions is not None and all(use.error for call in own for use in uses_of(asked, call))
        told = raised and isinstance(content, str) and WORDS.search(content) is not None
    return told and not of_a_sibling(asked, str(content), own, [call for call in calls if call not in own])


def calls_before(messages: Sequence[Any], index: int) -> list[dict[str, Any]]:
    """The calls that the tool message at this index may answer: those of the last assistant message before it."""
    for message in reversed(messages[:index]):
        if isinstance(message, dict) and message.get("role") == "assistant":
            return [call for call in tool_calls(message) if isinstance(call, dict)]
    return []


def uses_of(asked: Asked, call: dict[str, Any]) -> list[Execution]:
    """What came of a call, as far as anybody saw it."""
    function = function_of(call)
    arguments = parsed(function.get("arguments"))
    return [use for use in asked.executions or () if use.name == function.get("name") and ran_with(use, arguments)]


def of_a_sibling(asked: Asked, content: str, own: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> bool:
    """Whether the content has what only a sibling's failure would name, and nothing of its own call's."""
    mine = {mark for call in own for mark in marks_of(asked, call)}
    theirs = {mark for call in others for mark in marks_of(asked, call)} - mine
    return any(mark in content for mark in theirs) and not any(mark in content for mark in mine)


def marks_of(asked: Asked, call: dict[str, Any]) -> set[str]:
    """What the failure of a call is known by: the text of what it raised, or the name of a tool that never ran."""
    uses = uses_of(asked, call)
    name = function_of(call).get("name")
    texts = {str(use.error) for use in uses if use.error} if uses else {name if isinstance(name, str) else ""}
    return texts - {""}
