"""The report in a terminal: a summary, the comparisons asked for row by row, a legend, and the count."""

import io
import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.calls import calls_block
from compare.terminal.findings import envelope_block, findings_block, stops_block
from compare.terminal.layout import (
    SYMBOLS,
    Block,
    clip,
    fold,
    hang,
    heading,
    put,
    short,
    symbol,
    text,
)
from compare.terminal.live import live_block, totals_block
from compare.terminal.modes import modes_block
from compare.terminal.rows import rows_block
from compare.terminal.summary import summary_block
from compare.terminal.surprises import UNEXPECTED, closing_block, label_of, surprises, unexpected_block

PIPED_WIDTH = 100
NARROWEST = 40
PROMPT_LINES = 8
LEGEND_LABEL = 26


def render(data: dict[str, Any], detail: set[str]) -> None:
    """Print the report to standard output, and row by row the comparisons that `detail` names (`all`: every one)."""
    write(data, detail, standard_output())


class Output(Console):
    """A console that leaves it to the command what a reader who has left means: rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        """Let the error through."""
        raise BrokenPipeError


def standard_output() -> Console:
    """Standard output to print on; where it is no terminal, 100 cells wide unless COLUMNS says another width."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # an encoding without our signs must not end the report
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Output(file=sys.stdout, markup=False, emoji=False, highlight=False)
    if not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        console.width = int(columns) if columns.isascii() and columns.isdigit() and int(columns) else PIPED_WIDTH
    return console


def write(data: dict[str, Any], detail: set[str], console: Console) -> None:
    """Print the report to a console, in lines of at most its width (40 cells at the least)."""
    console.width = max(console.width, NARROWEST)
    shown = [one for one in data["comparisons"] if "all" in detail or one["name"] in detail]
    put(console, summary_block(console, data))
    if len(data["comparisons"]) > 1 or not shown:  # the details of one alone say it in the same place
        put(console, unexpected_block(console, data))
    put(console, modes_block(console, data["modes"]))
    for one in shown:
        put(console, comparison_block(console, one, data["legend"]["stops"]))
        if "live" in one:
            put(console, live_block(console, one, data["volatile"]))
    put(console, legend_block(console, data, shown))
    if len(data["comparisons"]) > 1:
        put(console, totals_block(console, data))
    put(console, closing_block(console, data))


def comparison_block(console: Console, one: dict[str, Any], stops: dict[str, str]) -> Block:
    """One comparison in full."""
    block = title_block(console, one)
    block += rows_block(console, one)
    block += calls_block(console, one["lanes"])
    block += envelope_block(console, one["envelope"], alone=len(one["lanes"]) == 1)
    block += findings_block(console, one["lanes"])
    block += stops_block(console, one["lanes"], stops)
    if one["as_expected"] is False:
        block += [*heading(f"{UNEXPECTED} Not as expected"), *surprises(console, one["lanes"])]
    return block


def title_block(console: Console, one: dict[str, Any]) -> Block:
    """What is compared, what it teaches, and what the lanes were asked."""
    verdict = Text()
    if len(one["lanes"]) > 1:
        verdict = Text.assemble(" ", symbol(one["verdict"]), " ", short(one["verdict"], 12), " ──")
    name = short(label_of(one), console.width - verdict.cell_len - 6, "bold")
    middle = "─" * (console.width - verdict.cell_len - name.cell_len - 4)
    block = [Text(), Text(), Text.assemble(("── ", "dim"), name, " ", (middle, "dim"), verdict)]
    if one["title"] != one["prompt"]:
        block += fold(console, text(one["title"], "bold"), console.width)
    if one["teaches"]:
        block += fold(console, text(one["teaches"]), console.width)
    block.append(Text())
    if one["profile"]:
        words = text(f"as {one['profile']}: a request that breaks one of its rules is refused")
        block += hang(console, Text("server  ", "dim"), words, console.width)
    for label, words in (("system", one["system"]), ("prompt", one["prompt"])):
        if words:
            limit = (console.width - 8) * PROMPT_LINES
            block += hang(console, Text(f"{label}  ", "dim"), text(clip(words, limit)), console.width)
    return block


def legend_block(console: Console, data: dict[str, Any], shown: list[dict[str, Any]]) -> Block:
    """What the signs and names mean that occurred above."""
    legend = data["legend"]
    cells = [part for one in shown for row in one["rows"] for part in (row, *row["cells"])]
    taken = {name for part in cells for name in part["tolerances"]}
    found = {it["class"] for one in data["comparisons"] for lane in one["lanes"] for it in lane["findings"]}
    read = {name for one in shown for row in one["rows"] for name in row["deviations"]}
    verdicts = legend["verdicts"] if len(data["lanes"]) > 1 else {}
    parts = {
        "Verdicts": {f"{SYMBOLS.get(name, ' ')} {name}": words for name, words in verdicts.items()},
        "Tolerances": {name: words for name, words in legend["tolerances"].items() if name in taken},
        "Streams": {name: words for name, words in legend["deviations"].items() if name in read},
        "Findings": {name: it["consequence"] for name, it in legend["findings"].items() if name in found},
    }
    block: Block = []
    for title, meanings in parts.items():
        block += heading(title) if meanings else []
        for name, words in meanings.items():
            head = short(name, LEGEND_LABEL - 2, "bold")
            head = Text("  ").append_text(head).append(" " * (LEGEND_LABEL - head.cell_len))
            block += hang(console, head, text(words), console.width)
    return block
