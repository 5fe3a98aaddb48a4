"""The model server on loopback: it answers each request by a backend and keeps every byte that crossed the wire."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from compare.body import Bodies, Body
from compare.replies import Reply
from compare.wire import Received, converse, error_reply, models_reply, to_bytes

IDLE = 300.0
"""Seconds after which a connection that says nothing is closed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came: `head` is the request line and the header lines, byte for byte."""

    number: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    head: bytes
    body: Body


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what was sent back: `sent` is byte for byte, empty where the connection was closed instead.

    `received` and `answered` are seconds since the server started. `for_model` says whether the request reached
    the backend.
    """

    request: Request
    reply: Reply
    sent: bytes
    received: float
    answered: float
    for_model: bool


Backend = Callable[[Request], Reply]


class ModelServer:
    """A context manager that serves one run: its exchanges are in `exchanges`, in the order of their requests."""

    def __init__(self, backend: Backend, model: str = "scripted-model", port: int = 0) -> None:
        self.exchanges: list[Exchange] = []
        self._backend, self._model, self._wanted = backend, model, port
        self._bodies, self._lock = Bodies(), threading.Lock()
        self._connections: set[socket.socket] = set()
        self._started = time.perf_counter()

    def __enter__(self) -> "ModelServer":
        serve = self._connection

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                serve(self.request)

        self._tcp = _Tcp(("127.0.0.1", self._wanted), Handler)
        self._thread = threading.Thread(target=self._tcp.serve_forever, args=(0.02,), name="model-server")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._tcp.shutdown()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the client may have closed it first
                    connection.shutdown(socket.SHUT_RDWR)
        self._tcp.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1, chosen by the system."""
        return int(self._tcp.server_address[1])

    @property
    def base_url(self) -> str:
        """What a client takes as OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def _connection(self, connection: socket.socket) -> None:
        connection.settimeout(IDLE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._connections.add(connection)
        try:
            converse(connection, self._answer)
        except OSError:
            return  # the client went away, or said nothing for too long; what it had sent whole is kept
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _answer(self, received: Received) -> Reply:
        """Answer one whole request, and keep both."""
        arrived = time.perf_counter() - self._started
        with self._lock:
            body = self._bodies.read(received.body)
            number = len(self.exchanges) + 1
            request = Request(number, received.method, received.target, received.headers, received.head, body)
            refusal = self._refusal(request)
            reply = refusal or self._backend(request)
            answered = time.perf_counter() - self._started
            # Kept before it is sent: a client that acts on the answer must find it in the record.
            self.exchanges.append(Exchange(request, reply, to_bytes(reply), arrived, answered, refusal is None))
        return reply

    def _refusal(self, request: Request) -> Reply | None:
        host = next((value for name, value in request.headers if name.lower() == "host"), "")
        if host not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return error_reply(403, f"this server answers to 127.0.0.1:{self.port} only, not to {host!r}")
        path = request.target.split("?")[0]
        if path == "/v1/models" and request.method == "GET":
            return models_reply(self._model)
        if path != "/v1/chat/completions":
            return error_reply(404, f"there is no {path} here, only POST /v1/chat/completions")
        if request.method != "POST":
            return error_reply(405, f"{request.method} is not allowed here, only POST")
        if request.body.problem:
            return error_reply(400, f"{request.body.problem}; send a Chat Completions request")
        return None


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = False  # closing the server waits for each connection, so that no answer is cut
    allow_reuse_address = True
    request_queue_size = 128
