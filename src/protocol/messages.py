"""What a conversation is made of: the messages that open it, the reply that carries the next one, and how it ends."""

import json
from collections.abc import Callable
from typing import Any

from protocol.text import read_json

Message = dict[str, Any]
"""A Chat Completions message, kept as it came: a class would drop the key that matters."""


class BadReply(ValueError):
    """A model server's answer that holds no assistant message; the text says what it holds instead."""

    stop = "bad-reply"


def opening(prompt: str, system: str | None) -> list[Message]:
    """The messages that a conversation starts with: the system text, where there is one, and the prompt."""
    first = [{"role": "system", "content": system}] if system is not None else []
    return [*first, {"role": "user", "content": prompt}]


def tool_message(call_id: Any, observation: str) -> Message:
    """The message that answers the tool call with this id."""
    return {"role": "tool", "tool_call_id": call_id, "content": observation}


def read_reply(body: bytes, parse: Callable[[str], Any] = read_json) -> tuple[Message, Any]:
    """The assistant message and the finish reason in the body of a reply: those of its first choice.

    Raises BadReply when there is none, whatever the HTTP status was: some servers report an error with 200.
    """
    try:
        reply = parse(body.decode())
    except (ValueError, RecursionError) as error:
        raise BadReply(f"the reply is not JSON: {error}") from None
    match reply:
        case {"choices": [{"message": dict() as message, **choice}, *_]}:
            return message, choice.get("finish_reason")
        case {"error": problem} if problem:
            raise BadReply(f"the reply is an error: {error_text(problem)}")
        case {"choices": choices}:
            raise BadReply(f"the reply has no message: choices is {json.dumps(choices)[:80]}")
    raise BadReply("the reply has no choices")


def error_text(problem: Any) -> str:
    """The sentence inside an error object: its `message` where it has one, else the whole of it."""
    if isinstance(problem, dict) and isinstance(problem.get("message"), str):
        return str(problem["message"])
    return problem if isinstance(problem, str) else json.dumps(problem, ensure_ascii=False)


def tool_calls(message: Message) -> list[Any]:
    """The entries of the message's `tool_calls`; none where the key is missing, null or no list."""
    match message:
        case {"tool_calls": list(calls)}:
            return calls
    return []


def ending(message: Message, finish_reason: Any) -> str:
    """The stop reason of a run that ends with this assistant message.

    It goes by what the message holds; the finish reason only tells a whole answer from a cut or withheld one,
    because servers send `stop` beside calls and `tool_calls` without any.
    """
    if tool_calls(message):
        return "unanswered-calls"
    if finish_reason == "content_filter" or message.get("refusal"):
        return "filtered"
    if finish_reason == "length":
        return "cut-off"
    return "answer" if message.get("content") else "empty-answer"
