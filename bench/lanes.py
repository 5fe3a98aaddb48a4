"""What one request costs a lane, beside a bare httpx post of the same bytes: CPU time and function calls."""

import cProfile
import pstats
import time
from collections.abc import Callable, Iterable

import httpx

from bench.model import ARGUMENTS, message
from protocol import opening, tool_message
from raw.history import History
from toolbox import Tool, execute

ROUNDS = (1, 10, 100, 400)
LC_ROUNDS = (1, 10, 100)
"""The LangGraph lane stops earlier: at 400 rounds it takes half a minute a run."""


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


def bare(base_url: str, rounds: int) -> Callable[[], None]:
    """A run that posts the prepared bodies and nothing more."""
    bodies = prepared(rounds)
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}

    def run() -> None:
        with httpx.Client(headers=headers, timeout=60, verify=False) as client:  # noqa: S501 # http
            for body in bodies:
                client.post(f"{base_url}/chat/completions", content=body)

    return run


def lane(run: Callable[..., object], base_url: str, rounds: int) -> Callable[[], None]:
    """A run of a lane."""

    def once() -> None:
        run("go", [TOOL], base_url=base_url, model=f"rounds-{rounds}", api_key="k", max_rounds=rounds + 1)

    return once


def cpu(run: Callable[[], None], requests: int, least: int = 200) -> float:
    """Milliseconds of CPU time per request: the median of at least three runs that make `least` requests or more."""
    run()
    times = []
    for _ in range(max(3, least // requests)):
        start = time.process_time()
        run()
        times.append((time.process_time() - start) / requests * 1000)
    return sorted(times)[len(times) // 2]


def calls(run: Callable[[], None], requests: int) -> float:
    """Function calls per request, as cProfile counts them: exact, whatever else the machine does."""
    run()
    profile = cProfile.Profile()
    profile.runcall(run)
    total: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined] # typeshed leaves it out
    return total / requests


def table(base_url: str) -> Iterable[str]:
    """The lines of the report."""
    import lc
    import raw

    yield "rounds | bare httpx ms | raw ms | ratio | bare calls | raw calls | more | lc ms | lc calls"
    costs: dict[int, tuple[float, float]] = {}
    for rounds in ROUNDS:
        requests = rounds + 1
        plain, ours = bare(base_url, rounds), lane(raw.run, base_url, rounds)
        # In turn, so that what else the machine does weighs on both.
        pairs = [(cpu(plain, requests), cpu(ours, requests)) for _ in range(3)]
        one, other = (sorted(column)[1] for column in zip(*pairs, strict=True))
        costs[rounds] = one, other
        few, more = calls(plain, requests), calls(ours, requests)
        line = f"{rounds:6} | {one:.3f} | {other:.3f} | {other / one:.2f} | {few:.0f} | {more:.0f} | {more - few:.0f}"
        if rounds in LC_ROUNDS:
            graph = lane(lc.run, base_url, rounds)
            line += f" | {cpu(graph, requests, 20):.2f} | {calls(graph, requests):.0f}"
        yield line
    # The mean history of a run is half its rounds; what httpx itself pays for longer bodies is taken off.
    growth = ((costs[400][1] - costs[400][0]) - (costs[10][1] - costs[10][0])) * 1000 / (200 - 5)
    yield f"raw beyond httpx, per round of history: {growth:.3f} microseconds"
