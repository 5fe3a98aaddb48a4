"""The conversation in the terminal: round by round, what the model said and what each lane made of it, in columns."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.cells import AS_SAID, cell_items, ending, label_of, said_items, shortened
from compare.terminal.layout import (
    Block,
    beside,
    clip,
    colour,
    fold,
    hang,
    indent,
    short,
    symbol,
    text,
)
from compare.terminal.message import Item, Markers

LABEL = 9
GUTTER = LABEL + 3  # the verdict, a blank, the label, a blank
NARROWEST = 24
"""Cells of the narrowest column; below it, lanes stand beneath each other."""
STACK_LABEL = 14
LINES = 6
"""Lines that one entry may take before it is shortened."""
BAR = " │ "


def rows_block(console: Console, data: dict[str, Any]) -> Block:
    """All rows of a comparison, and a last one with the lanes' endings."""
    page = Page(console, data)
    block = page.head()
    number = -1
    for row in data["rows"]:
        if row["round"] != number:
            number = row["round"]
            block += [Text(), Text(f"round {number}" if number else "opening", style="dim")]
        block += page.row(row)
    return [*block, Text(), *page.endings()]


class Page:
    """The columns of one comparison: their lanes, their widths, and the markers of the calls."""

    def __init__(self, console: Console, data: dict[str, Any]) -> None:
        self.console = console
        self.lanes: list[dict[str, Any]] = data["lanes"]
        self.markers = Markers(self.lanes)
        self.room = console.width - GUTTER
        count = len(self.lanes)
        self.column = (self.room - len(BAR) * (count - 1)) // count
        self.stacked = self.column < NARROWEST
        if self.stacked:
            self.column = self.room - STACK_LABEL

    def head(self) -> Block:
        """The names of the lanes above their columns."""
        if self.stacked or len(self.lanes) == 1:
            return []
        names: list[Block] = [[short(lane["name"], self.column, "bold")] for lane in self.lanes]
        return [Text(), *indent(beside(names, [self.column] * len(names), BAR), GUTTER)]

    def row(self, row: dict[str, Any]) -> Block:
        """One row: the model's own message where it holds one, then the lanes' cells, then the tolerances."""
        said = said_items(row, self.markers)
        if row["deviations"]:
            said = [*said, Item("", f"(read with: {', '.join(row['deviations'])})")]
        lanes = {lane["name"]: lane for lane in self.lanes}
        cells = [cell_items(row, cell, lanes[cell["lane"]], self.markers) for cell in row["cells"]]
        label = self.label(row["verdict"], label_of(row))
        alike = all(items == cells[0] for items in cells)
        if alike and row["verdict"] == "different":
            cells[-1] = [*cells[-1], Item("", "(differs in what is not shown here)")]
            alike = False
        if alike and cells[0] == [Item("", AS_SAID)] and {cell["state"] for cell in row["cells"]} == {"final"}:
            return self.spanning(label, said, row["tolerances"])  # nobody need send back a last word: one line will do
        block = self.spanning(Text("  model", "dim"), said) if said else []
        if alike:
            return block + self.spanning(label, cells[0], row["tolerances"])
        block += self.across(label, cells)
        if row["tolerances"]:
            block += indent(fold(self.console, tolerances(row["tolerances"]), self.room), GUTTER)
        return block

    def endings(self) -> Block:
        """The row that says how each lane ended."""
        cells = [ending(lane) for lane in self.lanes]
        stops = {lane["stop"]["observed"] for lane in self.lanes}
        label = self.label("same" if len(stops) == 1 else "different", "stop")
        if all(items == cells[0] for items in cells):
            return self.spanning(label, cells[0])
        return self.across(label, cells)

    def label(self, verdict: str, words: str) -> Text:
        """The verdict and a name for the row; one lane alone has no verdicts."""
        mark = Text(" ") if len(self.lanes) == 1 else symbol(verdict)
        return Text.assemble(mark, " ", short(words, LABEL, "dim"))

    def spanning(self, label: Text, items: list[Item], taken: Sequence[str] = ()) -> Block:
        """What all lanes have in common, across all columns."""
        block = self.items(items, [clip(one.text, self.room * LINES) for one in items], self.room)
        if taken:
            last = block.pop()
            block += fold(self.console, last.append("  ").append_text(tolerances(taken)), self.room)
        return beside([[label], block], [GUTTER, self.room])

    def across(self, label: Text, cells: Sequence[list[Item]]) -> Block:
        """What differs from lane to lane: in columns, or in a stack where columns would be too narrow."""
        texts = shortened(cells, self.column * LINES)
        blocks = [self.items(*pair, self.column) for pair in zip(cells, texts, strict=True)]
        if not self.stacked:
            return beside([[label], beside(blocks, [self.column] * len(blocks), BAR)], [GUTTER, self.room])
        lines: Block = []
        for lane, block in zip(self.lanes, blocks, strict=True):
            name = short(lane["name"], STACK_LABEL - 1, "bold")
            lines += beside([[name], block], [STACK_LABEL, self.column])
        return beside([[label], lines], [GUTTER, self.room])

    def items(self, items: list[Item], texts: list[str], width: int) -> Block:
        """Entries beneath each other, each hung behind its marker."""
        lines: Block = []
        for item, words in zip(items, texts, strict=True):
            head = Text(f"{item.marker} " if item.marker else "", style=colour(item.marker))
            lines += hang(self.console, head, text(words), width)
        return lines


def tolerances(names: Sequence[str]) -> Text:
    """The tolerances that a row needed."""
    return text(f"(≈ {', '.join(names)})", "dim")
