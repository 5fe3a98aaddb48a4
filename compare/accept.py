"""How a scenario file is told that what a lane does now is what is expected of it."""

import json
import re
from collections.abc import Sequence

from compare.comparison import Comparison
from compare.findings import BETWEEN_LANES
from compare.judge import Judged
from compare.known import always_expected
from compare.scenario import Expectation, Scenario


def accept(scenario: Scenario, comparison: Comparison) -> bool:
    """Write into the scenario's file what each lane did, where it is not what is expected of every lane.

    Only the tables of these lanes, at the file's end, are written anew. Returns whether the file changed.
    """
    text = scenario.path.read_text(encoding="utf-8")
    new = text
    for lane in comparison.lanes:
        new = without_table(new, lane.run.lane)
        did = Expectation(lane.observed, tuple(keys_of(lane)))
        if did != scenario.expect[""]:
            new = f"{new.rstrip()}\n\n{table(lane.run.lane, did)}"
    if new != text:
        scenario.path.write_text(new, encoding="utf-8")
    return new != text


def keys_of(lane: Judged) -> Sequence[str]:
    """The findings of the lane as an expectation names them, without those that it has everywhere."""
    everywhere = always_expected(lane.run.lane)
    keys = {finding.key for finding in lane.findings if finding.kind not in BETWEEN_LANES}
    return sorted(keys.difference(everywhere))


def table(lane: str, did: Expectation) -> str:
    """The TOML table of a lane; JSON's strings and lists are TOML's too."""
    name = lane if re.fullmatch(r"[\w-]+", lane) else json.dumps(lane)
    lines = [f"[expect.{name}]", f"stop = {json.dumps(did.stop)}"]
    if did.findings:
        lines += ["findings = [", *(f"  {json.dumps(key, ensure_ascii=False)}," for key in did.findings), "]"]
    return "\n".join(lines) + "\n"


def without_table(text: str, lane: str) -> str:
    """The text without the lane's table."""
    head = re.escape(f"[expect.{lane}]") + "|" + re.escape(f"[expect.{json.dumps(lane)}]")
    return re.sub(rf"^(?:{head})[^\n]*\n(?:(?!\[).*\n?)*", "", text, flags=re.MULTILINE)
