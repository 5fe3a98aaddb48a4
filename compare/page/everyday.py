"""What nearly every run of a report has in common, which the page says once instead of everywhere."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

MANY = 10
"""Comparisons from which on a refusal that most runs would meet is said once."""


@dataclass(frozen=True)
class Everyday:
    """What is said once.

    `findings` are pairs of lane and key, with the runs that have them; `refusals` are pairs of profile and rule, with
    the number of runs.
    """

    findings: dict[tuple[str, str], int]
    refusals: dict[tuple[str, str], int]
    runs: int


def everyday(data: dict[str, Any]) -> Everyday:
    """Findings of severity info that (nearly) every run in a mode has, and the refusals that most runs would meet."""
    runs: Counter[tuple[str, str]] = Counter()
    keys: Counter[tuple[str, str, str]] = Counter()
    refusals: Counter[tuple[str, str]] = Counter()
    for one in data["comparisons"]:
        for lane in one["lanes"]:
            runs[lane["name"], one["mode"]] += bool(lane["requests"])
            keys.update({(lane["name"], one["mode"], it["key"]) for it in lane["findings"] if it["severity"] == "info"})
            refusals.update({(name, rule_of(where)) for name, where in lane["refused_by"].items()})
    common: Counter[tuple[str, str]] = Counter()
    for (lane, mode, key), count in keys.items():
        # A scenario that is about the difference itself may be the one without it.
        if count >= max(runs[lane, mode] * 0.95, 2):
            common[lane, key] += count
    several = len(data["comparisons"]) >= MANY
    usual = {pair: count for pair, count in refusals.items() if several and count * 2 >= runs.total()}
    return Everyday(dict(common), usual, runs.total())


def rule_of(where: str) -> str:
    """The rule of "rule at path"."""
    return where.partition(" at ")[0]
