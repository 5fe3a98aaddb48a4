"""What stands beneath the rows of a comparison: the envelope, the findings of each lane, the stop reasons."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from compare.command.ended import how, last_line
from compare.terminal.layout import (
    LANE_LABEL,
    SEVERITIES,
    SEVERITY_STYLES,
    Block,
    beside,
    clip,
    fold,
    hang,
    heading,
    indent,
    joined,
    parting,
    quoted,
    short,
    symbol,
    text,
)

VALUE = 100
"""Cells that one of the two values of a finding may take."""
NOTE = 240


def envelope_block(console: Console, lines: Sequence[dict[str, Any]], *, alone: bool) -> Block:
    """The envelope of the first request, one line each; a lane that is alone has nothing to be compared with."""
    block: Block = heading("Envelope of the first request") if lines else []
    for line in lines:
        mark = Text(" ") if alone else symbol(line["verdict"])
        head = Text.assemble("  ", mark, " ", short(line["what"], 10))
        notes = "; ".join(line["notes"]) or ("" if alone else line["verdict"])
        block += beside([[head], [short(notes, console.width - 16)]], [16, console.width - 16])
    return block


def findings_block(console: Console, lanes: Sequence[dict[str, Any]]) -> Block:
    """The findings of each lane, the gravest first, those of one class and consequence together."""
    block: Block = []
    for lane in lanes:
        title = Text.assemble(("Findings in ", "bold"), short(lane["name"], LANE_LABEL, "bold"))
        block += [Text(), title if lane["findings"] else title.append(": none")]
        ordered = sorted(lane["findings"], key=lambda one: (rank(one["severity"]), one["class"], one["consequence"]))
        alike = groupby(ordered, key=lambda one: (one["severity"], one["class"], one["consequence"]))
        for (severity, kind, consequence), group in alike:
            head = Text.assemble("  ", short(severity, 8, SEVERITY_STYLES.get(severity, "")))
            head.append(" " * (11 - head.cell_len))
            sentence = text(kind, "bold").append(": ").append_text(text(consequence, "dim"))
            block += hang(console, head, sentence, console.width)
            for one in group:
                block += indent(finding_lines(console, one, console.width - 11), 11)
        if lane["refused_by"]:
            named = ", ".join(f"{profile} ({breach})" for profile, breach in lane["refused_by"].items())
            block += hang(console, Text("  · would be refused by: ", "dim"), text(named), console.width)
    return block


def rank(severity: str) -> int:
    """The place of a severity, the gravest first."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def finding_lines(console: Console, one: dict[str, Any], width: int) -> Block:
    """One finding: where, which rule, the two values, and the note."""
    where = [text(one["path"])]
    if one["request"] is not None:
        where.append(Text(f"request {one['request']}", "dim"))
    if one["offset"] is not None:
        where.append(Text(f"from byte {one['offset']} on", "dim"))
    if one["rule"]:
        where.append(text(f"rule {one['rule']}", "dim"))
    place, values = joined(where), Text()
    if one["expected"] is not None or one["found"] is not None:
        was, now = two_values(one["expected"], one["found"])
        values = text(was).append(" → ", "bold").append_text(text(now))
    if values and 2 + place.cell_len + 3 + values.cell_len <= width:
        place, values = joined([place, values], "   "), Text()
    block = hang(console, Text("· "), place, width)
    if values:
        block += indent(fold(console, values, width - 2), 2)
    if one["note"]:
        block += indent(fold(console, text(clip(one["note"], NOTE)), width - 2), 2)
    return block


def two_values(expected: Any, found: Any) -> list[str]:
    """Both values, shortened around the place where they part; of two objects, only the keys that differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = [key for key in {**expected, **found} if expected.get(key) != found.get(key)]
        expected, found = ({key: one[key] for key in keys if key in one} for one in (expected, found))
    values = [quoted(expected), quoted(found)]
    return [clip(value, VALUE, parting(values)) for value in values]


def stops_block(console: Console, lanes: Sequence[dict[str, Any]], meanings: dict[str, str]) -> Block:
    """Why each lane ended: the model's own finish reasons, what the wire shows, what the lane claims."""
    block = heading("Stop reasons")
    for lane in lanes:
        stop = lane["stop"]
        heard = ", ".join(quoted(reason).strip('"') for reason in stop["model"]) or "no reply"
        requests = f"{lane['requests']} request{'' if lane['requests'] == 1 else 's'}"
        if lane["attempts"] != lane["requests"]:
            requests += f" in {lane['attempts']} attempts"
        observed = f"{stop['observed']}: {meanings.get(stop['observed'], 'no word of the vocabulary')}"
        lines = [("model", f"{heard} ({requests})"), ("observed", observed)]
        if lane["problem"]:
            lines.append(("problem", lane["problem"]))
        if lane["raised"]:
            lines.append(("raised", clip(lane["raised"], NOTE)))
        elif not lane["foreign"] or stop["claimed"]:
            lines.append(("claimed", quoted(stop["claimed"]).strip('"')))
        if lane["process"]:
            lines.append(("command", clip(of_process(lane["process"]), NOTE)))
        block += indent([short(lane["name"], console.width - 4, "bold")], 2)
        for label, words in lines:
            block += indent(hang(console, Text(f"{label:<10}", "dim"), text(words), console.width - 4), 4)
    return block


def of_process(process: dict[str, Any]) -> str:
    """How a lane's command ended, and the last line of each of its outputs."""
    ends = {name: last_line(process[name]["text"]) for name in ("stdout", "stderr")}
    said = "".join(f"; {name} ends: {line}" for name, line in ends.items() if line)
    return ("ended at the deadline, " if process["late"] else "") + how(process["status"]) + said
