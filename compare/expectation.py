"""What a scenario expects of each lane in each mode, and how its file says so."""

import difflib
from dataclasses import dataclass

from compare.toml_table import Table, either
from protocol.stop import STOP_REASONS

_KEYS = ("stop", "findings")


@dataclass(frozen=True)
class Expectation:
    """How a run is expected to end, and the findings ("class place") that it is expected to give."""

    stop: str
    findings: tuple[str, ...] = ()


def read_expectations(top: Table, key: str, default: bool = True) -> dict[str, Expectation]:
    """The table of this key: lane names with what is expected of them, and "" with what is expected of all others.

    The table may speak of single lanes only, or be missing: with `default`, all others are then expected to answer and
    to give no finding. Raises `ScenarioError`.
    """
    values = top.get(key, dict) or {}
    table = top.inner(key, values)
    lanes = {name: value for name, value in values.items() if name not in _KEYS}
    for name, value in lanes.items():
        if type(value) is not dict:
            table.only(_KEYS, f"the table of a lane is written [{key}.{name}]")
    expect = {"": Expectation("answer")} if default else {}
    if len(lanes) < len(values):
        expect[""] = _expectation(table)
    for name, value in lanes.items():
        lane = top.inner(f"{key}.{name}", value)
        lane.only(_KEYS, f'a lane with a dot in its name is quoted: [{key}."{name}.{next(iter(value), "")}"]')
        expect[name] = _expectation(lane)
    return expect


def _expectation(table: Table) -> Expectation:
    stop = table.need("stop", str)
    if stop not in STOP_REASONS:
        near = difflib.get_close_matches(stop, STOP_REASONS, n=1)
        mend = f"did you mean {either(near)}?" if near else f"the words are {', '.join(STOP_REASONS)}"
        raise table.wrong(f"{stop!r} is not a stop reason; {mend}")
    return Expectation(stop, table.strings("findings"))
