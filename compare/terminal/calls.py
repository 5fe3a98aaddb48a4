"""The map of call ids in the terminal: each call once, and what became of it in each lane."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.layout import LANE_LABEL, Block, clip, colour, hang, heading, indent, short, text, width_of
from compare.terminal.message import Markers, signature

ERROR = 100
"""Cells that what a tool raised may take."""


def calls_block(console: Console, lanes: Sequence[dict[str, Any]]) -> Block:
    """The map of call ids: each call once, then what became of it in each lane."""
    markers = Markers(lanes)
    block: Block = heading("Call ids") if markers.places else []
    for place in markers.places:
        number, index = place
        marker = markers.signs[place]
        heard = [(lane, markers.calls.get((lane["name"], number), [])[index:][:1]) for lane in lanes]
        fates = [(lane["name"], fate(lane, call)) for lane, found in heard for call in found]
        first = next(call for _, found in heard for call in found)
        head = Text(f"  {marker} ", colour(marker))
        what = f"{signature(first['id'], first['name'], first['arguments'])}"
        line = text(clip(what, console.width * 2)).append(f"  round {number}", "dim")
        block += hang(console, head, line, console.width)
        block += indent(by_lane(console, fates, console.width - 4), 4)
    return block


def fate(lane: dict[str, Any], call: dict[str, Any]) -> str:
    """What became of a call in a lane."""
    parts = []
    if call["sent_id"] is not None and call["sent_id"] != call["id"]:
        parts.append(f"sent back as {call['sent_id']}")
    if not lane["foreign"]:
        parts.append(f"executed {len(call['executions'])}×")
        parts += [f"raised {clip(use['error'], ERROR)}" for use in call["executions"] if use["error"]]
    answers = call["answered_by"]
    parts.append(f"answered {len(answers)}×" + (f", by {', '.join(answers)}" if answers else ""))
    return "; ".join(parts)


def by_lane(console: Console, told: Sequence[tuple[str, str]], width: int) -> Block:
    """A line for each lane, or one for several lanes of which the same is told."""
    lines: dict[str, list[str]] = {}
    for name, words in told:
        lines.setdefault(words, []).append(name)
    block: Block = []
    names = {words: ", ".join(lanes) for words, lanes in lines.items()}
    widest = width_of(list(names.values()), LANE_LABEL)
    for words, lanes in names.items():
        head = short(lanes, widest, "bold")
        head.append(" " * (widest + 2 - head.cell_len))
        block += hang(console, head, text(words), width)
    return block
