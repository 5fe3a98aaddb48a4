"""The clock of a whole reply: a read timeout of httpx starts anew with every byte, so a drip would never end."""

import _thread
import contextlib
import math
import socket
import threading
from time import monotonic
from typing import Any

CONNECTED = {"connection.connect_tcp.complete", "connection.start_tls.complete", "proxy.start_tls.complete"}
"""The events of httpx's trace that bring a new connection."""

SHORTEST_SLEEP = 0.005
GRACE = 0.5
"""Seconds that a server has behind [DONE] to end its reply. Only then can the connection be used again."""


class Watch:
    """Shuts the connection when a reply takes longer than `seconds`, so that whoever waits for a byte of it goes on.

    `stream` is the connection, as httpx names it in a response's extensions.

    One thread for a whole run. It sleeps at most `seconds` at a time, and so wakes before the end of any time that is
    set while it sleeps: starting a reply wakes nobody.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.expired = False
        self.stream: Any = None
        self._end = math.inf
        self._closed = False
        self._asleep = threading.Lock()
        self._asleep.acquire()
        # threading.Thread would cost a short run more than one of its requests does.
        _thread.start_new_thread(self._watch, ())

    def start(self) -> None:
        """A request goes out: its reply has `seconds` from now."""
        self.expired = False
        self._end = monotonic() + self.seconds

    def hasten(self, seconds: float) -> None:
        """Wait no longer than these seconds from now."""
        self._end = min(self._end, monotonic() + seconds)
        self._wake()

    def stop(self) -> None:
        """The reply is there."""
        self._end = math.inf

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._wake()

    def extensions(self) -> dict[str, Any]:
        """What a request takes along, so that a connection is known before its first response is.

        Only where one will be made: a trace costs more than all else that this lane does for a request.
        """
        known = self.stream is not None and self.stream.get_extra_info("socket").fileno() >= 0
        return {} if known else {"trace": self._trace}

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event in CONNECTED:
            self.stream = info["return_value"]
            if self.expired:
                self._shut()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # awake already
            self._asleep.release()

    def _watch(self) -> None:
        while not self._closed:
            left = self._end - monotonic()
            if left <= 0:
                self._shut()
            # Not longer than `seconds`: a reply that starts meanwhile has at least as long.
            self._asleep.acquire(timeout=min(max(min(left, self.seconds), SHORTEST_SLEEP), threading.TIMEOUT_MAX))

    def _shut(self) -> None:
        self.expired = True
        self._end = math.inf
        if self.stream is not None:
            with contextlib.suppress(OSError):  # closed already
                # As a plain socket: shutting down a TLS socket would first take its state from the thread that reads.
                socket.socket.shutdown(self.stream.get_extra_info("socket"), socket.SHUT_RDWR)
