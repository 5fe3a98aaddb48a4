"""What a client can have heard of one reply: the model's message, or why there was none."""

from dataclasses import dataclass
from typing import Any

from compare.replies import Reply
from compare.server import Exchange, Request
from compare.values import parse
from protocol import Assembly, BadReply, SseReader, read_reply


@dataclass(frozen=True)
class Heard:
    """The message of a reply, or None; then `problem` says what came instead and `stop` is the reason to end with.

    `whole` is false for a stream that just ended; `deviations` are keys of `protocol.DEVIATIONS`. With a message,
    `stop` says that the sending broke off behind it: a client may have noticed only that.
    """

    message: dict[str, Any] | None = None
    finish_reason: Any = None
    whole: bool = True
    deviations: tuple[str, ...] = ()
    problem: str = ""
    stop: str = ""


def heard(exchange: Exchange) -> Heard:
    """Read one reply as a client does that makes no mistakes."""
    reply = exchange.reply
    if reply.close and exchange.client_left is not None:
        return Heard(problem="no reply came before the client left", stop="deadline")
    if reply.close:
        return Heard(problem="the connection was closed without a reply", stop="connection-error")
    if not 200 <= reply.status < 300:
        return Heard(problem=f"HTTP {reply.status}", stop="http-error") if arrived(exchange) else broken_off(exchange)
    try:
        return of_stream(exchange) if exchange.request.streamed else of_plain(exchange)
    except BadReply as error:
        return Heard(problem=str(error), stop="bad-reply")


def heard_to_the_end(request: Request, reply: Reply) -> Heard:
    """What a client hears of a reply that it waits for, before any of it is sent."""
    return heard(Exchange(request, reply, b"", 0.0, 0.0, for_model=True))


def of_plain(exchange: Exchange) -> Heard:
    """The message of a plain reply. Raises BadReply."""
    if not arrived(exchange):
        return broken_off(exchange)
    message, finish_reason = read_reply(exchange.reply.body, parse)
    return Heard(message, finish_reason)


def of_stream(exchange: Exchange) -> Heard:
    """The message of a stream, or of a plain reply where one was asked for. Raises BadReply.

    What was whole before the sending broke off counts; and an error in the stream came before the break did.
    """
    reader, assembly = SseReader(), Assembly(parse)
    for text in reader.feed(sent_of(exchange)):
        assembly.add(text)
    if arrived(exchange):
        for text in reader.end():
            assembly.add(text)
    elif not assembly.whole:
        return broken_off(exchange)
    told, stop = assembly.finished(), "" if arrived(exchange) else broken_off(exchange).stop
    return Heard(told.message, told.finish_reason, told.whole, (*reader.deviations, *told.deviations), stop=stop)


def arrived(exchange: Exchange) -> bool:
    """Whether all that was announced of the reply was sent, and the client stayed for it."""
    reply = exchange.reply
    if reply.announced is not None and not reply.pieces:
        return len(reply.body) >= reply.announced
    return reply.ending == "whole" and not (paused(reply) and exchange.client_left is not None)


def paused(reply: Reply) -> bool:
    """Whether the reply makes a client wait between its pieces.

    Only then do we know how much a client that left had been sent: all else is in its hands before it can leave.
    """
    return any(piece.pause for piece in reply.pieces)


def sent_of(exchange: Exchange) -> bytes:
    """The bytes of the body that were sent."""
    body = exchange.reply.body
    if exchange.client_left is None or not paused(exchange.reply):
        return body
    return body[: exchange.chunks[-1][0] if exchange.chunks else 0]


def broken_off(exchange: Exchange) -> Heard:
    """A reply that was not sent to its end: because the client waited no longer, or because the connection broke."""
    reply = exchange.reply
    came = f"the head and {len(sent_of(exchange))} bytes of the body came"
    if exchange.client_left is not None and (paused(reply) or reply.ending == "stall"):
        return Heard(problem=f"{came}, and the client left before the rest", stop="deadline")
    how = "was reset" if reply.ending == "reset" else "was closed"
    return Heard(problem=f"{came}, then the connection {how}", stop="connection-error")
