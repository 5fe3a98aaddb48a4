"""How a scenario file is told that what a lane does now is what is expected of it."""

import json
import re
from collections.abc import Sequence

from compare.comparison import Comparison
from compare.findings import BETWEEN_LANES
from compare.judge import Judged
from compare.known import always_expected
from compare.scenario import Expectation, Scenario

NOBODY = ""
"""A lane that no table names: what is expected of it is what is expected of every lane."""


def accept(scenario: Scenario, comparisons: Sequence[Comparison]) -> bool:
    """Write into the scenario's file what each lane did, where it is not what is expected of every lane.

    `comparisons` has one for each mode of the scenario. Only the tables of these lanes, at the file's end, are written
    anew: `[expect.LANE]`, and `[expect_stream.LANE]` where the stream went otherwise. Returns whether the file changed.
    """
    text = scenario.path.read_text(encoding="utf-8")
    new = text
    for number, lane in enumerate(comparisons[0].lanes):
        first, *second = [(one.mode, done(one.lanes[number])) for one in comparisons]
        name = lane.run.lane
        new = without_table(without_table(new, "expect", name), "expect_stream", name)
        usual = scenario.expected(NOBODY, first[0])
        if first[1] != usual:
            new = f"{new.rstrip()}\n\n{table('expect', name, first[1])}"
        for mode, did in second:
            other = scenario.expected(NOBODY, mode)
            if did != (first[1] if other == usual else other):
                new = f"{new.rstrip()}\n\n{table('expect_stream', name, did)}"
    new = new.rstrip("\n") + "\n"
    if new != text:
        scenario.path.write_text(new, encoding="utf-8")
    return new != text


def done(lane: Judged) -> Expectation:
    """What a lane did, as an expectation: without the findings that it gives everywhere, and those between lanes."""
    keys = {finding.key for finding in lane.findings if finding.kind not in BETWEEN_LANES}
    everywhere = always_expected(lane.run.lane, lane.run.task.stream)
    return Expectation(lane.observed, tuple(sorted(keys.difference(everywhere))))


def table(kind: str, lane: str, did: Expectation) -> str:
    """The TOML table of a lane; JSON's strings and lists are TOML's too."""
    name = lane if re.fullmatch(r"[\w-]+", lane) else json.dumps(lane)
    lines = [f"[{kind}.{name}]", f"stop = {json.dumps(did.stop)}"]
    if did.findings:
        lines += ["findings = [", *(f"  {json.dumps(key, ensure_ascii=False)}," for key in did.findings), "]"]
    return "\n".join(lines) + "\n"


def without_table(text: str, kind: str, lane: str) -> str:
    """The text without the lane's table."""
    head = re.escape(f"[{kind}.{lane}]") + "|" + re.escape(f"[{kind}.{json.dumps(lane)}]")
    return re.sub(rf"^(?:{head})[^\n]*\n(?:(?!\[).*\n?)*", "", text, flags=re.MULTILINE)
