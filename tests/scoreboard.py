"""The judge on trial: `python -m tests.scoreboard` prints which faults it caught and missed, and its false alarms.

Two faults of streams have no miniature: whoever adds up the usages of all chunks, or joins two finish reasons, keeps
that inside. Nothing of it crosses the wire, and the contract of a lane returns neither.
"""

import sys
from collections.abc import Iterator
from functools import cache

from compare.comparison import Comparison, compare_scenario
from compare.findings import BETWEEN_LANES
from compare.judge import Judged
from compare.lanes import Lane
from compare.modes import STREAM
from compare.process import loopback_only
from compare.scenario import Scenario, catalogue, load
from raw import run as raw_run
from tests.faithful import faithful
from tests.faults import FAULTS, STREAM_FAULTS
from tests.miniatures import MINIATURES
from tests.stream_miniatures import STREAM_MINIATURES

SCENARIOS = {path.stem: load(path) for path in catalogue()}
ALL_FAULTS = FAULTS | STREAM_FAULTS
ALL_MINIATURES = MINIATURES | STREAM_MINIATURES

INNOCENT = {"raw": raw_run, "faithful": faithful}
"""The lanes that do nothing wrong."""


def modes(name: str) -> tuple[str, ...]:
    """The modes in which a miniature's fault shows."""
    return (STREAM,) if name in STREAM_FAULTS else scenario_of(name).modes


def scenario_of(name: str) -> Scenario:
    """The scenario that shows a miniature's fault."""
    return SCENARIOS[ALL_FAULTS[name][0]]


@cache
def beside_a_faithful_lane(name: str, mode: str) -> Comparison:
    """The faithful lane and a miniature, on the miniature's scenario."""
    lanes = [Lane("faithful", faithful), Lane(name, ALL_MINIATURES[name])]
    return compare_scenario(scenario_of(name), lanes, mode)


@cache
def innocent(name: str, mode: str) -> Comparison:
    """The hand-written lane and the faithful one, on a scenario."""
    return compare_scenario(SCENARIOS[name], [Lane(*lane) for lane in INNOCENT.items()], mode)


def misses(name: str) -> list[str]:
    """The modes in which no finding of the fault's own class, in the miniature's name, is there."""
    own = ALL_FAULTS[name][1].split()[0]
    findings = {mode: beside_a_faithful_lane(name, mode).lanes[1].findings for mode in modes(name)}
    return [mode for mode in findings if not any((one.kind, one.lane) == (own, name) for one in findings[mode])]


def false_alarms(name: str, lane: str, mode: str) -> list[str]:
    """What the judge says against an innocent lane and a scenario does not expect, or the other way round, in words.

    Findings that speak of one lane against another are left out: another stop is told as such, and wording is free.
    """
    judged = judged_as(lane, innocent(name, mode))
    expected = SCENARIOS[name].expected(lane, mode)
    came = {finding.key for finding in judged.findings if finding.kind not in BETWEEN_LANES}
    wanted = set(expected.findings)
    alarms = [] if judged.observed == expected.stop else [f"stop is {judged.observed}, and not {expected.stop}"]
    return (
        alarms + [f"found: {key}" for key in sorted(came - wanted)] + [f"gone: {key}" for key in sorted(wanted - came)]
    )


def judged_as(lane: str, comparison: Comparison) -> Judged:
    """The lane with this name."""
    return next(judged for judged in comparison.lanes if judged.run.lane == lane)


def missed() -> Iterator[str]:
    """One line for each miniature that is not caught in every mode of its own."""
    for name in ALL_MINIATURES:
        if uncaught := misses(name):
            scenario, own, _ = ALL_FAULTS[name]
            yield f"missed: {name} on {scenario} ({', '.join(uncaught)}): no {own}"


def alarms() -> Iterator[str]:
    """One line for each false alarm, over all scenarios and their modes."""
    for name, scenario in SCENARIOS.items():
        for mode in scenario.modes:
            for lane in INNOCENT:
                for words in false_alarms(name, lane, mode):
                    yield f"false alarm: {lane} on {name} ({mode}): {words}"


def main() -> int:
    """Print the scoreboard; the exit code is 0 when all faults were caught and no innocent lane accused."""
    with loopback_only():
        lost, false = list(missed()), list(alarms())
    caught = len(ALL_MINIATURES) - len(lost)
    last = f"{caught} caught, {len(lost)} missed, {len(false)} false alarms"
    sys.stdout.write("".join(f"{line}\n" for line in (*lost, *false, last)))
    return 1 if lost or false else 0


if __name__ == "__main__":
    sys.exit(main())
