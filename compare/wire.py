"""HTTP/1.1 as the model server speaks it: requests taken off a connection byte for byte, replies put on it."""

import http
import socket
from collections.abc import Callable
from dataclasses import dataclass

import h11

from compare.replies import Reply, compact

MAX_HEAD = 64 * 1024
MAX_BODY = 32 * 1024 * 1024
"""Bytes. A request with more of either is refused with 431 or 413."""


@dataclass(frozen=True, slots=True)
class Received:
    """One whole request; `head` is the request line, the header lines and the blank line, as they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    head: bytes
    body: bytes
    last: bool  # the client wants the connection closed behind it


class Refused(Exception):
    """A request that is not taken: the reply says why, and the connection is closed behind it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.reply = error_reply(status, text)


def converse(connection: socket.socket, answer: Callable[[Received], Reply]) -> None:
    """Take requests off the connection and put the answers on it, until one side closes. Raises OSError."""
    rest = b""
    while True:
        try:
            received, rest = receive(connection, rest)
        except Refused as refused:
            connection.sendall(to_bytes(refused.reply))
            drain(connection)
            return
        if received is None:
            return
        reply = answer(received)
        connection.sendall(to_bytes(reply))
        if received.last or reply.close:
            return


def receive(connection: socket.socket, rest: bytes) -> tuple[Received | None, bytes]:
    """Take one request, and what came behind it already; None when the client has closed.

    A parser of its own for each request: h11 then never sees our replies, which may break HTTP on purpose.
    Raises Refused and OSError.
    """
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    read = bytearray(rest)
    head, request, body, size = b"", None, [], 0
    if rest:
        parser.receive_data(rest)
    while True:
        try:
            event = parser.next_event()
        except h11.RemoteProtocolError as error:
            raise Refused(error.error_status_hint, f"this is not HTTP as a server can read it: {error}") from None
        if event is h11.NEED_DATA:
            if parser.they_are_waiting_for_100_continue:
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                parser.send(h11.InformationalResponse(status_code=100, headers=[]))
            data = connection.recv(256 * 1024)
            parser.receive_data(data)
            if request is None:
                read += data
        elif isinstance(event, h11.Request):
            request = event
            head = bytes(read[: len(read) - len(parser.trailing_data[0])])
        elif isinstance(event, h11.Data):
            body.append(bytes(event.data))
            size += len(event.data)
            if size > MAX_BODY:
                raise Refused(413, f"the body has more than {MAX_BODY} bytes")
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            return whole(request, head, b"".join(body)), parser.trailing_data[0]
        else:  # the client closed, between two requests or within one
            return None, b""


def drain(connection: socket.socket) -> None:
    """Read away what a refused client still sends: closing on unread bytes would reset the reply out of its hands."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(1.0)
    taken = 0
    while taken < 2 * MAX_BODY and (data := connection.recv(1024 * 1024)):
        taken += len(data)


def whole(request: h11.Request, head: bytes, body: bytes) -> Received:
    """What h11 read, in built-ins."""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw_items())
    connection = [value.lower() for name, value in headers if name.lower() == "connection"]
    last = "close" in connection or (request.http_version == b"1.0" and "keep-alive" not in connection)
    return Received(request.method.decode("ascii"), request.target.decode("latin-1"), headers, head, body, last)


def to_bytes(reply: Reply) -> bytes:
    """A reply as it goes on the wire; nothing at all for one that closes the connection instead."""
    if reply.close:
        return b""
    try:
        phrase = http.HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {reply.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    lines += [f"Content-Length: {len(reply.body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + reply.body


def error_reply(status: int, text: str) -> Reply:
    """An error of the model server's own, in the form that OpenAI gives to errors."""
    error = {"error": {"message": text, "type": "diptych", "param": None, "code": None}}
    return Reply(status, (("Content-Type", "application/json"),), compact(error).encode())


def models_reply(model: str) -> Reply:
    """The answer to GET /v1/models, which many clients ask before anything else."""
    models = {"object": "list", "data": [{"id": model, "object": "model", "created": 0, "owned_by": "diptych"}]}
    return Reply(200, (("Content-Type", "application/json"),), compact(models).encode())
