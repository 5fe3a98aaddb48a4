"""The report as data: everything that any output shows, in built-ins, the same bytes for the same evidence.

What differs from run to run (ports, seconds) stands apart, under `volatile`. `report.schema.json` beside this file
describes the form.
"""

import base64
import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from compare.calls import Call
from compare.command import Ended
from compare.comparison import Comparison, across_modes
from compare.findings import CLASSES, Finding, meaning
from compare.judge import Judged
from compare.modes import MODES, Across
from compare.profiles import rules_of
from compare.replies import compact
from compare.rows import DIFFERENT, EQUIVALENT, SAME, VERDICTS, Cell, Row
from compare.server import Exchange
from compare.tolerances import legend
from compare.turns import Turn
from compare.usage import usage
from compare.values import Spelled, equal
from protocol import DEVIATIONS, STOP_REASONS, encodable
from protocol.profile import profile, profile_names

VERSION = 1
SCHEMA = Path(__file__).parent / "report.schema.json"
PACKAGES = ("diptych", "httpx", "langchain-core", "langchain-openai", "langgraph", "openai")
VERDICT_MEANINGS = {
    SAME: "equal bytes",
    EQUIVALENT: "equal after the tolerances that it names",
    DIFFERENT: "not equal",
}
MASKED = ("authorization", "api-key", "x-api-key", "cookie")


