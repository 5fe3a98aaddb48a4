"""How the model's messages stay what they were: their JSON text travels in LangChain's, and goes back from there."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.messages.ai import UsageMetadata

from protocol import Message, encodable, encode_json, made_up_ids, reader, sendable, tool_calls, tool_message

SENT = "wire"
"""The key in `additional_kwargs` of the JSON text of an assistant message, as it goes back to the model."""
CAME = "came"
"""The key of the JSON text as it came, where a repair of `protocol.REPAIRS` made another of it."""

PARTS = ("text", "image_url", "input_audio")
"""The types of parts that a user's content may have."""

BEYOND_MSGPACK = 2**63
DEEPEST = 100
"""Levels of a value that any checkpointer can store; LangGraph's own give up at about 255."""


@dataclass(frozen=True)
class Turn:
    """What the model server gave for one request: the message as it came, and what stood beside it.

    `whole` is False for a stream that just ended; `deviations` are words of `protocol.DEVIATIONS`.
    """

    message: Message
    finish_reason: Any
    usage: Any
    whole: bool = True
    deviations: tuple[str, ...] = ()


def received(turn: Turn, history: Sequence[BaseMessage], model: str) -> dict[str, Any]:
    """The fields of the AIMessage (or its chunk) that keeps this turn behind the history.

    `tool_calls` lists every call of the message, in order, for LangChain to look at: with `{}` where the arguments
    are no JSON object. The text at SENT is what counts. The server's message id is not taken over: one that is always
    the same would overwrite the history.
    """
    sent = sendable(turn.message, _fresh_ids(turn.message, history))
    kept = {SENT: encode_json(sent).decode()}
    if sent is not turn.message:
        kept[CAME] = encode_json(turn.message).decode()
    return {
        "content": _shown(turn.message.get("content")),
        "additional_kwargs": kept,
        "tool_calls": [_listed(call) for call in tool_calls(sent)],
        "usage_metadata": _usage(turn.usage),
        "response_metadata": {
            "finish_reason": turn.finish_reason if isinstance(turn.finish_reason, str) else None,
            "whole": turn.whole,
            "deviations": list(turn.deviations),
            "model_name": model,
        },
    }


def sent_message(message: BaseMessage) -> Message:
    """The message as a Chat Completions dict, as it goes to the model."""
    text = message.additional_kwargs.get(SENT)
    if text is not None:
        return dict(_read(text))
    match message:
        case ToolMessage(content=str(content), tool_call_id=call_id):
            return tool_message(call_id, content)
        case HumanMessage(content=str(content), name=None):
            return {"role": "user", "content": content}
        case SystemMessage(content=str(content), name=None):
            return {"role": _system_role(message), "content": content}
        case HumanMessage(content=list(parts), name=None) if all(map(_is_part, parts)):
            return {"role": "user", "content": parts}
        case SystemMessage(content=list(parts), name=None) if all(map(_is_part, parts)):
            return {"role": _system_role(message), "content": parts}
        case AIMessage():
            return _of_others(message)
    (converted,) = convert_to_openai_messages([message])
    return {**converted, "role": _system_role(message)} if isinstance(message, SystemMessage) else dict(converted)


def came_message(message: AIMessage) -> Message:
    """The assistant message as the model sent it, before any repair."""
    kept = message.additional_kwargs
    if CAME in kept:
        return dict(_read(kept[CAME]))
    return sent_message(message) if SENT in kept else _converted(message)


def encoded(messages: Sequence[AnyMessage | BaseMessage]) -> bytes:
    """The JSON array of the messages, as a request carries it: the model's own go in as the text they came in."""
    return b"[%b]" % b",".join(map(_encoded_one, messages))


def _encoded_one(message: BaseMessage) -> bytes:
    text = message.additional_kwargs.get(SENT)
    return text.encode() if text is not None else encode_json(sent_message(message))


