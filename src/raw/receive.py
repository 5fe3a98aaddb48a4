"""How a reply's bytes become the model's turn: a plain body at once, a stream event by event."""

import collections
import logging
from typing import Any

import httpx

from protocol import DEVIATIONS, Assembly, Message, SseReader
from toolbox.watch import GRACE, Watch

log = logging.getLogger("raw")

Turn = tuple[Message, Any, bool]
"""The assistant message, the finish reason, and whether the message came to its end."""

BROKEN = (httpx.TransportError, httpx.DecodingError)
"""What httpx raises when no whole reply comes."""


class NoAnswer(Exception):
    """The model server gave no usable answer: `stop` is the reason to end the run with, the text says what came."""

    def __init__(self, stop: str, text: str) -> None:
        super().__init__(text)
        self.stop = stop


def broken(error: Exception, watch: Watch) -> NoAnswer:
    """What httpx raised, by its cause: the time was up, or the connection is no good."""
    if watch.expired or isinstance(error, httpx.TimeoutException):
        return NoAnswer("deadline", f"no whole reply within {watch.seconds:g} seconds")
    return NoAnswer("connection-error", f"{type(error).__name__}: {error}")


def read_body(response: httpx.Response, watch: Watch) -> bytes:
    """The whole body. Raises one of BROKEN."""
    body = b"".join(response.iter_bytes())
    if watch.expired:  # a body that only the end of the connection ends looks whole when it was shut
        raise httpx.ReadTimeout("the body was cut off")
    return body


def read_stream(response: httpx.Response, watch: Watch) -> Turn:
    """The turn in a stream, whose deviations are logged.

    Raises BadReply; one of BROKEN when no byte of the body came, so that the request can be sent again; and NoAnswer
    when the stream broke later, before the message was whole: half a message is none.
    """
    reader, assembly, begun = SseReader(), Assembly(), False
    body = response.iter_bytes()  # not iter_lines, which ends lines where JSON texts may go on
    try:
        for piece in body:
            begun = True
            for text in reader.feed(piece):
                assembly.add(text)
            if assembly.done:
                watch.hasten(GRACE)
                collections.deque(body, maxlen=0)  # read to the end, and kept nowhere
            elif watch.expired:
                break
        if watch.expired:
            raise httpx.ReadTimeout("the stream was cut off")
        for text in reader.end():
            assembly.add(text)
    except BROKEN as error:
        if not begun:
            raise
        if not assembly.whole:
            raise broken(error, watch) from error
    finally:
        response.close()
    turn = assembly.finished()
    for name in (*reader.deviations, *turn.deviations):
        log.info("[deviation] %s: %s", name, DEVIATIONS[name])
    return turn.message, turn.finish_reason, turn.whole
