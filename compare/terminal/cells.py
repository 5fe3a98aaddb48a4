"""What a lane's cell of a row says in the terminal: the message, or in short how it compares with the model's own."""

from collections.abc import Sequence
from typing import Any

from compare.terminal.layout import clip, parting
from compare.terminal.message import EMPTY, Item, Markers, message_items, result_items

AS_SAID = "as said"


def cell_items(row: dict[str, Any], cell: dict[str, Any], lane: dict[str, Any], markers: Markers) -> list[Item]:
    """What one lane has at a row."""
    if row["role"] == "tool":
        return tool_items(row, cell, lane, markers)
    if cell["state"] == "absent":
        return [Item("", why_absent(row, lane))]
    signs = markers.sent(lane["name"], row["round"], cell["message"])
    if cell["state"] in ("final", "kept"):  # nothing went back, so this is the reply itself
        signs = markers.said(row["round"])
    items = message_items(cell["message"], signs, row["role"])
    brief = as_said(said_items(row, markers), items)
    if cell["state"] == "kept":
        return [Item("", "the run ended here: nothing went back"), *([] if brief == AS_SAID else items)]
    forgiven = [name for name in cell["tolerances"] if name not in row["tolerances"]]
    said = [Item("", brief)] if brief else items
    # Where all lanes need the same tolerance, the row has nothing to forgive between them, and would not name it.
    return [*said, Item("", f"(forgiven: {', '.join(forgiven)})")] if forgiven else said


def said_items(row: dict[str, Any], markers: Markers) -> list[Item]:
    """The model's own message, where the row holds its reply."""
    return [] if row["said"] is None else message_items(row["said"], markers.said(row["round"]), row["role"])


def tool_items(row: dict[str, Any], cell: dict[str, Any], lane: dict[str, Any], markers: Markers) -> list[Item]:
    """A tool message behind the marker of the call that it answers, or that a call has none."""
    marker = markers.of(lane["name"], row["round"], cell["call"])
    executed = executions(lane, cell["executed"])
    if cell["state"] != "absent":
        if cell["call"] is None and isinstance(cell["message"], dict):
            marker = markers.answered(lane["name"], row["round"], cell["message"].get("tool_call_id"))
        return result_items(cell["message"], marker, executed, row["role"])
    return [Item("", "–") if cell["call"] is None else Item(marker, f"{executed}– no result")]


def label_of(row: dict[str, Any]) -> str:
    """What a row holds, in a word or two."""
    if row["role"] == "tool":
        return "result"
    if row["said"] is None:
        return str(row["role"])
    states = {cell["state"] for cell in row["cells"]}
    return "last word" if "final" in states and "sent" not in states else "sent back"


def as_said(said: list[Item], items: list[Item]) -> str:
    """In short how a lane's message equals the model's own; empty where it must be shown."""
    if not said or items == said:
        return AS_SAID if said else ""
    left = [item for item in said if item in items]
    lost = [item.key or item.text for item in said if item not in items]
    return f"{AS_SAID}, without {', '.join(lost)}" if left == items and items[0].text != EMPTY else ""


def why_absent(row: dict[str, Any], lane: dict[str, Any]) -> str:
    """Why a lane has no message at a row."""
    if lane["requests"] < row["round"]:
        return "– (had ended)"
    if row["said"] is None:
        return "–"
    return f"no reply: {lane['problem']}" if lane["requests"] == row["round"] else "not sent back"


def executions(lane: dict[str, Any], times: int | None) -> str:
    """How often a tool ran for a call, where that is known and not once."""
    return "" if times in (None, 1) or lane["foreign"] else f"executed {times}× "


def ending(lane: dict[str, Any]) -> list[Item]:
    """How a lane ended."""
    observed, claimed = lane["stop"]["observed"], lane["stop"]["claimed"]
    lines = [observed]
    if lane["problem"]:
        lines.append(lane["problem"])
    if lane["raised"]:
        lines.append(f"raised {lane['raised']}")
    if claimed not in (None, observed):
        lines.append(f"claims {claimed}")
    return [Item("", line) for line in lines]


def shortened(cells: Sequence[list[Item]], limit: int) -> list[list[str]]:
    """The texts of all lanes' cells within a limit in terminal cells, so that the place where long ones part shows."""
    out = []
    for items in cells:
        texts = []
        for place, item in enumerate(items):
            others = [other[place].text for other in cells if place < len(other)]
            texts.append(clip(item.text, limit, parting(others)))
        out.append(texts)
    return out
