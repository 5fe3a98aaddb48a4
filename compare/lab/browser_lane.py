"""The lane in the page itself: its requests to the demo model, kept as a model server of ours would keep them."""

import threading
import time

from compare.body import Bodies
from compare.lab.show import Stopped
from compare.lab.stage import Watched
from compare.runner import Run
from compare.server import Backend, Exchange, Request
from compare.wire import error_reply, to_bytes

NAME = "browser"


class BrowserLane:
    """Answers the page's loop, one request at a time, until `ended` is set; what came is in the run.

    The head of a request is as the web server read it: not byte for byte, as with the other lanes.
    """

    def __init__(self, watched: Watched, backend: Backend) -> None:
        self.ended = threading.Event()
        self._watched, self._backend = watched, watched.backend(backend)
        self._exchanges: list[Exchange] = []
        self._bodies, self._lock = Bodies(), threading.Lock()
        self._started = time.perf_counter()
        watched.exchanges = self._exchanges

    def answer(self, method: str, target: str, headers: list[tuple[bytes, bytes]], raw: bytes) -> Exchange:
        """The exchange that one request makes."""
        with self._lock:
            received = time.perf_counter() - self._started
            body = self._bodies.read(raw)
            lines = [f"{method} {target} HTTP/1.1".encode(), *(name + b": " + value for name, value in headers)]
            fields = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
            head = b"\r\n".join([*lines, b"", b""])
            request = Request(len(self._exchanges) + 1, method, target, fields, head, body)
            reply = error_reply(400, body.problem) if body.problem else self._backend(request)
            answered = time.perf_counter() - self._started
            exchange = Exchange(request, reply, to_bytes(reply), received, answered, for_model=not body.problem)
            self._exchanges.append(exchange)
        return exchange

    def wait(self) -> Run:
        """What is known of it when it has ended: the wire, as of any client that is not ours. Raises Stopped."""
        self._watched.tell("lane", port=None, model=self._watched.task.model, tools=[])
        while not self.ended.wait(0.02):
            if self._watched.show.stopped.is_set():
                raise Stopped
        return self._watched.run(seconds=time.perf_counter() - self._started)
