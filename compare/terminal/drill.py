"""The report on a drill in the terminal: strips with a sign for each place, and beneath them what ran."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.layout import (
    LANE_LABEL,
    Block,
    clip,
    fold,
    hang,
    heading,
    indent,
    joined,
    put,
    short,
    text,
    width_of,
)
from compare.terminal.page import NARROWEST, standard_output

SIGN_STYLES = {"·": "dim", "!": "magenta", "x": "bold red", "=": "bold yellow", "+": "green"}
RANGES = 6  # of an outcome, named one by one
LINES = 4  # of an outcome


def render_drill(data: dict[str, Any]) -> None:
    """Print the report to standard output."""
    write_drill(data, standard_output())


def write_drill(data: dict[str, Any], console: Console) -> None:
    """Print the report to a console, in lines of at most its width (40 cells at the least)."""
    console.width = max(console.width, NARROWEST)
    put(console, head_block(console, data))
    means = {(way["mode"], way["ending"]): way["means"] for way in data["legend"]["ways"]}
    for (mode, ending), strips in groupby(data["strips"], key=lambda strip: (strip["mode"], strip["ending"])):
        put(console, way_block(console, list(strips), means[mode, ending], data["strips"][0]["whole"]))
    put(console, legend_block(console, data))
    put(console, closing_block(console, data))


def head_block(console: Console, data: dict[str, Any]) -> Block:
    """What was broken off, and where, and what the first lane runs when it is not."""
    scenario, every = data["scenario"], data["every"]
    place = "byte" if data["by"] == "byte" else "border of its chunks"
    where = f"every {place}" if every == 1 else f"one in {every} of its {place.replace('its', 'the')}s"
    block = [short(scenario["name"], console.width, "bold")]
    block += fold(console, text(scenario["title"]), console.width)
    block += fold(console, Text(f"A reply that calls tools, broken off at {where}."), console.width)
    return block + hang(console, Text("whole  ", "dim"), deeds(data["strips"][0]["whole"]), console.width)


def way_block(console: Console, strips: Sequence[dict[str, Any]], means: str, usual: dict[str, Any]) -> Block:
    """One way of breaking off: the lanes' strips beneath each other, and what each lane did; `usual` goes unsaid."""
    first = strips[0]
    block = heading(f"{first['mode']}, {'a clean end' if first['ending'] == 'clean' else 'a cut connection'}")
    block += fold(console, text(means, "dim"), console.width)
    block.append(Text())
    label = width_of([strip["lane"] for strip in strips], LANE_LABEL) + 1
    number = len(str(first["bytes"])) + 1
    width = console.width - label - number - 1
    for start in range(0, len(first["signs"]), width):
        for strip in strips:
            offset = str(first["offsets"][start]) if strip is first else ""
            lane = short(strip["lane"], label - 1)
            line = Text(f"{offset:>{number}} ", "dim").append_text(lane).append(" " * (label - lane.cell_len))
            block.append(line.append_text(signs(strip["signs"][start : start + width])))
    over = first["over_from"]
    end = f"{first['bytes']:,} bytes in all"
    end += f"; with {over:,} or more of them the reply says that it is over" if over is not None else ""
    block += fold(console, Text(" " * (number + 1) + end, "dim"), console.width)
    for strip in strips:
        block += lane_block(console, strip, usual)
    return block


def signs(row: str) -> Text:
    """A part of a strip, in colours; the signs alone tell the same."""
    return joined([Text("".join(group), SIGN_STYLES[sign]) for sign, group in groupby(row)], "")


def lane_block(console: Console, strip: dict[str, Any], usual: dict[str, Any]) -> Block:
    """What one lane ran from parts of the reply, what it raised, and what it ran from the whole where not `usual`."""
    block: Block = []
    if deeds(strip["whole"]).plain != deeds(usual).plain:
        block += hang(console, Text("  whole  ", "dim"), deeds(strip["whole"]), console.width)
    for outcome in strip["outcomes"]:
        if outcome["ran_from_a_part"] or outcome["sign"] == "!":
            head = Text(f"  {outcome['sign']} ", SIGN_STYLES[outcome["sign"]])
            did = deeds(outcome) if outcome["ran_from_a_part"] else text(f"raised {outcome['raised']}")
            words = clip(f"{places(outcome)}  {did.plain}", (console.width - 4) * LINES)
            block += hang(console, head, text(words), console.width)
    return [Text(), short(strip["lane"], LANE_LABEL, "bold"), *block] if block else []


def deeds(outcome: dict[str, Any]) -> Text:
    """The tools that ran, and the files that they changed."""
    parts = [text(f"{one['name']}({one['arguments']})") for one in outcome["ran"]]
    for one in outcome["changed"]:
        now = "" if one["text"] is None else f': "{one["text"]}"'
        parts.append(text(f"{one['change']} {one['path']}{now}"))
    return joined(parts, "; ") if parts else Text("nothing")


def places(outcome: dict[str, Any]) -> str:
    """Where it happened, by the bytes that were sent."""
    named = [str(first) if first == last else f"{first}-{last}" for first, last in outcome["ranges"][:RANGES]]
    more = len(outcome["ranges"]) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def legend_block(console: Console, data: dict[str, Any]) -> Block:
    """The signs that occurred above."""
    seen = {sign for strip in data["strips"] for sign in strip["signs"]}
    block = heading("Signs")
    for sign, words in data["legend"]["signs"].items():
        if sign in seen:
            block += indent(hang(console, Text(f"{sign} ", SIGN_STYLES[sign]), text(words), console.width - 2), 2)
    return block


def closing_block(console: Console, data: dict[str, Any]) -> Block:
    """The last line: how many runs, and in how many of each lane a part of a reply was enough to act."""
    counts = dict.fromkeys(data["lanes"], 0)
    for strip in data["strips"]:
        counts[strip["lane"]] += sum(one["places"] for one in strip["outcomes"] if one["ran_from_a_part"])
    line = Text(f"{data['summary']['runs']:,} runs on a reply that broke off: ", "bold")
    parts = []
    for lane, count in counts.items():
        acted = Text(f" acted in {count:,}", "bold red") if count else Text(" never acted", "green")
        parts.append(short(lane, LANE_LABEL).append_text(acted))
    return [Text(), *fold(console, line.append_text(joined(parts, ", ")), console.width)]
