"""What was not as expected, in the terminal: by scenario and lane, and in the line that closes a report."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.layout import LANE_LABEL, Block, fold, hang, heading, indent, short, text

UNEXPECTED = "✗"
INDENT = 4


def label_of(one: dict[str, Any]) -> str:
    """The name of a comparison, with its mode where that is not the usual one."""
    return str(one["name"]) if one["mode"] == "plain" else f"{one['name']} ({one['mode']})"


def unexpected_block(console: Console, data: dict[str, Any]) -> Block:
    """What was not expected, by scenario and lane."""
    unexpected = [one for one in data["comparisons"] if one["as_expected"] is False]
    block: Block = heading("Not as expected") if unexpected else []
    for one in unexpected:
        block += hang(console, Text(f"{UNEXPECTED} ", "bold red"), text(label_of(one), "bold"), console.width)
        block += surprises(console, one["lanes"])
    return block


def surprises(console: Console, lanes: Sequence[dict[str, Any]]) -> Block:
    """What was not expected of each lane, one line each."""
    block: Block = []
    for lane in lanes:
        head = short(lane["name"], LANE_LABEL).append("  ")
        for words in lane["surprises"]:
            block += indent(hang(console, head, text(words), console.width - INDENT), INDENT)
    return block


def closing_block(console: Console, data: dict[str, Any]) -> Block:
    """The last line: how many there were, how they compare, and whether all is as expected."""
    total, verdicts = data["summary"]["comparisons"], data["summary"]["verdicts"]
    unexpected, expected = data["summary"]["unexpected"], data["summary"]["as_expected"]
    line = Text(f"{total} comparison{'' if total == 1 else 's'}: ", "bold")
    if len(data["lanes"]) == 1:
        line.append("one lane, so nothing is compared; ")
    else:
        line.append_text(text(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) + "; "))
    if unexpected:
        line.append(f"{unexpected} not as expected", "bold red")
    elif expected:
        line.append("as expected" if total == 1 else "all as expected", "bold green")
    else:
        line.append("nothing was expected")
    return [Text(), *fold(console, line, console.width)]
