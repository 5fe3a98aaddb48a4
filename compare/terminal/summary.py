"""The summary in the terminal: a line for each scenario, and one for each of its lanes that has findings."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.layout import (
    LANE_LABEL,
    SEVERITIES,
    SEVERITY_STYLES,
    Block,
    beside,
    fold,
    hang,
    indent,
    joined,
    short,
    symbol,
    text,
    width_of,
)
from compare.terminal.surprises import UNEXPECTED, label_of

WIDE = 140
"""Cells from which on the findings stand beside the stop reasons, and no longer beneath."""
MARKS = 4  # expected or not, and the verdict, each with a blank


def summary_block(console: Console, data: dict[str, Any]) -> Block:
    """The table of all comparisons, and beneath it what each line of it would say."""
    everyday, wide = in_every(data), console.width >= WIDE
    names = ["scenario", *(label_of(one) for one in data["comparisons"])]
    endings = ["stop", *(stops(one["lanes"]).plain for one in data["comparisons"])]
    name = width_of(names, min(console.width // 2 - MARKS, 40)) + 2
    room = (console.width // 2 if wide else console.width) - MARKS - name
    widths = [MARKS, name, min(width_of(endings, console.width) + 2, room)]
    titles: list[Block] = [[Text()], [Text("scenario", "bold")], [Text("stop", "bold")]]
    if wide:
        widths.append(console.width - sum(widths))
        titles.append([Text("findings", "bold")])
    block = [*beside(titles, widths), Text("─" * console.width, "dim")]
    for one in data["comparisons"]:
        block += entry(console, one, widths, everyday)
    return block + everyday_block(console, data["lanes"], everyday)


def entry(console: Console, one: dict[str, Any], widths: Sequence[int], everyday: set[tuple[str, str]]) -> Block:
    """One comparison: a line on its verdict and stops, and one for each lane that has findings."""
    mark = Text(UNEXPECTED if one["as_expected"] is False else " ", "bold red")
    verdict = Text(" ") if len(one["lanes"]) == 1 else symbol(one["verdict"])
    label = Text.assemble(mark, " ", verdict, " ")
    name = short(label_of(one), widths[1] - 2, "bold" if one["as_expected"] is False else "")
    columns = [[label], [name], fold(console, stops(one["lanes"]), widths[2] - (2 if len(widths) > 3 else 0))]
    findings: Block = []
    room = widths[3] if len(widths) > 3 else console.width - MARKS - 2
    lane_width = width_of([lane["name"] for lane in one["lanes"]], LANE_LABEL) + 2
    for lane in one["lanes"]:
        found = counts([it for it in lane["findings"] if (lane["name"], it["key"]) not in everyday])
        if found.plain:
            head = short(lane["name"], lane_width - 2)
            head.append(" " * (lane_width - head.cell_len))
            findings += hang(console, head, found, room)
    if len(widths) > 3:
        return beside([*columns, findings], widths)
    return beside(columns, widths[:3]) + indent(findings, MARKS + 2)


def stops(lanes: Sequence[dict[str, Any]]) -> Text:
    """How the lanes ended: once, where all ended alike."""
    told = [stop(lane) for lane in lanes]
    if len({one.plain for one in told}) == 1:
        return told[0]
    names = [short(lane["name"], LANE_LABEL, "dim") for lane in lanes]
    return joined([Text.assemble(name, " ", one) for name, one in zip(names, told, strict=True)])


def stop(lane: dict[str, Any]) -> Text:
    """The observed stop reason, whether the lane raised, and its claim where that is another."""
    observed, claimed = lane["stop"]["observed"], lane["stop"]["claimed"]
    out = text(observed)
    if lane["raised"]:
        out.append(", raised", "red")
    if claimed not in (None, observed):
        out.append(", claims ", "red").append_text(text(claimed, "red"))
    return out


def counts(findings: Sequence[dict[str, Any]]) -> Text:
    """Findings by severity, with the names of their classes, the gravest first."""
    parts = []
    for severity in (*SEVERITIES, *sorted({one["severity"] for one in findings} - set(SEVERITIES))):
        classes = Counter(one["class"] for one in findings if one["severity"] == severity)
        if classes:
            several = len(classes) > 1
            names = ", ".join(f"{kind} {n}×" if several and n > 1 else kind for kind, n in sorted(classes.items()))
            head = text(f"{classes.total()} {severity}: ", SEVERITY_STYLES.get(severity, ""))
            parts.append(head.append_text(text(names)))
    return joined(parts)


def in_every(data: dict[str, Any]) -> set[tuple[str, str]]:
    """Lane and key of the findings of severity info that come with every run that sent a request, if there are some."""
    runs: Counter[str] = Counter()
    keys: Counter[tuple[str, str]] = Counter()
    for one in data["comparisons"]:
        for lane in one["lanes"]:
            runs[lane["name"]] += bool(lane["requests"])
            keys.update({(lane["name"], it["key"]) for it in lane["findings"] if it["severity"] == "info"})
    return {pair for pair, count in keys.items() if count >= max(runs[pair[0]], 2)}


def everyday_block(console: Console, lanes: Sequence[str], everyday: set[tuple[str, str]]) -> Block:
    """What the table leaves out because every line would say it."""
    block: Block = []
    for lane in lanes:
        keys = sorted(key for name, key in everyday if name == lane)
        if keys:
            head = Text.assemble("In every scenario, ", short(lane, LANE_LABEL, "bold"), ": ")
            block += fold(console, head.append_text(text(", ".join(keys) + " (info)")), console.width)
    return [Text(), *block] if block else []
