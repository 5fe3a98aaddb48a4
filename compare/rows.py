"""The lanes laid side by side: one row for each message of the conversation, one cell for each lane."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.back import assistant_of
from compare.calls import Call
from compare.diff import diff
from compare.judge import Judged
from compare.replies import compact
from compare.results import succeeded
from compare.tolerances import argument_bytes, error_wording, key_order, name_of, result_envelope
from compare.turns import Turn

SAME, EQUIVALENT, DIFFERENT = "same", "equivalent", "different"
VERDICTS = (SAME, EQUIVALENT, DIFFERENT)


@dataclass
class Cell:
    """What one lane has at a row: the message it sent, or None; `state` says which.

    `sent` (it went to the model), `final` (the model's last word, which nobody need send back), `kept` (it did not go
    back, because the run ended there) or `absent`. `index` is where it stands in the lane's conversation. `tolerances`
    are those that it needs against what the model said.
    """

    state: str
    message: Any = None
    index: int | None = None
    call: Call | None = None
    tolerances: Sequence[str] = ()


@dataclass
class Row:
    """One message in every lane. `round` is 0 for the messages that open the conversation.

    `said` is the model's own message, where the row holds its reply: the truth that all cells are measured by.
    `deviations` are the rules of `protocol.DEVIATIONS` that had to be applied to read it from a stream.
    """

    round: int
    role: str
    cells: dict[str, Cell]
    said: Any = None
    deviations: list[str] = field(default_factory=list)
    verdict: str = SAME
    tolerances: list[str] = field(default_factory=list)
    wording: list[str] = field(default_factory=list)  # the lanes that tell a failure in words of their own


def align(lanes: Sequence[Judged]) -> list[Row]:
    """The rows of a comparison, in the order of the conversation, each with its verdict."""
    tables = [entries(lane) for lane in lanes]
    keys = sorted({key for table in tables for key in table})
    rows = []
    for key in keys:
        cells = {lane.run.lane: table.get(key, Cell("absent")) for lane, table in zip(lanes, tables, strict=True)}
        row = Row(key[0], role_of(cells, key), cells)
        if (turn := turn_at(lanes, key)) is not None:
            row.said, row.deviations = turn.reply, list(turn.deviations)
        weigh(row)
        rows.append(row)
    return rows


Key = tuple[int, int, int]
"""Round, place within the round (0 the assistant message, 1 the results, 2 anything else), number there."""


def entries(lane: Judged) -> dict[Key, Cell]:
    """All cells of one lane."""
    table: dict[Key, Cell] = {}
    turns = lane.told.turns
    if turns:
        table |= {(0, 0, index): Cell("sent", message, index) for index, message in enumerate(turns[0].sent)}
    calls = {number: list(group) for number, group in itertools.groupby(lane.calls, lambda call: call.round)}
    for turn, later in itertools.zip_longest(turns, turns[1:]):
        if turn.reply is not None:
            table |= round_entries(turn, later, calls.get(turn.number, []), lane.tolerances.get(turn.end, ()))
    return table


def round_entries(turn: Turn, later: Turn | None, calls: Sequence[Call], tolerances: Sequence[str]) -> dict[Key, Cell]:
    """The cells of one round: the reply as it went back, the results, and what else the next request holds."""
    sent = later.sent[turn.end - later.start :] if later else []
    back = assistant_of(sent)
    if back is not None:
        cell = Cell("sent", back, turn.end, tolerances=tolerances)
    elif later is not None:
        cell = Cell("absent")
    else:
        cell = Cell("kept" if calls else "final", turn.reply, turn.end)
    table: dict[Key, Cell] = {(turn.number, 0, 0): cell}
    shown = {turn.end} if back is not None else set()
    for place, call in enumerate(calls):
        table[(turn.number, 1, place)] = Cell("absent", call=call)
        if call.answers:
            index, message = call.answers[0]
            table[(turn.number, 1, place)] = Cell("sent", message, index, call)
            shown.add(index)
    for index, message in enumerate(sent, turn.end):
        if index not in shown:
            table[(turn.number, 2, index)] = Cell("sent", message, index)
    return table


def turn_at(lanes: Sequence[Judged], key: Key) -> Turn | None:
    """The round's turn with the model's reply, of the first lane that got that far; None for any other row."""
    number, place, _ = key
    if number == 0 or place != 0:
        return None
    turns = [lane.told.turns[number - 1] for lane in lanes if len(lane.told.turns) >= number]
    return next((turn for turn in turns if turn.reply is not None), None)


def role_of(cells: dict[str, Cell], key: Key) -> str:
    """The role of a row's messages."""
    if key[1] == 1:
        return "tool"
    roles = [cell.message.get("role") for cell in cells.values() if isinstance(cell.message, dict)]
    return str(next((role for role in roles if isinstance(role, str)), "assistant"))


def weigh(row: Row) -> None:
    """Compare each lane's cell with the first lane's, and enter the verdict into the row."""
    names = list(row.cells)
    first = row.cells[names[0]]
    for name in names[1:]:
        verdict, taken = compare_cells(first, row.cells[name])
        if VERDICTS.index(verdict) > VERDICTS.index(row.verdict):
            row.verdict = verdict
        row.tolerances += [one for one in taken if one not in row.tolerances]
        if "error-wording" in taken:
            row.wording.append(name)


def compare_cells(one: Cell, other: Cell) -> tuple[str, list[str]]:
    """The verdict on two cells, and the tolerances that it needed."""
    if one.state != other.state:
        return DIFFERENT, []
    if compact(one.message) == compact(other.message):
        return SAME, []
    if one.call is not None and other.call is not None:
        return compare_results(one, other)
    compared = diff(one.message, other.message, "", both_ways=True)
    taken = list(compared.tolerances)
    kinds = [difference.kind for difference in compared.differences]
    if argument_bytes(kinds):
        taken.append(name_of(argument_bytes))
    elif kinds:
        return DIFFERENT, taken
    return EQUIVALENT, taken or [name_of(key_order)]


def compare_results(one: Cell, other: Cell) -> tuple[str, list[str]]:
    """The same for two tool messages."""
    left, right = one.message, other.message
    beside, said = {**left, "content": None}, (left.get("content"), right.get("content"))
    if not key_order(beside, {**right, "content": None}):
        return DIFFERENT, []
    if key_order(*said):
        return EQUIVALENT, [name_of(key_order)]
    uses = [cell.call.executions[0] if cell.call and cell.call.executions else None for cell in (one, other)]
    good = [succeeded(content, use) for content, use in zip(said, uses, strict=True)]
    if error_wording(*good):
        return EQUIVALENT, [name_of(error_wording)]
    if uses[0] is not None and all(good) and result_envelope(*said, uses[0].result):
        return EQUIVALENT, [name_of(result_envelope)]
    return DIFFERENT, []
