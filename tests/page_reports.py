"""Reports to make pages from: small ones of the catalogue, of lanes with one fault, and with every text hostile."""

import functools
import json
from typing import Any

from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.page.document import small, wires_of
from compare.page.everyday import everyday
from compare.report import report
from compare.scenario import CATALOGUE_FOLDER, load
from tests.scoreboard import beside_a_faithful_lane

NAMES = (
    "two-calls-in-one-turn",
    "one-call",
    "reasoning-content-lost",
    "one-broken-one-good-call",
    "control-characters-in-an-answer",
    "id-missing",
)
ATTACK = (
    "\"'><img src=https://evil.example/x onerror=window.ran=1><script>window.ran=1</script></title></style></script>"
    "<!-- <svg onload=window.ran=1></pre></td></details>{{7*7}}${7*7}<a href=https://evil.example/>go</a>"
    "<style>*{display:none}</style><base href=//evil.example>\u202e\u2066\x00\x1b[31m\u200b\ud800"
    "javascript:window.ran=1 `"
)
WORDS = {"same", "equivalent", "different", "plain", "stream", "sent", "final", "kept", "absent", "info", "notice"}
WORDS |= {"serious", "whole", "cut", "reset", "stall", "diptych-report", "tools", "parameters"}
"""What the form of a report fixes."""
FREE = ("message", "said", "expected", "found", "usage", "result")
"""Keys of a report whose values may be anything."""
KEYS = ("role", "content", "tool_calls", "function", "id", "name", "arguments", "tool_call_id")
"""Keys of messages that the page looks at."""


@functools.cache
def catalogue_text() -> str:
    lanes = load_lanes("raw,lc")
    scenarios = [load(CATALOGUE_FOLDER / f"{name}.toml") for name in NAMES]
    return json.dumps(report([compare_scenario(one, lanes, mode) for one in scenarios for mode in one.modes]))


def of_catalogue(*names: str) -> dict[str, Any]:
    """The report on some of NAMES, in every mode; on all of them where none is named."""
    data: dict[str, Any] = json.loads(catalogue_text())
    wanted = names or NAMES
    data["comparisons"] = [one for one in data["comparisons"] if one["name"] in wanted]
    data["volatile"]["runs"] = [run for run in data["volatile"]["runs"] if run["comparison"] in wanted]
    data["modes"] = [one for one in data["modes"] if one["name"] in wanted]
    return data


def of_fault(name: str) -> dict[str, Any]:
    """The report on a lane with one fault beside a faithful one."""
    return report([beside_a_faithful_lane(name, "plain")])


def packed(data: dict[str, Any]) -> str:
    """The page as it is for a report that is too large."""
    return small(data, everyday(data), wires_of(data, light=False))


def hostile(value: Any, free: bool = False) -> Any:
    """A report with the attack behind every text of it but those that its form fixes; `free` of any form are messages.

    There the keys are hostile, too.
    """
    if isinstance(value, dict):
        keys = {name: name + ATTACK if free and name not in KEYS else name for name in value}
        return {keys[name]: hostile(inner, free or name in FREE) for name, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, free) for inner in value]
    if isinstance(value, str) and (free or value not in WORDS):
        return value + ATTACK
    return value
