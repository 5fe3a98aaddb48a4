"""What a scripted reply of the model is, and the bytes that it becomes on the wire."""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from protocol import is_json, reader

DEFAULT_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


ENDINGS = {
    "whole": "the reply is sent to its end",
    "cut": "the connection is closed before the end",
    "reset": "the connection is reset before the end (RST)",
    "stall": "nothing more is sent before the end, until the client leaves or the limit is reached",
}
"""How the sending of a reply ends, each with what it means."""
STALL_LIMIT = 30.0
"""Seconds after which a stalled reply is given up, and its connection closed."""


@dataclass(frozen=True)
class Piece:
    """Bytes that are written in one send, after a pause in seconds; without bytes, the pause alone."""

    data: bytes
    pause: float = 0.0


@dataclass(frozen=True)
class Delta:
    """One chunk of a stream by the JSON text of its delta; what is around it is filled in when it is sent."""

    delta: str
    finish_reason: str | None = None
    pause: float = 0.0


@dataclass(frozen=True)
class Sending:
    """How the bytes of a body go out: in pieces of `split` bytes, no more than `cut`, each after `drip` seconds.

    `ending` is a key of ENDINGS; `stall_limit` is in seconds.
    """

    split: int | None = None
    cut: int | None = None
    drip: float = 0.0
    ending: str = "whole"
    stall_limit: float = STALL_LIMIT


AT_ONCE = Sending()


@dataclass(frozen=True)
class ScriptedMessage:
    """A Chat Completions reply with one choice: the exact JSON text of its message, and what is beside it.

    `sending` is for its stream: asked for without `stream`, it goes out at once and whole.
    """

    message: str
    finish_reason: str
    usage: dict[str, Any]
    sending: Sending = AT_ONCE


@dataclass(frozen=True)
class ScriptedBody:
    """An HTTP reply given whole: status, header fields and the exact text of the body (sent as UTF-8)."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    sending: Sending = AT_ONCE


@dataclass(frozen=True)
class ScriptedClose:
    """No reply: the server reads the request and closes the connection."""


@dataclass(frozen=True)
class ScriptedStream:
    """A stream given chunk by chunk; `plain` is the reply where none is asked for, None where one must be."""

    items: tuple[Piece | Delta, ...]
    plain: ScriptedMessage | ScriptedBody | None = None
    sending: Sending = AT_ONCE


Scripted = ScriptedMessage | ScriptedBody | ScriptedClose | ScriptedStream


Live = Callable[[Callable[[], bool]], Generator["Reply | Piece", None, None]]
"""A reply that is still to come. Given a function that says whether the client has left, it yields a Reply first: one
that is whole, or one with an empty piece, and then the pieces as they come. Raises BrokenOff, and OSError when the
client has left.
"""


class BrokenOff(Exception):
    """A reply that was still to come has ended before its end."""


@dataclass(frozen=True)
class Reply:
    """What the model server sends: status, header fields and body, or nothing at all when `close` is set.

    Content-Length, Transfer-Encoding and Connection are the server's to add: `headers` lacks them. With `close`,
    `status` is 0. With `pieces`, each is one HTTP chunk, and `body` is their data put together. `body` is what the
    client may get; `announced` is the Content-Length where that is another. `ending` is a key of ENDINGS. With `live`
    set, the reply is still to come, and `close` is set until some of it has.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    close: bool = False
    pieces: tuple[Piece, ...] = ()
    ending: str = "whole"
    announced: int | None = None
    stall_limit: float = STALL_LIMIT
    live: Live | None = None


def to_reply(scripted: Scripted, number: int, model: str) -> Reply:
    """What the `number`-th entry of a script (from 1) becomes: the same arguments always give the same bytes.

    The text of a message is spliced in byte for byte, because parsing it would lose duplicate keys, `1.10`,
    `1e400` and the escape of a lone surrogate. Raises ValueError for a stream without a plain form.
    """
    if isinstance(scripted, ScriptedClose):
        return Reply(0, (), b"", close=True)
    if isinstance(scripted, ScriptedStream):
        if scripted.plain is None:
            raise ValueError(f"reply {number} is a stream and has no plain form")
        return to_reply(scripted.plain, number, model)
    if isinstance(scripted, ScriptedBody):
        return _body_reply(scripted)
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": model}
    choice = f'{{"index":0,"message":{scripted.message},"finish_reason":{compact(scripted.finish_reason)}}}'
    body = f'{compact(head)[:-1]},"choices":[{choice}],"usage":{compact(scripted.usage)}}}'
    return Reply(200, (("Content-Type", "application/json"),), body.encode())


def in_pieces(status: int, headers: tuple[tuple[str, str], ...], pieces: Sequence[Piece], sending: Sending) -> Reply:
    """A reply that goes out piece by piece, as `sending` says."""
    cut = tuple(_dripped(_until(_recut(pieces, sending.split), sending.cut), sending.drip))
    # One piece without bytes, because a reply without pieces would go out with a Content-Length.
    sent = cut or (Piece(b"", sending.drip),)
    body = b"".join(piece.data for piece in sent)
    return Reply(status, headers, body, pieces=sent, ending=sending.ending, stall_limit=sending.stall_limit)


def _recut(pieces: Sequence[Piece], size: int | None) -> Iterator[Piece]:
    """The same bytes in pieces of `size`, the last one shorter; a pause stays where it was, so it is a border too."""
    if size is None:
        yield from pieces
        return
    runs: list[tuple[float, bytearray]] = []
    for piece in pieces:
        if piece.pause or not runs:
            runs.append((piece.pause, bytearray()))
        runs[-1][1].extend(piece.data)
    for pause, data in runs:
        yield Piece(bytes(data[:size]), pause)
        yield from (Piece(bytes(data[start : start + size])) for start in range(size, len(data), size))


def _until(pieces: Iterator[Piece], end: int | None) -> Iterator[Piece]:
    """The pieces up to `end` bytes."""
    left = end
    for piece in pieces:
        if left is None:
            yield piece
        elif left > 0:
            yield Piece(piece.data[:left], piece.pause)
            left -= len(piece.data)


def _dripped(pieces: Iterator[Piece], drip: float) -> Iterator[Piece]:
    """The pieces with a longer pause in front of each."""
    return (Piece(piece.data, piece.pause + drip) for piece in pieces)


def compact(value: object) -> str:
    """JSON text without spaces and with non-ASCII characters as themselves: how OpenAI writes a reply."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


check_json = reader(parse_int=str, parse_float=str)
"""The value of a JSON text, its numbers left as text; ValueError with the position, or RecursionError, for no JSON."""


def _body_reply(scripted: ScriptedBody) -> Reply:
    headers, body, sending = _with_content_type(scripted), scripted.body.encode(), scripted.sending
    if sending.split or sending.drip:
        return in_pieces(scripted.status, headers, [Piece(body)], sending)
    return Reply(
        scripted.status,
        headers,
        body[: sending.cut],
        ending=sending.ending,
        announced=None if sending.ending == "whole" else len(body),
        stall_limit=sending.stall_limit,
    )


def _with_content_type(scripted: ScriptedBody) -> tuple[tuple[str, str], ...]:
    if any(name.lower() == "content-type" for name, _ in scripted.headers):
        return scripted.headers
    return (
        ("Content-Type", "application/json" if is_json(scripted.body) else "text/html"),
        *scripted.headers,
    )
