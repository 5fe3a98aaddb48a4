"""The model server on loopback: it answers each request by a backend and keeps every byte that crossed the wire."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from compare.body import Bodies, Body, unread
from compare.replies import Live, Reply
from compare.sending import relay, send
from compare.wire import Received, converse, error_reply, models_reply, to_bytes


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came: `head` is the request line and the header lines, byte for byte."""

    number: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    head: bytes
    body: Body

    @property
    def streamed(self) -> bool:
        """Whether it asks for the reply as a stream."""
        return self.body.envelope is not None and self.body.envelope.get("stream") is True


@dataclass(slots=True)
class Exchange:
    """A request and what was sent back: `sent` is byte for byte, empty where the connection was closed instead.

    `received` and `answered` are seconds since the server started. `for_model` says whether the request reached
    the backend. Two things are known only when the sending has ended: `chunks` has for each piece of the reply the
    bytes of the body sent up to its end, and the time when that was done; `client_left` is the time when the client
    closed, or its run was over, before the end of the reply. `sent` holds also what was not sent for that reason.
    """

    request: Request
    reply: Reply
    sent: bytes
    received: float
    answered: float
    for_model: bool
    chunks: tuple[tuple[int, float], ...] = ()
    client_left: float | None = None


Backend = Callable[[Request], Reply]


