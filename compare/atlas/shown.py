"""The atlas in the terminal: scenario by scenario who ends how, then the lanes' sums, and what changed."""

from typing import Any

from rich.console import Console
from rich.text import Text

from compare.atlas.changes import gathered
from compare.atlas.document import columns, label, outcome, rows, some_of, versions_of
from compare.terminal.layout import SEVERITIES, Block, clip, fold, hang, heading, indent, put, text
from compare.terminal.page import NARROWEST, standard_output

WORDS = 200
"""Cells that a change may take: the places of what changed in the tools can be many."""


def render_atlas(data: dict[str, Any]) -> None:
    """Print the atlas to standard output."""
    write_atlas(data, standard_output())


def write_atlas(data: dict[str, Any], console: Console) -> None:
    """Print the atlas to a console, in lines of at most its width (40 cells at the least)."""
    console.width = max(console.width, NARROWEST)
    put(console, matrix_block(console, data))
    put(console, lanes_block(console, data))
    put(console, left_out_block(console, data))
    if len(data["environments"]) > 1:
        put(console, changes_block(console, data))


def matrix_block(console: Console, data: dict[str, Any]) -> Block:
    """Each scenario and mode with its outcomes, and the lanes that each has."""
    block: Block = []
    for (scenario, mode), row in rows(data).items():
        block += fold(console, text(scenario, "bold").append(f"  {mode}", "dim"), console.width)
        by_outcome: dict[str, list[str]] = {}
        for column, words in row.items():
            by_outcome.setdefault(words, []).append(label(data, column))
        for words, names in by_outcome.items():
            line = text(f"{words}  ").append_text(text(", ".join(names), "dim"))
            block += indent(fold(console, line, console.width - 4), 4)
    return block


def lanes_block(console: Console, data: dict[str, Any]) -> Block:
    """Each lane with its versions, its runs, and the findings of all of them."""
    block = heading("Lanes")
    behind = {one["name"]: one["lanes"] for one in data["environments"]}
    for column in columns(data):
        environment, lane = column
        cells = [one for one in data["cells"] if (one["environment"], one["lane"]) == column]
        sums = {severity: sum(one["counts"][severity] for one in cells) for severity in SEVERITIES[::-1]}
        total = outcome({"stop": f"{len(cells)} runs", "counts": sums})
        block += fold(console, text(f"  {label(data, column)}", "bold"), console.width)
        block += indent(fold(console, text(total), console.width - 4), 4)
        block += indent(fold(console, text(versions_of(behind[environment][lane]), "dim"), console.width - 4), 4)
    return block


def left_out_block(console: Console, data: dict[str, Any]) -> Block:
    """Who was left out, and why."""
    lines = [
        hang(console, text(f"  {label(data, (one['name'], lane))}  ", "bold"), text(why), console.width)
        for one in data["environments"]
        for lane, why in one["left_out"].items()
    ]
    return [*heading("Left out"), *(line for block in lines for line in block)] if lines else []


def changes_block(console: Console, data: dict[str, Any]) -> Block:
    """What each lane does otherwise than in the first environment."""
    block = heading(f"What changed against {data['environments'][0]['name']}")
    found = gathered(data["changes"])
    for column, changed in found.items():
        block += fold(console, text(f"  {label(data, column)}", "bold"), console.width)
        for words, runs in changed.items():
            block += indent(fold(console, text(clip(words, WORDS)), console.width - 4), 4)
            block += indent(fold(console, text(f"{len(runs)}: {some_of(runs)}", "dim"), console.width - 6), 6)
    return block if found else [*block, Text("  nothing")]
