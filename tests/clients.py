"""A client that can send a server any bytes, and reads the replies one by one."""

import json
import socket
from dataclasses import dataclass
from typing import BinaryIO

from compare.server import ModelServer

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
PATH = b"POST /v1/chat/completions HTTP/1.1\r\n"


@dataclass
class Client:
    """A connection on which any bytes can be sent, and replies be read one by one."""

    socket: socket.socket
    file: BinaryIO
    port: int

    def send(self, *pieces: bytes) -> None:
        """Send the pieces one after the other."""
        for piece in pieces:
            self.socket.sendall(piece)

    def reply(self) -> tuple[int, bytes, bytes]:
        """Status, head and body of the next reply; the status is 0 where the connection ended instead."""
        head = b""
        while line := self.file.readline():
            head += line
            if line == b"\r\n":
                break
        if not head:
            return 0, b"", b""
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        return int(head.split(b" ")[1]), head, self.file.read(int(fields.get(b"content-length", b"0")))

    def status(self) -> int:
        """The status of the next reply."""
        return self.reply()[0]

    def message(self) -> str:
        """What the error says that comes next; it must have the form that OpenAI gives to errors."""
        error = json.loads(self.reply()[2])["error"]
        assert {"message", "type", "param", "code"} == error.keys()
        return str(error["message"])

    def head(self, *fields: bytes, start: bytes = PATH) -> bytes:
        """A request's head with a Host that is right."""
        return start + b"".join(line + b"\r\n" for line in (b"Host: 127.0.0.1:%d" % self.port, *fields, b""))

    def post(self, body: bytes = BODY, *fields: bytes) -> bytes:
        """A request with this body."""
        return self.head(b"Content-Length: %d" % len(body), *fields) + body


class Clients:
    """Opens connections to a server, and closes them in the end."""

    def __init__(self) -> None:
        self.opened: list[Client] = []

    def __call__(self, server: ModelServer) -> Client:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self.opened.append(Client(connection, connection.makefile("rb"), server.port))
        return self.opened[-1]

    def close(self) -> None:
        """Close them all."""
        for client in self.opened:
            client.file.close()
            client.socket.close()
