"""Blocks of terminal lines: folded, hung behind a head, laid side by side; never wider than asked for."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from compare.visible import shorten, visible

Block = list[Text]
"""Lines of text, top to bottom."""

SYMBOLS = {"same": "=", "equivalent": "≈", "different": "≠"}
VERDICT_STYLES = {"same": "green", "equivalent": "cyan", "different": "bold red"}
SEVERITY_STYLES = {"serious": "bold red", "notice": "yellow", "info": "dim"}
SEVERITIES = ("serious", "notice", "info")
COLOURS = ("cyan", "magenta", "yellow", "blue", "green")
LANE_LABEL = 20  # cells that the name of a lane may take
BEFORE = 24  # characters shown ahead of the place where two long texts part


def text(value: str, style: str = "") -> Text:
    """Text from data, made safe for a terminal; what looks like markup stays as it is."""
    return Text(visible(value), style=style)


def short(value: str, cells: int, style: str = "") -> Text:
    """The same in at most `cells` cells."""
    return Text(shorten(value, cells), style=style)


def symbol(verdict: str) -> Text:
    """The sign of a verdict, one cell wide."""
    return short(SYMBOLS.get(verdict, verdict), 1, VERDICT_STYLES.get(verdict, ""))


def shown(value: Any) -> str:
    """A value of the report as text for reading: a text as itself unless it is blank, anything else as JSON."""
    if isinstance(value, str) and value.strip():
        return value
    return json.dumps(value, ensure_ascii=False)


def quoted(value: Any) -> str:
    """The same, with a text between quotation marks, and no value at all as `nothing`."""
    if value is None:
        return "nothing"
    return f'"{value}"' if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parting(texts: Sequence[str]) -> int | None:
    """The index of the first character at which the texts part, or None where they are equal."""
    if len(set(texts)) < 2:
        return None
    places = (place for place, units in enumerate(zip(*texts, strict=False)) if len(set(units)) > 1)
    return next(places, min(map(len, texts)))


def clip(value: str, cells: int, at: int | None = None) -> str:
    """`value` in at most `cells` cells, showing the character at `at` even if what is before it must be left out."""
    value_shown = shorten(value, cells)
    if at is None or cell_len(visible(value)) <= cells or cell_len(visible(value[:at])) < cells // 2:
        return value_shown
    return "…" + shorten(value[max(at - BEFORE, 0) :], cells - 1)


def fold(console: Console, body: Text, width: int) -> Block:
    """The text in lines of at most `width` cells, broken at blanks where there are any."""
    lines = list(body.wrap(console, max(width, 2), overflow="fold"))
    for line in lines:
        line.rstrip()
    return lines


def hang(console: Console, head: Text, body: Text, width: int) -> Block:
    """The text folded behind a head, which stands once, in front of the first line."""
    return beside([[head], fold(console, body, width - head.cell_len)], [head.cell_len, width - head.cell_len])


def beside(columns: Sequence[Block], widths: Sequence[int], between: str = "") -> Block:
    """Blocks side by side, each padded to its width, with `between` in each line between them."""
    lines = []
    for parts in zip_longest(*columns, fillvalue=Text()):
        line = Text()
        for number, (part, width) in enumerate(zip(parts, widths, strict=True)):
            if number:
                line.append(between, style="dim")
            line.append_text(part)
            line.append(" " * (width - part.cell_len))
        line.rstrip()
        lines.append(line)
    return lines


def indent(block: Block, cells: int) -> Block:
    """The block moved to the right."""
    return [Text(" " * cells).append_text(line) if line.plain else line for line in block]


def heading(words: str) -> Block:
    """A heading of ours, with an empty line above."""
    return [Text(), Text(words, style="bold")]


def joined(parts: Sequence[Text], between: str = " · ") -> Text:
    """Texts in one line."""
    return Text(between).join(parts)


def put(console: Console, block: Block) -> None:
    """Print the lines as they are: no markup, no emoji codes, no highlighting, no folding."""
    if block:
        console.print(joined(block, "\n"), markup=False, emoji=False, highlight=False, soft_wrap=True)


def colour(marker: str) -> str:
    """The style of a marker: a help for the eye, never the only sign."""
    return f"bold {COLOURS[sum(map(ord, marker)) % len(COLOURS)]}" if marker else ""


def width_of(names: Sequence[str], most: int) -> int:
    """The cells that the longest of some texts takes, but not more than `most`."""
    return min(max((cell_len(text(name).plain) for name in names), default=0), most)
