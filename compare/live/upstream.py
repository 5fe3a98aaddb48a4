"""The live endpoint: it alone is spoken to, with the key that no lane sees, and its replies go on as they come."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from compare.live.guard import Guard
from compare.replies import BrokenOff, Piece, Reply
from compare.server import Backend, Request
from compare.wire import MAX_BODY

CONNECT_TIMEOUT = 10.0
"""Seconds. For all that comes behind it the lane's own patience counts: when it leaves, so do we."""
LOOK = 0.05
"""Seconds between two looks at whether the lane has left."""
SENT = ("accept", "content-type", "user-agent")
"""Headers of a lane's request that go to the endpoint."""
PASSED_ON = re.compile(r"content-type|retry-after(-ms)?|x-should-retry|x-request-id|(x-)?ratelimit-[\w-]+")
"""Headers of a reply that go on to the lane. No `Location`: a client would follow it away from this machine."""
CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete", "proxy.start_tls.complete")
"""The events of httpx's trace that bring a connection."""
LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass
class Asked:
    """The requests of one lane that went to the endpoint, by number; and of those without a whole reply, the reason."""

    numbers: set[int] = field(default_factory=set)
    problems: dict[int, str] = field(default_factory=dict)


class Upstream:
    """A context manager for the requests of one live run.

    To be made before the environment is cleared for the lanes: a proxy and certificates are taken from it, but for an
    endpoint on this machine.
    """

    def __init__(self, base_url: str, key: str) -> None:
        self._url, self._key = httpx.URL(f"{base_url.rstrip('/')}/chat/completions"), key
        self._client = httpx.Client(
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT),
            trust_env=self._url.host not in LOCAL,
            verify=self._url.scheme != "http",  # a plain address has no use for certificates, which take long to load
        )

    def __enter__(self) -> "Upstream":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def place(self) -> str:
        """The host and port that are asked."""
        return self._url.netloc.decode("ascii", "replace")

    def backend(self, asked: Asked) -> Backend:
        """A backend whose replies come from the endpoint; each of its requests is entered into `asked`."""

        def ask(request: Request) -> Reply:
            asked.numbers.add(request.number)
            return Reply(0, (), b"", close=True, live=lambda gone: self._ask(request, gone, asked))

        return ask

    def _ask(self, request: Request, gone: Callable[[], bool], asked: Asked) -> Generator[Reply | Piece, None, None]:
        sent = {name: value for name, value in request.headers if name.lower() in SENT}
        # Not compressed, because the reply is to be passed on with the borders that it has.
        headers = {**sent, "Authorization": f"Bearer {self._key}", "Accept-Encoding": "identity"}
        with Line(gone) as line:
            try:
                more: dict[str, Any] = {"headers": headers, "extensions": {"trace": line.trace}}
                with self._client.stream("POST", self._url, content=request.body.raw(), **more) as response:
                    line.stream = response.extensions["network_stream"]
                    yield from self._passed_on(request, response)
            except (httpx.RequestError, BrokenOff) as error:
                if line.left:
                    raise ConnectionError("the lane has left") from error
                asked.problems[request.number] = f"{self.place}: {Guard(self._key).whole(reason(error))}"
                raise BrokenOff from error

    def _passed_on(self, request: Request, response: httpx.Response) -> Generator[Reply | Piece, None, None]:
        """The reply in the form of `replies.Live`: as it comes where it is a stream, else when all of it is there."""
        guard = Guard(self._key)
        headers = tuple(
            (name, guard.whole(value)) for name, value in headers_of(response) if PASSED_ON.fullmatch(name.lower())
        )
        begun = Reply(response.status_code, headers, b"", pieces=(Piece(b""),))
        pieces = pieces_of(response, guard)
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if events or (request.streamed and response.is_success):
            yield begun
            yield from pieces
            return
        kept: list[Piece] = []
        try:
            kept.extend(pieces)
        except (httpx.RequestError, BrokenOff):
            yield begun
            yield from kept
            raise
        yield Reply(response.status_code, headers, b"".join(piece.data for piece in kept))


def headers_of(response: httpx.Response) -> list[tuple[str, str]]:
    """The header fields as they came."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]


def pieces_of(response: httpx.Response, guard: Guard) -> Iterator[Piece]:
    """The body as it comes, each piece with the seconds since the one before. Raises BrokenOff for one without end."""
    before, size = time.perf_counter(), 0
    for data in response.iter_bytes():
        now = time.perf_counter()
        size += len(data)
        if size > MAX_BODY:
            raise BrokenOff(f"the reply has more than {MAX_BODY} bytes")
        if shown := guard.feed(data):
            yield Piece(shown, now - before)
            before = now
    if rest := guard.end():
        yield Piece(rest, 0.0)


def reason(error: Exception) -> str:
    """Why no whole reply came, in one line."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {CONNECT_TIMEOUT:g} seconds; is OPENAI_BASE_URL right?"
    if isinstance(error, httpx.ConnectError):
        return f"no connection ({' '.join(str(error).split())}); is OPENAI_BASE_URL right, and the server running?"
    return " ".join(f"{error}".split()) or type(error).__name__


class Line:
    """A context manager that shuts the connection of one request when the lane has left: nobody waits for the rest.

    `stream` is the connection, as httpx names it; `left` says that it was shut.
    """

    def __init__(self, gone: Callable[[], bool]) -> None:
        self.stream: Any = None
        self.left = False
        self._gone, self._over = gone, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="live-line", daemon=True)

    def __enter__(self) -> "Line":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Take note of a new connection; this is what httpx calls."""
        if event in CONNECTED:
            self.stream = info["return_value"]

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            if self._gone():
                self.left = True
                self._shut()

    def _shut(self) -> None:
        if self.stream is not None:
            with contextlib.suppress(OSError):  # closed already
                # As a plain socket: shutting down a TLS socket would first take its state from the thread that reads.
                socket.socket.shutdown(self.stream.get_extra_info("socket"), socket.SHUT_RDWR)
