"""One scenario through all lanes: the runs judged, the rows side by side, and what of it was expected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compare.backends import demo_model, script
from compare.findings import BETWEEN_LANES, INFO, Finding
from compare.judge import Judged, judge
from compare.known import always_expected
from compare.lanes import Lane
from compare.modes import PLAIN, STREAM, Across, across
from compare.profiles import enforcing
from compare.rows import DIFFERENT, EQUIVALENT, SAME, Row, align
from compare.runner import DEADLINE, Task, run_lane
from compare.scenario import Expectation, Scenario
from compare.server import Backend
from protocol.profile import Profile, profile

if TYPE_CHECKING:
    from compare.recording.recorder import Recorder


@dataclass
class Comparison:
    """The lanes on one prompt.

    `surprises` lists for each lane what was not expected, and what was and did not come. `expected` is false where
    nothing was expected at all, as for a prompt of the user's. `profile` names the provider whose rules the model
    server enforced, if it did. `live` is what the report says of a run against a live endpoint.
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
    profile: str = ""
    live: dict[str, Any] | None = None

    @property
    def mode(self) -> str:
        """How the model's replies came."""
        return STREAM if self.task.stream else PLAIN


def compare_scenario(
    scenario: Scenario,
    lanes: Sequence[Lane],
    mode: str = PLAIN,
    enforced: Profile | None = None,
    deadline: float = DEADLINE,
    recorder: "Recorder | None" = None,
) -> Comparison:
    """Run a scenario through the lanes in one mode, each against a server of its own, and compare.

    With a profile enforced, the server refuses what that provider would; then nothing is expected. `deadline` is in
    seconds, for one lane; `recorder` writes down the runs.
    """
    task = task_of(scenario, mode)
    # What is refused uses up no reply, so that requests and replies cannot be counted against each other then.
    scripted = None if enforced else len(scenario.replies)

    def backend() -> Backend:
        return enforced_or_not(script(scenario.replies, scenario.model), enforced)

    profiles = watched(scenario, enforced)
    runs = [judge(run_lane(lane, task, backend(), deadline, recorder=recorder), scripted, profiles) for lane in lanes]
    expected = None if enforced else lambda lane: scenario.expected(lane, mode)
    return compare(scenario.name, scenario.title, scenario.teaches, task, runs, expected, enforced)


def enforced_or_not(backend: Backend, enforced: Profile | None) -> Backend:
    """The backend, behind the profile's rules where they are enforced."""
    return enforcing(backend, enforced) if enforced else backend


def watched(scenario: Scenario | None, enforced: Profile | None) -> list[Profile]:
    """The profiles whose breaches are findings, besides OpenAI's."""
    named = [profile(name) for name in scenario.profiles] if scenario else []
    return [*named, *([enforced] if enforced else [])]


def task_of(scenario: Scenario, mode: str) -> Task:
    """What a scenario asks of a lane, in one of its modes."""
    return Task(
        scenario.prompt,
        scenario.model,
        scenario.system,
        scenario.max_rounds,
        scenario.workspace,
        stream=mode == STREAM,
        timeout=scenario.timeout,
        write=scenario.write,
    )


def compare_prompt(
    task: Task, lanes: Sequence[Lane], enforced: Profile | None = None, recorder: "Recorder | None" = None
) -> Comparison:
    """Run a prompt of the user's through the lanes, with the demo model; nothing is expected, so nothing surprises."""
    runs = [
        judge(
            run_lane(lane, task, enforced_or_not(demo_model, enforced), recorder=recorder),
            None,
            watched(None, enforced),
        )
        for lane in lanes
    ]
    return compare("ask", task.prompt, "", task, runs, None, enforced)


def compare(
    name: str,
    title: str,
    teaches: str,
    task: Task,
    lanes: list[Judged],
    expected: Callable[[str], Expectation] | None,
    enforced: Profile | None = None,
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
    name_of_profile = enforced.name if enforced else ""
    return Comparison(
        name, title, teaches, task, lanes, rows, verdict, surprises, expected is not None, name_of_profile
    )


def outcome(lane: Judged) -> tuple[str, set[str]]:
    """How a lane ended, and what was found in it that is more than cosmetic."""
    return lane.observed, {one.key for one in lane.findings if one.severity != INFO and one.kind not in BETWEEN_LANES}


def across_modes(comparisons: Sequence[Comparison]) -> list[Across]:
    """Each lane against itself, on each scenario that ran in both modes."""
    by_mode = {(one.name, one.mode): one for one in comparisons}
    pairs = [(one, by_mode.get((one.name, STREAM))) for one in comparisons if one.mode == PLAIN]
    return [
        across(plain.name, lane, other)
        for plain, stream in pairs
        if stream is not None
        for lane, other in zip(plain.lanes, stream.lanes, strict=True)
    ]


def first_content(row: Row, lane: str) -> object:
    """The content of a lane's message in the row."""
    message = row.cells[lane].message
    return message.get("content") if isinstance(message, dict) else None


def surprises_of(lane: Judged, expectation: Expectation) -> list[str]:
    """What is not as expected of this lane, in words."""
    wanted = set(expectation.findings)
    if lane.told.turns:
        wanted |= set(always_expected(lane.run.lane, lane.run.task.stream))
    came = {finding.key for finding in lane.findings if finding.kind not in BETWEEN_LANES}
    out = []
    if lane.observed != expectation.stop:
        out.append(f"stop is {lane.observed}, expected {expectation.stop}")
    out += [f"not expected: {key}" for key in sorted(came - wanted)]
    out += [f"expected, and gone: {key}" for key in sorted(wanted - came)]
    return out
