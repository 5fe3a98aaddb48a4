"""What a request carries beside its messages: the endpoint, the model, the tools and the parameters."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from compare.back import as_finding
from compare.diff import Difference, differences
from compare.findings import INFO, Finding
from compare.runner import Run
from compare.turns import Conversation

INNOCENT = ("/v1/models",)


def envelope_findings(run: Run, told: Conversation) -> list[Finding]:
    """Compare each request's envelope with what the lane was given; each difference once, where it shows first.

    Differences of the tools are gathered to one finding a class: a framework that leaves out a key does so everywhere.
    """
    found: dict[str, Finding] = {}
    seen: list[Any] = []
    for turn in told.turns:
        envelope = turn.attempts[0].request.body.envelope
        if envelope is None or any(envelope is one for one in seen):
            continue
        seen.append(envelope)
        if run.foreign:
            continue  # what it was to send is its own affair
        for finding in one_envelope(run, envelope, turn.number):
            found.setdefault(finding.key, finding)
    for exchange in told.elsewhere:
        path = exchange.request.target.split("?")[0]
        if path not in INNOCENT:
            target = f"{exchange.request.method} {path}"
            finding = Finding("other-endpoint", run.lane, target, None, "POST /v1/chat/completions", target)
            found.setdefault(finding.key, finding)
    return list(found.values())


def one_envelope(run: Run, envelope: dict[str, Any], request: int) -> Iterator[Finding]:
    """The findings about one envelope."""
    given = {"model": run.task.model, "tools": run.tools}
    gathered: dict[str, list[Difference]] = {}
    for difference in differences(given, envelope, "$", {}):
        path = difference.path.removeprefix("$.")
        if path.startswith("tools"):
            gathered.setdefault(difference.kind, []).append(replace(difference, path=path))
        else:
            finding = as_finding(run.lane, replace(difference, path=path), request)
            yield replace(finding, severity=INFO) if finding.kind == "added-field" else finding
    for kind, places in gathered.items():
        note = ", ".join(place.path for place in places)
        yield Finding(kind, run.lane, "tools", request, places[0].expected, places[0].found, note, severity=INFO)