class ModelServer:
    """A context manager that serves one run: its exchanges are in `exchanges`, in the order of their requests.

    `notice` is called with each exchange before its reply goes out, `finished` when that is over. With a
    `secret_path`, such as `/Yx3...`, the server answers only beneath it, and no page of a browser: what it serves may
    cost money. Entering raises OSError, in one line, for a port that is not to be had. Leaving ends every connection
    and every thread, and raises RuntimeError where the backend raised: the client then got a 500 that was no reply of
    a model.
    """

    def __init__(
        self,
        backend: Backend,
        model: str = "scripted-model",
        port: int = 0,
        notice: Callable[[Exchange], object] | None = None,
        secret_path: str = "",
        finished: Callable[[Exchange], object] | None = None,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self._notice, self._finished = notice, finished
        self._backend, self._model, self._wanted = backend, model, port
        self._secret_path = secret_path
        self._bodies, self._lock = Bodies(), threading.Lock()
        self._connections: set[socket.socket] = set()
        self._closing = threading.Event()
        self._fault: Exception | None = None
        self._started = time.perf_counter()

    def __enter__(self) -> "ModelServer":
        serve = self._connection

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                serve(self.request)

        try:
            self._tcp = _Tcp(("127.0.0.1", self._wanted), Handler)
        except OSError as error:
            raise OSError(f"port {self._wanted} is not to be had: {error.strerror}; choose another") from error
        self._thread = threading.Thread(target=self._tcp.serve_forever, args=(0.02,), name="model-server")
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._tcp.shutdown()
        with self._lock:
            self._closing.set()  # a connection whose thread has not begun yet ends itself
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the client may have closed it first
                    connection.shutdown(socket.SHUT_RDWR)
        self._tcp.server_close()
        self._thread.join()
        if self._fault is not None and error is None:
            raise RuntimeError("the backend failed in the model's place") from self._fault

    @property
    def port(self) -> int:
        """The port on 127.0.0.1, chosen by the system."""
        return int(self._tcp.server_address[1])

    @property
    def base_url(self) -> str:
        """What a client takes as OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}{self._secret_path}/v1"

    def _connection(self, connection: socket.socket) -> None:
        with self._lock:
            if self._closing.is_set():
                return
            self._connections.add(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            converse(connection, lambda received: self._serve(connection, received))
        except OSError:
            return  # the client went away, or said nothing for too long; what it had sent whole is kept
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _serve(self, connection: socket.socket, received: Received) -> bool:
        """Answer one whole request; returns whether the connection goes on."""
        exchange = self._answer(received)
        goes_on = self._send(connection, exchange, received.last)
        if self._finished is not None:
            self._finished(exchange)
        return goes_on

    def _send(self, connection: socket.socket, exchange: Exchange, last: bool) -> bool:
        """Send the reply; returns whether the connection goes on."""
        if exchange.reply.live is not None:
            self._relay(connection, exchange, exchange.reply.live, last)
            return not exchange.reply.close and exchange.reply.ending == "whole" and exchange.client_left is None
        if exchange.reply.close:
            return False
        # Outside the lock: a reply may take its time, and another client must not wait for it.
        exchange.chunks, exchange.client_left = send(
            connection, exchange.reply, exchange.sent, self._now, self._closing
        )
        return exchange.reply.ending == "whole" and exchange.client_left is None

    def _relay(self, connection: socket.socket, exchange: Exchange, live: Live, last: bool) -> None:
        """Pass on a reply that is still to come, and keep what came."""
        try:
            came = relay(connection, live, last, self._now, self._closing)
        except Exception as error:  # noqa: BLE001 # in a thread of a connection nobody would hear of it
            self._fault = self._fault or error
            return
        exchange.reply, exchange.chunks, exchange.client_left = came
        exchange.sent, exchange.answered = to_bytes(exchange.reply, last), self._now()

    def _now(self) -> float:
        return time.perf_counter() - self._started

    def _answer(self, received: Received) -> Exchange:
        """The reply to one whole request, kept beside it."""
        arrived = self._now()
        # One request at a time: the numbers, the chain of bodies and the script go by the order of the requests.
        with self._lock:
            refusal = self._refusal(received)
            body = self._bodies.read(received.body) if refusal is None else unread(received.body)
            if refusal is None and body.problem:
                refusal = error_reply(400, f"{body.problem}; send a Chat Completions request")
            number = len(self.exchanges) + 1
            target = received.target.removeprefix(self._secret_path)
            request = Request(number, received.method, target, received.headers, received.head, body)
            reply = refusal or self._ask(request)
            sent = to_bytes(reply, received.last, received.method == "HEAD")
            exchange = Exchange(request, reply, sent, arrived, self._now(), refusal is None)
            # Kept before it is sent: a client that acts on the answer must find it in the record.
            self.exchanges.append(exchange)
            if self._notice is not None:
                self._notice(exchange)
        return exchange

    def _ask(self, request: Request) -> Reply:
        try:
            return self._backend(request)
        except Exception as error:  # noqa: BLE001 # in a thread of a connection nobody would hear of it
            self._fault = self._fault or error
            return error_reply(500, "a fault of Diptych's own: the backend failed")

    def _refusal(self, received: Received) -> Reply | None:
        """The answer to a request that is not for the model, whatever its body holds."""
        host = next((value for name, value in received.headers if name.lower() == "host"), "")
        if host.lower() not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            # A page in a browser can send requests to loopback, under a name that it has pointed there.
            return error_reply(403, f"this server answers to 127.0.0.1:{self.port} only, not to {host!r}")
        if self._secret_path:
            origins = [value for name, value in received.headers if name.lower() == "origin"]
            if any(origin != f"http://127.0.0.1:{self.port}" for origin in origins):
                return error_reply(403, f"this server answers no page of {origins[0]!r}")
            if not received.target.startswith(f"{self._secret_path}/"):
                return error_reply(404, "there is nothing here; the address given to the lane is another")
        path = received.target.removeprefix(self._secret_path).split("?")[0]
        if path == "/v1/models" and received.method == "GET":
            return models_reply(self._model)
        if path != "/v1/chat/completions":
            return error_reply(404, f"there is no {path} here, only POST /v1/chat/completions")
        if received.method != "POST":
            return error_reply(405, f"{received.method} is not allowed here, only POST")
        return None


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = False  # closing the server waits for each connection, so that no thread outlives the run
    allow_reuse_address = True
    request_queue_size = 128
