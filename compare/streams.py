"""How a scripted reply becomes Server-Sent Events: a message cut into deltas, or the chunks that a scenario gives."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compare.replies import (
    Delta,
    Piece,
    Reply,
    Scripted,
    ScriptedMessage,
    ScriptedStream,
    compact,
    in_pieces,
    to_reply,
)
from protocol import encodable, reader

HEADERS = (("Content-Type", "text/event-stream"),)
DONE = b"data: [DONE]\n\n"
CONTENT_LENGTH, ARGUMENTS_LENGTH = 12, 10
"""Characters of the text, and of the arguments of a call, in one delta."""


@dataclass(frozen=True)
class Number:
    """A number as it was spelled, which 1.10 and 1e400 would not survive as a float."""

    text: str


read_message = reader(parse_int=Number, parse_float=Number)


def to_stream(scripted: Scripted, number: int, model: str, with_usage: bool = False) -> Reply:
    """What the `number`-th entry of a script (from 1) becomes for a request that asks for a stream.

    `with_usage` is what the request's `stream_options.include_usage` says; it changes only a message that we cut
    into deltas. An HTTP reply given whole, or a closed connection, is the same as without a stream.
    """
    if isinstance(scripted, ScriptedStream):
        items = [
            item if isinstance(item, Piece) else event(delta_chunk(item, number, model), item.pause)
            for item in scripted.items
        ]
        return in_pieces(200, HEADERS, items, scripted.sending)
    if isinstance(scripted, ScriptedMessage):
        pieces = list(message_pieces(scripted, number, model, with_usage))
        return in_pieces(200, HEADERS, pieces, scripted.sending)
    return to_reply(scripted, number, model)


def message_pieces(scripted: ScriptedMessage, number: int, model: str, with_usage: bool) -> Iterator[Piece]:
    """A message as a server of OpenAI's kind streams it, one event a piece, [DONE] included."""
    deltas = [Delta(spell(delta)) for delta in deltas_of(read_message(scripted.message))]
    for delta in [*deltas, Delta("{}", scripted.finish_reason)]:
        yield event(delta_chunk(delta, number, model, ',"usage":null' if with_usage else ""))
    if with_usage:
        yield event(f'{chunk_head(number, model)},"choices":[],"usage":{compact(scripted.usage)}}}')
    yield Piece(DONE)


def deltas_of(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The deltas that make up a message: role, other keys, text, calls.

    A key that the message lacks is in no delta, and a value of an unusual type goes out whole.
    """
    content, calls = message.get("content"), message.get("tool_calls")
    first: dict[str, Any] = {key: message[key] for key in ("role", "content") if key in message}
    if isinstance(content, str):
        first["content"] = ""
    if first:
        yield first
    for key, value in message.items():
        if key not in ("role", "content", "tool_calls"):
            yield {key: value}
    if isinstance(content, str):
        yield from ({"content": part} for part in parts(content, CONTENT_LENGTH))
    if isinstance(calls, list) and calls:
        for index, call in enumerate(calls):
            yield from ({"tool_calls": [entry]} for entry in entries_of(index, call))
    elif "tool_calls" in message:
        yield {"tool_calls": calls}


def entries_of(index: int, call: Any) -> Iterator[Any]:
    """The entries of `tool_calls`, one a delta, that make up a call: all but its arguments first."""
    match call:
        case {"function": {"arguments": str(arguments), **function}} if arguments:
            opened = {"index": index, **call, "function": {**function, "arguments": ""}}
            yield opened
            for part in parts(arguments, ARGUMENTS_LENGTH):
                yield {"index": opened["index"], "function": {"arguments": part}}
        case dict():
            yield {"index": index, **call}
        case _:
            yield call


def parts(text: str, size: int) -> Iterator[str]:
    """The text in parts of `size` characters."""
    return (text[start : start + size] for start in range(0, len(text), size))


def delta_chunk(delta: Delta, number: int, model: str, beside: str = "") -> str:
    """The JSON text of one chunk; `beside` is put behind its choices."""
    choice = f'{{"index":0,"delta":{delta.delta},"finish_reason":{compact(delta.finish_reason)}}}'
    return f'{chunk_head(number, model)},"choices":[{choice}]{beside}}}'


def chunk_head(number: int, model: str) -> str:
    """The front of a chunk's JSON text, up to its choices."""
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": model}
    return spell(head)[:-1]


def event(data: str, pause: float = 0.0) -> Piece:
    """The event that carries this text, which may have several lines."""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Piece("".join(f"data: {line}\n" for line in lines).encode() + b"\n", pause)


def spell(value: Any) -> str:
    """The value as compact JSON, its numbers as they were spelled, a lone surrogate as an escape."""
    match value:
        case dict():
            return f"{{{','.join(f'{spell(key)}:{spell(inner)}' for key, inner in value.items())}}}"
        case list():
            return f"[{','.join(map(spell, value))}]"
        case Number():
            return value.text
    text = compact(value)
    return text if text.isascii() or encodable(text) else json.dumps(value)
