"""The smallest scenario that shows what a recording shows: for a bug report, to be run by anyone without the model."""

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from compare.accept import accept
from compare.comparison import Comparison, compare, compare_scenario
from compare.findings import INFO
from compare.judge import judge
from compare.lanes import Lane
from compare.recording.draft import Draft, draft_of
from compare.recording.load import RecordedRun, Recording
from compare.recording.replay import prompts_of
from compare.runner import Task
from compare.scenario import ScenarioError, load
from compare.secrets import Masker

MOST_SECONDS = 60.0
"""What a reduction may take: lanes that wait between retries make a single run of them last for seconds."""
Shown = frozenset[tuple[str, str]]
"""What a comparison shows of each lane: how it ended, and its findings without the places, which a reduction moves."""


def write_minimal(recording: Recording, lanes: Sequence[Lane], out: Path, masker: Masker) -> tuple[Shown, Shown]:
    """Write the scenario for the first prompt of a recording; returns what it shows, and what it lacks.

    What each lane does with the recorded replies is what the file expects of it. Lacking is what was recorded of these
    lanes and does not come of the replies of the first one: they got others, or do otherwise now. Raises OSError.
    """
    task, recorded = prompts_of(recording)[0]
    draft, shorter = (masked(draft_of(recorded[0].run, exact), masker) for exact in (True, False))
    wanted = shown_by(run(draft, lanes))
    if shown_by(run(shorter, lanes)) == wanted:
        draft = shorter
    if differs(wanted):
        draft = reduced(draft, lanes, wanted)
    out.write_text(replace(draft, teaches=sentence(wanted)).text(), encoding="utf-8")
    scenario = load(out)
    result = compare_scenario(scenario, lanes, draft.mode)
    accept(scenario, [result])
    return shown_by(result), then_shown(task, recorded, lanes) - wanted


def then_shown(task: Task, recorded: Sequence[RecordedRun], lanes: Sequence[Lane]) -> Shown:
    """What the recorded runs of these lanes show."""
    names = {lane.name for lane in lanes}
    judged = [judge(one.run) for one in recorded if one.run.lane in names]
    return shown_by(compare("", "", "", task, judged, None)) if judged else frozenset()


def reduced(draft: Draft, lanes: Sequence[Lane], wanted: Shown) -> Draft:
    """The draft without whatever it can lose and still show the same."""
    until = time.monotonic() + MOST_SECONDS
    smaller: Draft | None = draft
    while smaller is not None:
        draft, smaller = smaller, None
        for candidate in without_one_thing(draft):
            if time.monotonic() > until:
                return draft
            if shown_by(run(candidate, lanes)) == wanted:
                smaller = candidate
                break
    return draft


def without_one_thing(draft: Draft) -> Iterator[Draft]:
    """The draft without one of its replies, its files, or its system text."""
    for index in range(len(draft.replies) if len(draft.replies) > 1 else 0):
        yield replace(draft, replies=draft.replies[:index] + draft.replies[index + 1 :])
    for index in range(len(draft.workspace)):
        yield replace(draft, workspace=draft.workspace[:index] + draft.workspace[index + 1 :])
    if draft.system is not None:
        yield replace(draft, system=None)


def run(draft: Draft, lanes: Sequence[Lane]) -> Comparison | None:
    """Run a draft; None where it makes no scenario."""
    with tempfile.TemporaryDirectory(prefix="diptych-") as folder:
        path = Path(folder) / "minimal.toml"
        path.write_text(draft.text(), encoding="utf-8")
        try:
            return compare_scenario(load(path), lanes, draft.mode)
        except ScenarioError:
            return None


def shown_by(comparison: Comparison | None) -> Shown:
    """What a comparison shows."""
    if comparison is None:
        return frozenset()
    stops = {(lane.run.lane, f"stop {lane.observed}") for lane in comparison.lanes}
    found = {
        (lane.run.lane, re.sub(r"\[\d+\]|\d+", "", one.key))
        for lane in comparison.lanes
        for one in lane.findings
        if one.severity != INFO
    }
    return frozenset(stops | found)


def differs(shown: Shown) -> bool:
    """Whether there is anything but lanes that end alike."""
    return any(not what.startswith("stop ") for _, what in shown) or len({what for _, what in shown}) > 1


def sentence(shown: Shown) -> str:
    """What is shown, in one sentence for the scenario."""
    told = "; ".join(f"{lane}: {what}" for lane, what in sorted(shown) if not what.startswith("stop "))
    return f"Found in a recording: {' '.join(told.split()) or 'the lanes do the same'}."


def masked(draft: Draft, masker: Masker) -> Draft:
    """The draft without secrets."""
    return replace(
        draft,
        prompt=masker.text(draft.prompt),
        system=None if draft.system is None else masker.text(draft.system),
        replies=tuple(tuple(masker.text(line) for line in reply) for reply in draft.replies),
        workspace=tuple((masker.text(name), masker.text(text)) for name, text in draft.workspace),
    )
