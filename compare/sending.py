"""How a reply is put on a connection: piece by piece, with its pauses, to its end or to where it is to break off."""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from compare.replies import BrokenOff, Live, Piece, Reply
from compare.wire import LAST_CHUNK, chunk, head_bytes, to_bytes

BLANK_LINE = b"\r\n\r\n"
DONE = b"[DONE]"
"""The text of the last event of a stream. A client may leave behind it: it has everything."""
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with no time to linger: closing then sends RST in the place of FIN."""


def send(
    connection: socket.socket, reply: Reply, sent: bytes, now: Callable[[], float], closing: threading.Event
) -> tuple[tuple[tuple[int, float], ...], float | None]:
    """Send the reply, whose bytes are `sent`, and end it as it says; what must not go on is closed by the caller.

    Returns for each piece the bytes of the body sent so far with the time, by `now`, and the time when the client
    was found to have left, or None. `closing` says that the server ends, which counts as the client's leaving: its
    run is over.
    """
    chunks: list[tuple[int, float]] = []
    size = 0
    try:
        connection.sendall(sent[: sent.index(BLANK_LINE) + len(BLANK_LINE)] if reply.pieces else sent)
        for piece in reply.pieces:
            wait(connection, piece.pause, closing)
            connection.sendall(chunk(piece.data))
            size += len(piece.data)
            chunks.append((size, now()))
        end(connection, reply, closing)
    except OSError:  # which TimeoutError is: a client that takes nothing for as long is as good as gone
        return tuple(chunks), now()
    return tuple(chunks), None


def relay(
    connection: socket.socket, live: Live, last: bool, now: Callable[[], float], closing: threading.Event
) -> tuple[Reply, tuple[tuple[int, float], ...], float | None]:
    """Pass on a reply that is still to come, each piece when it comes.

    Returns the reply as far as it came, and the same two as `send`. `last` announces that the connection is closed
    behind it; the caller closes it also where the reply is not whole.
    """
    reply, pieces, ending = Reply(0, (), b"", close=True), list[Piece](), "whole"
    chunks: list[tuple[int, float]] = []
    size, left = 0, None
    try:
        with contextlib.closing(live(lambda: closing.is_set() or has_left(connection))) as items:
            for item in items:
                if isinstance(item, Reply):
                    reply = item
                    connection.sendall(head_bytes(reply, last) if reply.pieces else to_bytes(reply, last))
                    continue
                pieces.append(item)
                connection.sendall(chunk(item.data))
                size += len(item.data)
                chunks.append((size, now()))
        if reply.pieces:
            connection.sendall(LAST_CHUNK)
    except BrokenOff:
        ending = "cut"
    except OSError:
        left = None if DONE in b"".join(piece.data for piece in pieces[-2:]) else now()
    if reply.pieces:
        body = b"".join(piece.data for piece in pieces)
        reply = replace(reply, body=body, pieces=tuple(pieces) or reply.pieces, ending=ending)
    return reply, tuple(chunks), left


def has_left(connection: socket.socket) -> bool:
    """Whether the client has closed the connection, by a look that takes nothing and does not wait."""
    look = select.poll()
    look.register(connection, select.POLLIN)
    try:
        return bool(look.poll(0)) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def end(connection: socket.socket, reply: Reply, closing: threading.Event) -> None:
    """End the reply by its `ending`. Raises OSError when the client has left.

    A reset throws away what the client's side has not taken in yet: it is exact for what fits into the buffers of a
    connection, which is 64 KiB and more.
    """
    if reply.ending == "whole" and reply.pieces:
        connection.sendall(LAST_CHUNK)
    elif reply.ending == "stall":
        wait(connection, reply.stall_limit, closing)
    elif reply.ending == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        connection.close()  # here, because the caller's way of closing sends FIN first


def wait(connection: socket.socket, seconds: float, closing: threading.Event) -> None:
    """Wait, unless the client leaves or the server ends meanwhile. Raises OSError then.

    A client that closes only its own direction counts as one that leaves: the two look the same.
    """
    if not seconds:
        return
    until = time.monotonic() + seconds
    patience = connection.gettimeout()
    connection.settimeout(seconds)
    try:
        # A look that takes nothing: the server's end wakes it too, because it shuts the connection down.
        gone = not connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return
    finally:
        connection.settimeout(patience)
    # Bytes of the next request stand in front of an end, so from here on it cannot be seen.
    if gone or closing.wait(until - time.monotonic()):
        raise ConnectionError("the client has left")
