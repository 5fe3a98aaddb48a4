"""What a request carries beside its messages: the endpoint, the model, the tools and the parameters."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from compare.back import as_finding
from compare.diff import Diff, Difference, differences
from compare.findings import INFO, NOTICE, Finding
from compare.runner import Run
from compare.server import Request
from compare.turns import Conversation

ENDPOINT = "POST /v1/chat/completions"
INNOCENT = ("/v1/models",)
WHOLE_TOOL = re.compile(r"tools(\[\d+\])?")


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
        for finding in elsewhere(run, exchange.request):
            found.setdefault(finding.key, finding)
    return list(found.values())


def elsewhere(run: Run, request: Request) -> Iterator[Finding]:
    """The finding about a request that did not reach the model."""
    path = request.target.split("?")[0]
    target = f"{request.method} {path}"
    if target == ENDPOINT:
        note = request.body.problem or "it is not addressed to this server"
        yield Finding("would-be-refused", run.lane, f"request {request.number}", None, None, None, note)
    elif path not in INNOCENT:
        yield Finding("other-endpoint", run.lane, target, None, ENDPOINT, target)


def one_envelope(run: Run, envelope: dict[str, Any], request: int) -> Iterator[Finding]:
    """The findings about one envelope."""
    given: dict[str, Any] = {"model": run.task.model, "tools": run.tools}
    if run.task.stream:
        given["stream"] = True
    gathered: dict[str, list[Difference]] = {}
    for difference in differences(given, envelope, "$", "", Diff()):
        path = difference.path.removeprefix("$.")
        if path == "tools" or path.startswith("tools["):
            gathered.setdefault(difference.kind, []).append(replace(difference, path=path))
        else:
            finding = as_finding(run.lane, replace(difference, path=path), request)
            yield replace(finding, severity=INFO) if finding.kind == "added-field" else finding
    for kind, places in gathered.items():
        note = ", ".join(place.path for place in places)
        # A description more or less is cosmetic; a tool more or less is not.
        severity = NOTICE if any(WHOLE_TOOL.fullmatch(place.path) for place in places) else INFO
        yield Finding(kind, run.lane, "tools", request, places[0].expected, places[0].found, note, severity=severity)
