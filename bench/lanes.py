"""What one request costs: CPU time and function calls of a run, and the raw lane beside a bare httpx post."""

import _thread
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import httpx

from bench.model import ARGUMENTS, message
from protocol import opening, tool_message
from raw.history import History
from toolbox import Tool, execute

Once = Callable[[], object]
"""One whole run, with nothing left to say."""

ROUNDS = (1, 10, 100, 400)


def echo(text: str) -> str:
    """Give the text back: a tool that costs next to nothing."""
    return text


SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
TOOL = Tool("echo", "Give the text back.", SCHEMA, echo)


def prepared(rounds: int) -> list[bytes]:
    """The request bodies that the raw lane sends in a conversation of so many rounds."""
    history = History(f"rounds-{rounds}", [TOOL], opening("go", None))
    bodies = [history.request()]
    for number in range(rounds):
        history.add(dict(message(number, rounds)))
        history.add(tool_message(f"call_{number}", execute({"echo": TOOL}, "echo", ARGUMENTS)))
        bodies.append(history.request())
    return bodies


def bare(base_url: str, rounds: int) -> Once:
    """A run that posts the prepared bodies and nothing more."""
    bodies = prepared(rounds)
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}

    def run() -> None:
        with httpx.Client(headers=headers, timeout=60, verify=False) as client:  # noqa: S501 # http
            for body in bodies:
                client.post(f"{base_url}/chat/completions", content=body)

    return run


def lane(run: Callable[..., object], base_url: str, rounds: int) -> Once:
    """A run of a lane."""

    def once() -> object:
        return run("go", [TOOL], base_url=base_url, model=f"rounds-{rounds}", api_key="k", max_rounds=rounds + 1)

    return once


def median(numbers: Iterable[float]) -> float:
    """The middle one; of an even number, the lower of the two: noise only ever adds."""
    ordered = sorted(numbers)
    return ordered[(len(ordered) - 1) // 2]


def in_turn(runs: Mapping[str, Once], requests: int, times: int) -> dict[str, float]:
    """Milliseconds of CPU time per request, by name: the median of so many runs.

    The runs take turns, so that what else the machine does weighs on all of them.
    """
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            start = time.process_time()
            run()
            costs[name].append((time.process_time() - start) / requests * 1000)
    return {name: median(some) for name, some in costs.items()}


def calls(run: Once, requests: int) -> float:
    """Function calls per request, of Python and of C, in all threads.

    They repeat whatever else the machine does, but for the few that depend on which of two threads is first.
    """
    run()
    tick = itertools.count()
    start_new_thread = _thread.start_new_thread

    def note(_frame: Any, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            next(tick)

    def counted(function: Callable[..., object], arguments: Sequence[Any]) -> int:
        def work() -> None:
            sys.setprofile(note)
            function(*arguments)

        return start_new_thread(work, ())

    # Two ways to start a thread: threading tells of its own, and _thread must be listened to.
    with patch.object(_thread, "start_new_thread", counted):
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return next(tick) / requests


def table(base_url: str, sizes: Sequence[int] = ROUNDS, least: int = 200) -> Iterable[str]:
    """The raw lane beside a bare post of the same bytes, on at least so many requests a size."""
    import raw

    yield "rounds | bare httpx ms | raw ms | ratio | bare calls | raw calls | more"
    beyond: dict[int, float] = {}
    for rounds in sizes:
        requests = rounds + 1
        runs = {"bare": bare(base_url, rounds), "raw": lane(raw.run, base_url, rounds)}
        one, other = in_turn(runs, requests, max(3, 3 * least // requests)).values()
        beyond[rounds] = other - one
        few, more = (calls(run, requests) for run in runs.values())
        yield f"{rounds:6} | {one:.3f} | {other:.3f} | {other / one:.2f} | {few:.0f} | {more:.0f} | {more - few:.0f}"
    short, long = sizes[1], sizes[-1]
    # The mean history of a run is half its rounds; what httpx itself pays for longer bodies is taken off.
    growth = (beyond[long] - beyond[short]) * 1000 / ((long - short) / 2)
    yield f"raw beyond httpx, per round of history: {growth:.3f} microseconds"