def _fresh_ids(message: Message, history: Sequence[BaseMessage]) -> Iterator[str]:
    """Ids for calls that came without one; the history is looked through only when the first is needed."""
    taken = {call["id"] for one in history if isinstance(one, AIMessage) for call in one.tool_calls}
    own = [call.get("id") for call in tool_calls(message) if isinstance(call, dict)]
    yield from (one for one in made_up_ids() if one not in taken and one not in own)


def _system_role(message: SystemMessage) -> Any:
    """The role: system, or developer as ChatOpenAI has it said."""
    return message.additional_kwargs.get("__openai_role__", "system")


def _of_others(message: AIMessage) -> Message:
    """An assistant message that another model or a person made, as it may be sent."""
    return sendable(_converted(message), made_up_ids())


def _converted(message: AIMessage) -> Message:
    """The same, before any repair.

    Of its content only what Chat Completions takes from an assistant: no thoughts of another provider's.
    """
    content = message.content
    if isinstance(content, list):
        content = [part for part in content if isinstance(part, str) or part.get("type") in ("text", "refusal")]
    (converted,) = convert_to_openai_messages([message.model_copy(update={"content": content})])
    # LangChain leaves the invalid calls out; their results would answer nothing then.
    calls = [*converted.get("tool_calls", []), *map(_invalid, message.invalid_tool_calls)]
    return {**converted, **({"tool_calls": calls} if calls else {})}


def _is_part(part: Any) -> bool:
    """Whether Chat Completions has such a part of content: it goes as it is, with all its keys."""
    return isinstance(part, dict) and part.get("type") in PARTS


def _invalid(call: InvalidToolCall) -> dict[str, Any]:
    return {
        "type": "function",
        "id": call["id"],
        "function": {"name": call["name"], "arguments": call["args"] or ""},
    }


def _shown(content: Any) -> str | list[str | dict[Any, Any]]:
    """The content for LangChain to look at: what it has no form for is left to the text at SENT."""
    match content:
        case str():
            return str(storable(content))
        case list() if all(isinstance(part, str | dict) for part in content):
            return [storable(part) for part in content]
    return ""


def _listed(call: Any) -> dict[str, Any]:
    """A call of a sendable message, as LangChain lists it."""
    function = call.get("function") if isinstance(call.get("function"), dict) else {}
    name, arguments = function.get("name"), function.get("arguments")
    try:
        args = _read_storable(arguments) if isinstance(arguments, str) else {}
    except (ValueError, RecursionError):
        args = {}
    if not isinstance(args, dict) or _depth(args) > DEEPEST:
        args = {}
    return {
        "name": storable(name) if isinstance(name, str) else json.dumps(name),
        "args": storable(args),
        "id": storable(call["id"]),
        "type": "tool_call",
    }


def storable(value: Any) -> Any:
    """The value as any checkpointer can store it: half surrogate pairs are spelled out."""
    match value:
        case str():
            return value if encodable(value) else value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {storable(key): storable(inner) for key, inner in value.items()}
        case list():
            return [storable(inner) for inner in value]
    return value


def _depth(value: Any) -> int:
    """How many levels of lists and objects a value has."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
        depth += 1
    return depth


_read = json.loads
"""Reads what `encode_json` wrote; unlike `read_json` also Infinity, which 1e400 in a vendor's key has become."""


def _small(digits: str) -> int | str:
    number = int(digits)
    return number if -BEYOND_MSGPACK <= number < BEYOND_MSGPACK else digits


_read_storable = reader(parse_int=_small)
"""Reads JSON; integers that msgpack has no room for become their digits."""


def _usage(usage: Any) -> UsageMetadata | None:
    match usage:
        case {"prompt_tokens": int(given), "completion_tokens": int(made)}:
            total = usage.get("total_tokens")
            return {
                "input_tokens": given,
                "output_tokens": made,
                "total_tokens": total if isinstance(total, int) else given + made,
            }
    return None
