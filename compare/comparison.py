"""One scenario through all lanes: the runs judged, the rows side by side, and what of it was expected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compare.backends import demo_model, script
from compare.findings import BETWEEN_LANES, INFO, Finding
from compare.judge import Judged, judge
from compare.known import always_expected
from compare.lanes import Lane
from compare.rows import DIFFERENT, EQUIVALENT, SAME, Row, align
from compare.runner import DEADLINE, Task, run_lane
from compare.scenario import Expectation, Scenario
from compare.server import Backend


@dataclass
class Comparison:
    """The lanes on one prompt.

    `surprises` lists for each lane what was not expected, and what was and did not come. `expected` is false where
    nothing was expected at all, as for a prompt of the user's.
    """

    name: str
    title: str
    teaches: str
    task: Task
    lanes: list[Judged]
    rows: list[Row]
    verdict: str
    surprises: dict[str, list[str]]
    expected: bool


def compare_scenario(scenario: Scenario, lanes: Sequence[Lane], deadline: float = DEADLINE) -> Comparison:
    """Run a scenario through the lanes, each against a server of its own, and compare."""
    task = Task(scenario.prompt, scenario.model, scenario.system, scenario.max_rounds, scenario.workspace)

    def backend() -> Backend:
        return script(scenario.replies, scenario.model)

    runs = [judge(run_lane(lane, task, backend(), deadline), len(scenario.replies)) for lane in lanes]
    return compare(scenario.name, scenario.title, scenario.teaches, task, runs, scenario.expected)


def compare_prompt(task: Task, lanes: Sequence[Lane]) -> Comparison:
    """Run a prompt of the user's through the lanes, with the demo model; nothing is expected, so nothing surprises."""
    runs = [judge(run_lane(lane, task, demo_model)) for lane in lanes]
    return compare("ask", task.prompt, "", task, runs, None)


def compare(
    name: str,
    title: str,
    teaches: str,
    task: Task,
    lanes: list[Judged],
    expected: Callable[[str], Expectation] | None,
) -> Comparison:
    """Lay judged runs of one task side by side. With one lane, the rows compare nothing and the findings speak."""
    rows = align(lanes)
    first = lanes[0]
    for lane in lanes[1:]:
        if lane.observed != first.observed:
            lane.findings.append(Finding("stop-reason", lane.run.lane, "stop", None, first.observed, lane.observed))
        for row in rows:
            cell = row.cells[lane.run.lane]
            if lane.run.lane in row.wording:
                told = first_content(row, first.run.lane), first_content(row, lane.run.lane)
                path = f"messages[{cell.index}].content"
                lane.findings.append(Finding("error-wording", lane.run.lane, path, row.round + 1, *told))
    verdicts = {row.verdict for row in rows}
    parted = any(outcome(lane) != outcome(first) for lane in lanes)
    verdict = DIFFERENT if parted or DIFFERENT in verdicts else EQUIVALENT if EQUIVALENT in verdicts else SAME
    surprises = {lane.run.lane: surprises_of(lane, expected(lane.run.lane)) if expected else [] for lane in lanes}
    return Comparison(name, title, teaches, task, lanes, rows, verdict, surprises, expected is not None)


def outcome(lane: Judged) -> tuple[str, set[str]]:
    """How a lane ended, and what was found in it that is more than cosmetic."""
    return lane.observed, {one.key for one in lane.findings if one.severity != INFO and one.kind not in BETWEEN_LANES}


def first_content(row: Row, lane: str) -> object:
    """The content of a lane's message in the row."""
    message = row.cells[lane].message
    return message.get("content") if isinstance(message, dict) else None


def surprises_of(lane: Judged, expectation: Expectation) -> list[str]:
    """What is not as expected of this lane, in words."""
    wanted = set(expectation.findings)
    if lane.told.turns:
        wanted |= set(always_expected(lane.run.lane))
    came = {finding.key for finding in lane.findings if finding.kind not in BETWEEN_LANES}
    out = []
    if lane.observed != expectation.stop:
        out.append(f"stop is {lane.observed}, expected {expectation.stop}")
    out += [f"not expected: {key}" for key in sorted(came - wanted)]
    out += [f"expected, and gone: {key}" for key in sorted(wanted - came)]
    return out
