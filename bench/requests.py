"""What one request costs in each way to write the loop, side by side, and whether lc.sturdy keeps what it promises."""

import importlib
import importlib.util
from collections.abc import Iterable, Mapping

from bench.lanes import ROUNDS, calls, in_turn, lane

CONTENDERS = {
    "raw": ("raw:run", "raw"),
    "lc": ("lc:run", "lc"),
    "lc.sturdy": ("lc.sturdy:run", "lc"),
    "lc.prebuilt": ("lc.prebuilt:run", "langchain"),
    "openai SDK": ("bench.others:openai_sdk", "openai"),
    "openai-agents": ("bench.others:openai_agents", "agents"),
    "pydantic-ai": ("bench.others:pydantic_ai", "pydantic_ai"),
}
"""By the name that is printed: where its run is, and the package without which it is left out."""

TIMES = {1: 15, 10: 7, 100: 2, 400: 1}
"""Runs of each, by rounds: a long run is a mean of many requests already, and 400 rounds take most half a minute."""

CALLS = (10, 55, 100)
CHEAPER = 8
"""How many times cheaper than lc the longest conversation is in lc.sturdy, at least."""


def there(contenders: Mapping[str, tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    """Those whose package is installed, by name with where they are; and the names of the others."""
    found = {name: where for name, (where, package) in contenders.items() if importlib.util.find_spec(package)}
    return found, [name for name in contenders if name not in found]


def table(
    base_url: str,
    contenders: Mapping[str, tuple[str, str]] = CONTENDERS,
    times: Mapping[int, int] = TIMES,
) -> Iterable[str]:
    """CPU milliseconds per request, a line for each number of rounds, then the promises of lc.sturdy.

    A figure is the mean over all requests of a whole run, which builds its client, its graph and its tools anew.
    """
    found, missing = there(contenders)
    runs = {
        name: getattr(importlib.import_module(where.split(":")[0]), where.split(":")[1])
        for name, where in found.items()
    }
    yield "CPU ms per request, in conversations of so many rounds"
    yield " | ".join(["rounds", *(f"{name:>7}" for name in runs)])
    if missing:
        yield f"not installed, and left out: {', '.join(missing)}"
    in_turn({name: lane(run, base_url, 1) for name, run in runs.items()}, 2, 1)  # imports, caches
    costs = {}
    for rounds, often in times.items():
        costs[rounds] = in_turn({name: lane(run, base_url, rounds) for name, run in runs.items()}, rounds + 1, often)
        yield " | ".join([f"{rounds:6}", *(f"{cost:{max(7, len(name))}.2f}" for name, cost in costs[rounds].items())])
    yield from promises({rounds: (row["lc"], row["lc.sturdy"]) for rounds, row in costs.items()})


def promises(costs: Mapping[int, tuple[float, float]]) -> Iterable[str]:
    """The costs of lc and lc.sturdy by rounds, as ratios beside what is promised of them."""
    for rounds, (textbook, sturdy) in costs.items():
        least = CHEAPER if rounds == max(ROUNDS) else 1
        kept = "kept" if textbook / sturdy >= least else "BROKEN"
        yield f"lc / lc.sturdy at {rounds} rounds: {textbook / sturdy:.2f} (promised: at least {least}) {kept}"


def counts(base_url: str, sizes: tuple[int, int, int] = CALLS) -> Iterable[str]:
    """Function calls per request of lc and lc.sturdy, and how many a round of history adds to each request."""
    import lc
    import lc.sturdy

    for name, run in (("lc", lc.run), ("lc.sturdy", lc.sturdy.run)):
        per_request = {rounds: calls(lane(run, base_url, rounds), rounds + 1) for rounds in sizes}
        shown = ", ".join(f"{count:.0f} at {rounds} rounds" for rounds, count in per_request.items())
        yield f"function calls per request, {name}: {shown}; a round of history adds {growth(per_request):.1f}"


def growth(per_request: Mapping[int, float]) -> float:
    """Calls that a round of history adds to a request, from conversations of three sizes that are as far apart.

    The start of a run and what a request costs without a history fall out of the second difference.
    """
    (first, one), (second, two), (third, three) = ((size, count * (size + 1)) for size, count in per_request.items())
    assert second - first == third - second  # noqa: S101 # else it would be no second difference
    return (three - 2 * two + one) / (second - first) ** 2
