"""HTTP/1.1 as the model server speaks it: requests taken off a connection byte for byte, replies put on it."""

import http
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11

from compare.replies import Reply, compact

MAX_HEAD = 64 * 1024
MAX_BODY = 32 * 1024 * 1024
"""Bytes. A request with more of either is refused with 431 or 413."""
IDLE = 300.0
"""Seconds after which a connection that says nothing is closed; in the middle of a request, with 408."""


@dataclass(frozen=True, slots=True)
class Received:
    """One whole request; `head` is the request line, the header lines and the blank line, as they came.

    `body` is without the framing of chunks. `last` says that the connection is to be closed behind the reply.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    head: bytes
    body: bytes
    last: bool


class Refused(Exception):
    """A request that is not taken: the reply says why, and the connection is closed behind it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.reply = error_reply(status, text)


def converse(connection: socket.socket, answer: Callable[[Received], bool]) -> None:
    """Take requests off the connection until one side closes.

    `answer` puts the reply on the connection, and says whether it goes on behind it. Raises OSError, which
    TimeoutError is, when the client is gone or silent.
    """
    connection.settimeout(IDLE)
    rest = b""
    while True:
        try:
            received, rest = receive(connection, rest)
        except Refused as refused:
            connection.sendall(to_bytes(refused.reply, last=True))
            drain(connection)
            return
        if received is None:
            return
        if not answer(received) or received.last:
            return


def receive(connection: socket.socket, rest: bytes) -> tuple[Received | None, bytes]:
    """Take one request, and what came behind it already; None when the client has closed.

    A parser of its own for each request: h11 then never sees our replies, which may break HTTP on purpose.
    Raises Refused and OSError.
    """
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    read, body = bytearray(rest), bytearray()
    head, request = b"", None
    if rest:
        parser.receive_data(rest)
    while True:
        event = next_event(parser)
        if event is h11.NEED_DATA:
            data = more(connection, parser, begun=bool(read))
            parser.receive_data(data)
            if request is None:
                read += data
        elif isinstance(event, h11.Request):
            request = event
            head = bytes(read[: len(read) - len(parser.trailing_data[0])])
            check_head(request, head)
        elif isinstance(event, h11.Data):
            body += event.data
            check_size(len(body))
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            last = parser.their_state is h11.MUST_CLOSE
            return whole(request, head, bytes(body), last), parser.trailing_data[0]
        else:  # the client closed between two requests
            return None, b""


def next_event(parser: h11.Connection) -> Any:
    """What the parser sees next. Raises Refused for what is not HTTP."""
    try:
        return parser.next_event()
    except h11.RemoteProtocolError as error:
        text = f"this is not HTTP as a server can read it: {error}"
        raise Refused(error.error_status_hint, text) from None


def more(connection: socket.socket, parser: h11.Connection, begun: bool) -> bytes:
    """The next bytes of the connection; none when the client has closed. Raises Refused and OSError."""
    if parser.they_are_waiting_for_100_continue:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        parser.send(h11.InformationalResponse(status_code=100, headers=[]))
    try:
        return connection.recv(256 * 1024)
    except TimeoutError:
        if not begun:
            raise
        raise Refused(408, f"the rest of the request did not come within {IDLE:g} seconds") from None


def check_head(request: h11.Request, head: bytes) -> None:
    """Refuse what must not be read any further. Raises Refused."""
    if len(head) > MAX_HEAD:
        raise Refused(431, f"the head has more than {MAX_HEAD} bytes")
    if request.http_version not in (b"1.0", b"1.1"):
        raise Refused(505, "this server speaks HTTP/1.1")
    fields = dict(request.headers)  # h11 has checked these two: one length at most, and nothing but chunked
    if b"content-length" in fields and b"transfer-encoding" in fields:
        # RFC 9112, section 6.3: to be handled as an error, because two readers may see two different requests.
        raise Refused(400, "the request has both Content-Length and Transfer-Encoding; send one of them")
    check_size(int(fields.get(b"content-length", b"0")))


def check_size(size: int) -> None:
    """Refuse a body of too many bytes. Raises Refused."""
    if size > MAX_BODY:
        raise Refused(413, f"the body has more than {MAX_BODY} bytes")


def drain(connection: socket.socket) -> None:
    """Read away what a refused client still sends: closing on unread bytes would reset the reply out of its hands."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(1.0)
    taken = 0
    while taken < 2 * MAX_BODY and (data := connection.recv(1024 * 1024)):
        taken += len(data)


def whole(request: h11.Request, head: bytes, body: bytes, last: bool) -> Received:
    """What h11 read, in built-ins."""
    # Interned, because each request of a run repeats the same header fields.
    headers = tuple(
        (sys.intern(name.decode("latin-1")), sys.intern(value.decode("latin-1")))
        for name, value in request.headers.raw_items()
    )
    return Received(request.method.decode("ascii"), request.target.decode("latin-1"), headers, head, body, last)


def to_bytes(reply: Reply, last: bool = False, bodiless: bool = False) -> bytes:
    """A reply as it goes on the wire while the client stays; nothing at all for one that closes the connection instead.

    `last` announces that the connection is closed behind it; `bodiless` answers HEAD.
    """
    if reply.close:
        return b""
    head = head_bytes(reply, last)
    if bodiless:
        return head
    if not reply.pieces:
        return head + reply.body
    end = LAST_CHUNK if reply.ending == "whole" else b""
    return b"".join((head, *(chunk(piece.data) for piece in reply.pieces), end))


def head_bytes(reply: Reply, last: bool) -> bytes:
    """The status line, the header fields and the blank line."""
    try:
        phrase = http.HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {reply.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    if reply.pieces:
        lines.append("Transfer-Encoding: chunked")
    elif reply.status not in (204, 304):  # RFC 9110, section 8.6: these two have no body to measure
        lines.append(f"Content-Length: {len(reply.body) if reply.announced is None else reply.announced}")
    if last:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """The data as one HTTP chunk; nothing for no data, because an empty chunk would be the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def error_reply(status: int, text: str) -> Reply:
    """An error of the model server's own, in the form that OpenAI gives to errors."""
    error = {"error": {"message": text, "type": "diptych", "param": None, "code": None}}
    return Reply(status, (("Content-Type", "application/json"),), compact(error).encode())


def models_reply(model: str) -> Reply:
    """The answer to GET /v1/models, which many clients ask before anything else."""
    models = {"object": "list", "data": [{"id": model, "object": "model", "created": 0, "owned_by": "diptych"}]}
    return Reply(200, (("Content-Type", "application/json"),), compact(models).encode())
