"""What the events of a show say, in built-ins: requests, replies, uses of tools, findings, and how a lane ended."""

from dataclasses import replace
from typing import Any

from compare.comparison import Comparison
from compare.diff import shared
from compare.findings import Finding
from compare.heard import heard_to_the_end
from compare.judge import Judged, judge
from compare.replies import Reply
from compare.report import as_text, comparison_data, finding_data, in_words, masked, plainly
from compare.runner import Execution, Run
from compare.server import Exchange, Request

TO_COME = Reply(0, (), b"", close=True)
"""In the place of the reply that a request still waits for."""


def request_data(request: Request, before: list[Any]) -> dict[str, Any]:
    """A request; `new` are the messages that the request before, with the messages `before`, did not have."""
    messages = request.body.messages()
    repeated = shared(messages, before)
    envelope = request.body.envelope or {}
    return {
        "number": request.number,
        "method": request.method,
        "target": request.target,
        "headers": [[name, masked(name, value)] for name, value in request.headers],
        "body": as_text(request.body.raw()),
        "size": len(request.body.raw()),
        "repeated": repeated,
        "new": plainly(messages[repeated:]),
        "beside": [key for key in envelope if key != "tools"],
        "tools": len(envelope["tools"]) if isinstance(envelope.get("tools"), list) else 0,
    }


def reply_data(request: Request, reply: Reply) -> dict[str, Any]:
    """A reply as bytes, and as a client that makes no mistakes reads it."""
    told = heard_to_the_end(request, reply)
    return {
        "number": request.number,
        "status": reply.status,
        "headers": [list(header) for header in reply.headers],
        "body": as_text(reply.body),
        "size": len(reply.body),
        "streamed": request.streamed,
        "message": plainly(told.message),
        "finish_reason": plainly(told.finish_reason),
        "problem": told.problem,
        "deviations": list(told.deviations),
    }


def tool_data(use: Execution) -> dict[str, Any]:
    """One use of a tool."""
    return {
        "number": use.after,
        "name": use.name,
        "arguments": plainly(use.arguments),
        "result": None if use.error else plainly(use.result),
        "error": None if use.error is None else in_words(use.error),
        "seconds": round(use.seconds, 6),
    }


def found_so_far(run: Run, request: Request) -> list[dict[str, Any]]:
    """What a request shows at the moment when it arrives: the findings of the judge that stand at it.

    Those on how a run ended are left out: it has not.
    """
    pending = Exchange(request, TO_COME, b"", 0.0, 0.0, for_model=True)
    judged = judge(replace(run, exchanges=[*run.exchanges, pending]))
    return [finding_data(one) for one in judged.findings if of_a_request(one, len(judged.told.turns))]


def of_a_request(finding: Finding, number: int) -> bool:
    """Whether a finding is one on what the `number`-th request to the model holds."""
    return finding.request == number and finding.kind not in ("unanswered-call", "claim-differs", "stop-reason")


def ended_data(lane: Judged) -> dict[str, Any]:
    """How a lane ended: as observed, and as it says."""
    raised = lane.run.raised
    return {
        "observed": lane.observed,
        "claimed": lane.run.stop,
        "raised": None if raised is None else in_words(raised, lane.run.raised_at),
        "requests": len(lane.run.exchanges),
        "seconds": round(lane.run.seconds, 4),
    }


def compared_data(one: Comparison) -> dict[str, Any]:
    """The comparison, without the exchanges: they have been told before."""
    data = comparison_data(one)
    for lane in data["lanes"]:
        del lane["exchanges"]
    return data
