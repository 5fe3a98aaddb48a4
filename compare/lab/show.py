"""One show: what happens in the lanes, event by event, for each page that looks, and the gate that holds replies."""

import threading
import time
from typing import Any

AT_ONCE, SLOWLY, BY_STEPS = "once", "slow", "step"
PACES = (AT_ONCE, SLOWLY, BY_STEPS)
"""How replies go out: at once, each after PAUSE seconds, or each when the reader asks for the next step."""
PAUSE = 0.9
PATIENCE = 3600.0
"""Seconds that a reply waits for the reader at the most."""
MAX_EVENTS = 20_000


class Stopped(Exception):
    """The reader has stopped the show."""


class Show:
    """A list of events that only grows, until `over` is set.

    Each event is a dict of built-ins with its `kind`, and with `at`, the seconds since the show began. `stopped` is set
    when the reader has had enough: from then on no reply is asked for.
    """

    def __init__(self, pace: str = AT_ONCE) -> None:
        self.stopped, self.over = threading.Event(), threading.Event()
        self._pace, self._steps = pace, 0
        self._events: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._started = time.perf_counter()

    def tell(self, kind: str, **more: Any) -> None:
        """Add an event."""
        with self._changed:
            if len(self._events) < MAX_EVENTS:  # a lane that never ends must not fill the memory
                self._events.append({"kind": kind, "at": round(time.perf_counter() - self._started, 4), **more})

    def since(self, number: int) -> list[dict[str, Any]]:
        """The events from this number on."""
        with self._changed:
            return self._events[number:]

    def step(self) -> None:
        """Let every lane have its next reply."""
        with self._changed:
            self._steps += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """End it: nothing that waits at the gate gets a reply."""
        self.stopped.set()
        with self._changed:
            self._changed.notify_all()

    def wait(self, number: int) -> None:
        """Wait until the `number`-th reply of a lane, from 1, may be asked for. Raises Stopped."""
        if self._pace == BY_STEPS:
            with self._changed:
                came = self._changed.wait_for(lambda: self._steps >= number or self.stopped.is_set(), PATIENCE)
            if not came:
                self.stop()
        elif self._pace == SLOWLY:
            self.stopped.wait(PAUSE)
        if self.stopped.is_set():
            raise Stopped
