"""What the mode decides, in the terminal: each lane that does one thing plain and another streamed."""

from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.layout import LANE_LABEL, Block, clip, fold, hang, heading, indent, short, text

LINES = 3
"""Lines that the calls of one mode may take before they are shortened."""


def modes_block(console: Console, modes: list[dict[str, Any]]) -> Block:
    """The lanes that differ from themselves, by scenario; nothing where no scenario ran in both modes."""
    if not modes:
        return []
    block = heading("The same lane, plain and streamed")
    differing = [one for one in modes if one["differs"]]
    for one in differing:
        head = Text.assemble("≠ ", short(one["lane"], LANE_LABEL), "  ")
        block += hang(console, head, text(one["name"], "bold"), console.width)
        for mode in ("plain", "stream"):
            room = console.width - 4
            words = text(clip(told(one[mode]), (room - 10) * LINES))
            block += indent(hang(console, Text(f"{mode:<8}", "dim"), words, room), 4)
    names = sorted({one["lane"] for one in modes} - {one["lane"] for one in differing})
    if names:
        alike = f"= {', '.join(names)}: the same in both modes, in all scenarios that ran in both"
        block += fold(console, text(alike), console.width)
    return block


def told(side: dict[str, Any]) -> str:
    """What a lane did in one mode: how it ended, what ran, and what was found in this mode alone."""
    parts = [side["stop"], f"ran {', '.join(side['ran'])}" if side["ran"] else "ran nothing"]
    return "; ".join([*parts, *side["only"]])
