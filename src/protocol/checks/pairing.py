"""The checks on messages that belong together: calls with their results, and what is sent back with what was said."""

from collections.abc import Iterator
from typing import Any

from protocol.checks.sent import Problem, Sent, objects, replies
from protocol.messages import tool_calls


def calls_answered(sent: Sent) -> Iterator[Problem]:
    """Directly behind an assistant message with calls stand tool messages, one for each id."""
    for index, message in enumerate(sent.messages[sent.start :], sent.start):
        if not isinstance(message, dict) or not (asked := tool_calls(message)):
            continue
        answers = _answers_behind(sent.messages, index)
        for number, call in enumerate(asked):
            call_id = call.get("id") if isinstance(call, dict) else None
            if (count := answers.count(call_id)) != 1:
                times = "not answered" if count == 0 else f"answered {count} times"
                yield f"messages[{index}].tool_calls[{number}]", f"{call_id!r} is {times} directly behind"


def _answers_behind(messages: list[Any], index: int) -> list[Any]:
    answers = []
    for message in messages[index + 1 :]:
        if not isinstance(message, dict) or message.get("role") != "tool":
            break
        answers.append(message.get("tool_call_id"))
    return answers


def last_calls_answered(sent: Sent) -> Iterator[Problem]:
    """The last message is not one with calls, which nothing answers then."""
    last = sent.messages[-1] if sent.messages else None
    if isinstance(last, dict) and tool_calls(last):
        yield f"messages[{len(sent.messages) - 1}].tool_calls", "the last message, and so not answered"


def results_asked(sent: Sent) -> Iterator[Problem]:
    """A tool message answers a call of the assistant message that it stands behind."""
    asked: list[Any] = []
    for path, message in objects(sent):
        if message.get("role") != "tool":
            asked = [call.get("id") for call in tool_calls(message) if isinstance(call, dict)]
        elif message.get("tool_call_id") not in asked:
            yield path, f"no call {message.get('tool_call_id')!r} in the assistant message before"


def message_key_comes_back(sent: Sent, key: str) -> Iterator[Problem]:
    """What the model's reply had under the key stands in the assistant message with its calls, not null."""
    for path, message, reply in replies(sent):
        if reply.get(key) and message.get(key) is None:
            yield f"{path}.{key}", "missing, and the model's reply had it"


def call_key_comes_back(sent: Sent, key: str) -> Iterator[Problem]:
    """What a call of the model's reply had under the key (`a.b.c`: c in b in a) stands in the call with its id."""
    for path, message, reply in replies(sent):
        known = {call["id"]: call for call in tool_calls(reply) if _has_id(call)}
        for number, call in enumerate(tool_calls(message)):
            came = _inside(known.get(call["id"]), key) if _has_id(call) else None
            if came and _inside(call, key) is None:
                yield f"{path}.tool_calls[{number}].{key}", "missing, and the model's call had it"


def _has_id(call: Any) -> bool:
    return isinstance(call, dict) and isinstance(call.get("id"), str)


def _inside(value: Any, key: str) -> Any:
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