def report(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The whole report on comparisons that all have the same lanes."""
    first = comparisons[0]
    as_expected = [expected_of(one) for one in comparisons]
    verdicts = [one.verdict for one in comparisons]
    return {
        "format": "diptych-report",
        "version": VERSION,
        "versions": {"python": platform.python_version(), **{name: installed(name) for name in PACKAGES}},
        "lanes": [lane.run.lane for lane in first.lanes],
        "legend": {
            "verdicts": VERDICT_MEANINGS,
            "tolerances": legend(),
            "findings": {kind: {"severity": it[0], "consequence": meaning(kind)} for kind, it in CLASSES.items()},
            "stops": dict(STOP_REASONS),
            "deviations": dict(DEVIATIONS),
            "rules": rules_data(),
        },
        "summary": {
            "comparisons": len(comparisons),
            "as_expected": as_expected.count(True),
            "unexpected": as_expected.count(False),
            "verdicts": {verdict: verdicts.count(verdict) for verdict in VERDICTS},
        },
        "comparisons": [comparison_data(one) for one in comparisons],
        "modes": [across_data(one) for one in across_modes(comparisons)],
        "volatile": {"runs": [volatile(one, lane) for one in comparisons for lane in one.lanes]},
    }


def rules_data() -> dict[str, dict[str, Any]]:
    """What each provider's rules demand, and the status of a refusal, by `provider:rule`; for all known profiles."""
    return {
        f"{name}:{rule.id}": {"status": rule.status, "demands": rule.demands}
        for name in profile_names()
        for rule in rules_of(profile(name))
    }


def installed(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def comparison_data(one: Comparison) -> dict[str, Any]:
    """One comparison."""
    return {
        "name": one.name,
        "mode": one.mode,
        "profile": one.profile or None,
        "title": one.title,
        "teaches": one.teaches,
        "prompt": one.task.prompt,
        "system": one.task.system,
        "model": one.task.model,
        "max_rounds": one.task.max_rounds,
        "verdict": one.verdict,
        "as_expected": expected_of(one),
        "lanes": [lane_data(lane, one.surprises[lane.run.lane]) for lane in one.lanes],
        "envelope": envelope_lines(one.lanes),
        "rows": [row_data(row) for row in one.rows],
        **({"live": plainly(one.live)} if one.live else {}),
    }


def across_data(one: Across) -> dict[str, Any]:
    """One lane on one scenario, in both modes."""
    sides = zip(MODES, one.stops, one.ran, one.only, strict=True)
    return {
        "name": one.name,
        "lane": one.lane,
        "differs": one.differs,
        **{mode: {"stop": stop, "ran": ran, "only": only} for mode, stop, ran, only in sides},
    }


def expected_of(one: Comparison) -> bool | None:
    """Whether all is as expected; None where nothing was expected."""
    return not any(one.surprises.values()) if one.expected else None


def lane_data(lane: Judged, surprises: list[str]) -> dict[str, Any]:
    """What one lane did, and what the judge made of it."""
    raised = lane.run.raised
    return {
        "name": lane.run.lane,
        "foreign": lane.run.foreign,
        "requests": len(lane.told.turns),
        "attempts": sum(len(turn.attempts) for turn in lane.told.turns),
        "stop": {
            "model": [plainly(turn.finish_reason) for turn in lane.told.turns if turn.reply is not None],
            "observed": lane.observed,
            "claimed": lane.run.stop,
        },
        "problem": lane.told.turns[-1].problem if lane.told.turns else "no request was made",
        "raised": None if raised is None else in_words(raised, lane.run.raised_at),
        "process": process_data(lane.run.process),
        "findings": [finding_data(finding) for finding in lane.findings],
        "refused_by": lane.refused_by,
        "calls": [call_data(call) for call in lane.calls],
        "surprises": surprises,
        "exchanges": [exchange_data(exchange, lane.told.turns) for exchange in lane.run.exchanges],
    }


def process_data(process: Ended | None) -> dict[str, Any] | None:
    """How a lane's command ended, and what it wrote; None for a lane that is a function."""
    if process is None:
        return None
    outputs = zip(("stdout", "stderr"), (process.stdout, process.stderr), process.left_out, strict=True)
    written = {name: {"text": text, "left_out": left_out} for name, text, left_out in outputs}
    return {"status": process.status, "late": process.late, **written}


def in_words(error: BaseException, place: str = "") -> str:
    """An exception as `Type: message (file.py:12)`; a lane's own class may not even know its message."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 # a __str__ of somebody else's
        message = "its message cannot be read"
    return f"{type(error).__name__}: {message}" + (f" ({place})" if place else "")


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "class": finding.kind,
        "severity": finding.severity,
        "path": finding.path,
        "request": finding.request,
        "expected": plainly(finding.expected),
        "found": plainly(finding.found),
        "note": finding.note,
        "rule": finding.rule,
        "offset": finding.offset,
        "key": finding.key,
        "consequence": finding.consequence,
    }


def call_data(call: Call) -> dict[str, Any]:
    """One line of the map of call ids."""
    return {
        "round": call.round,
        "path": call.path,
        "id": plainly(call.id),
        "sent_id": plainly(call.sent_id),
        "name": plainly(call.name),
        "arguments": plainly(call.arguments),
        "executions": [
            {
                "arguments": plainly(use.arguments),
                "result": None if use.error else plainly(use.result),
                "error": None if use.error is None else in_words(use.error),
            }
            for use in call.executions
        ],
        "answered_by": [f"messages[{index}]" for index, _ in call.answers],
    }


def exchange_data(exchange: Exchange, turns: Sequence[Turn]) -> dict[str, Any]:
    """One request and its reply, as bytes; keys in headers are masked, and the port is left out."""
    request = exchange.request
    return {
        "number": request.number,
        "turn": next((turn.number for turn in turns if any(one is exchange for one in turn.attempts)), None),
        "method": request.method,
        "target": request.target,
        "headers": [[name, masked(name, value)] for name, value in request.headers],
        "body": as_text(request.body.raw()),
        "status": exchange.reply.status,
        "reply_headers": [list(header) for header in exchange.reply.headers],
        "reply": as_text(exchange.reply.body),
        "closed": exchange.reply.close,
        "ending": exchange.reply.ending,
        "chunks": [sent for sent, _ in exchange.chunks],
        "usage": plainly(usage(exchange.reply.body)),
        "counts": exchange.for_model,
    }


def masked(name: str, value: str) -> str:
    """A header's value as it may be shown."""
    if name.lower() in MASKED:
        return "***"
    return value.rpartition(":")[0] if name.lower() == "host" and ":" in value else value


def as_text(data: bytes) -> str | dict[str, str]:
    """Bytes as text where they are UTF-8, else as base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def row_data(row: Row) -> dict[str, Any]:
    """One row with the cells of all lanes."""
    cells = [cell_data(lane, cell) for lane, cell in row.cells.items()]
    return {
        "round": row.round,
        "role": row.role,
        "verdict": row.verdict,
        "tolerances": row.tolerances,
        "said": plainly(row.said),
        "deviations": row.deviations,
        "cells": cells,
    }


def cell_data(lane: str, cell: Cell) -> dict[str, Any]:
    """One lane's part of a row; `call` is the path of the call that a result answers."""
    return {
        "lane": lane,
        "state": cell.state,
        "index": cell.index,
        "message": plainly(cell.message),
        "call": cell.call.path if cell.call else None,
        "executed": len(cell.call.executions) if cell.call else None,
        "tolerances": list(cell.tolerances),
    }


def envelope_lines(lanes: Sequence[Judged]) -> list[dict[str, Any]]:
    """One line on the tools and one on the rest of the envelope: each lane's first request against the first lane's."""
    firsts = [lane.told.turns[0].attempts[0].request.body.envelope or {} for lane in lanes if lane.told.turns]
    if len(firsts) < len(lanes):
        return []
    tools = [envelope.get("tools") for envelope in firsts]
    rests = [{key: value for key, value in envelope.items() if key != "tools"} for envelope in firsts]
    named = {key for rest in rests for key in rest}
    found = [(lane.run.lane, finding) for lane in lanes for finding in lane.findings]
    about_tools = [f"{lane}: {one.kind} {one.note or one.path}" for lane, one in found if one.path == "tools"]
    about_rest = [f"{lane}: {one.key}" for lane, one in found if one.path.partition(".")[0] in named]
    return [
        {"what": "tools", "verdict": alike(tools), "notes": about_tools},
        {"what": "parameters", "verdict": alike(rests), "notes": about_rest},
    ]


def alike(values: Sequence[Any]) -> str:
    """The verdict on several values against the first."""
    if all(compact(value) == compact(values[0]) for value in values):
        return SAME
    return EQUIVALENT if all(equal(value, values[0]) for value in values) else DIFFERENT


def volatile(one: Comparison, lane: Judged) -> dict[str, Any]:
    """What no two runs have in common: port, times in seconds, and the peak memory of a command in bytes."""
    return {
        "comparison": one.name,
        "mode": one.mode,
        "lane": lane.run.lane,
        "port": lane.run.port,
        "seconds": round(lane.run.seconds, 6),
        "peak": lane.run.process and lane.run.process.peak,
        "chunks": [[round(at, 6) for _, at in each.chunks] for each in lane.run.exchanges],
        "client_left": [each.client_left and round(each.client_left, 6) for each in lane.run.exchanges],
        "requests": [[round(each.received, 6), round(each.answered, 6)] for each in lane.run.exchanges],
        "tools": [round(use.seconds, 6) for use in lane.run.executions],
        "tools_after": [use.after for use in lane.run.executions],
    }


def plainly(value: Any) -> Any:
    """A value as JSON can carry it; a number that Python would respell stands as text."""
    if isinstance(value, Spelled):
        number = float(value)
        return number if repr(number) == value.text else value.text
    if isinstance(value, dict):
        return {str(key): plainly(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plainly(inner) for inner in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    return value if isinstance(value, float) and value == value and abs(value) != float("inf") else str(value)


def to_json(data: dict[str, Any]) -> str:
    """The report as JSON text, readable; with ASCII escapes where it holds what UTF-8 cannot carry."""
    text = json.dumps(data, ensure_ascii=False, indent=1)
    return text if text.isascii() or encodable(text) else json.dumps(data, indent=1)
