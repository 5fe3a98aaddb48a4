"""Why a run ended, as the wire shows it, and whether the lane's own account agrees."""

from collections.abc import Iterator
from typing import Any

from compare.calls import parsed, usable
from compare.findings import Finding
from compare.runner import Run
from compare.turns import Conversation, Turn
from compare.values import equal
from protocol import ending, tool_calls
from toolbox.escaped import came_of


def observed_stop(run: Run, told: Conversation) -> str:
    """The stop reason by the evidence, a word of `protocol.STOP_REASONS`."""
    if run.timed_out:
        return "deadline"
    if not told.turns:
        if told.elsewhere and told.elsewhere[-1].reply.status >= 400:
            return "http-error"
        return "crash" if run.raised is not None else "connection-error"
    last = told.turns[-1]
    if last.reply is None:
        return "crash" if gave_up_early(run, last) else last.stop
    stop = ending(last.reply, last.finish_reason)
    if not last.whole and not tool_calls(last.reply):
        stop = "cut-off"
    if run.raised is not None:
        return "tool-error" if tool_raised(run) else "crash"
    if stop == "unanswered-calls" and len(told.turns) >= run.task.max_rounds:
        return "round-limit"
    return stop


def gave_up_early(run: Run, turn: Turn) -> bool:
    """Whether the lane raised in the middle of a reply for which it had time left: not because it waited too long."""
    exchange = turn.attempts[-1]
    if turn.stop != "deadline" or run.raised is None or exchange.client_left is None:
        return False
    # A tenth less, because the lane's clock and ours are not read at the same moments.
    return exchange.client_left - exchange.received < 0.9 * run.task.timeout


HOST_LIMITS = ("call-limit", "token-limit", "deadline", "awaiting-approval")
"""Why a host leaves calls open is its own affair: the wire shows only that they are."""


def contradicts(claimed: str, observed: str) -> bool:
    """Whether the stop that a lane claims cannot be what the wire shows."""
    left_open = observed in ("unanswered-calls", "round-limit")
    return claimed != observed and not (left_open and claimed in HOST_LIMITS)


def tool_raised(run: Run) -> bool:
    """Whether what the lane raised is what a tool raised, or was caused by it."""
    errors = [execution.error for execution in run.executions if execution.error is not None]
    return came_of(run.raised, errors)


def claim_findings(run: Run, told: Conversation, observed: str) -> Iterator[Finding]:
    """Where what the lane returned is not what crossed the wire: the stop reason, the first message that differs."""
    broke = told.turns[-1].stop if told.turns else ""
    if run.stop is not None and run.stop != broke and contradicts(run.stop, observed):
        yield Finding("claim-differs", run.lane, "stop", None, observed, run.stop, "observed on the wire, then claimed")
    if run.messages is None or not told.turns:
        return
    wire = list(told.messages)
    last = told.turns[-1].reply
    if last is not None and run.stop != broke:
        wire.append(last)
    unsent = len(tool_calls(last or {}))
    for index, claimed in enumerate(run.messages):
        if index >= len(wire):
            # Results of the last reply's calls were made and never sent: the rounds were used up.
            result = isinstance(claimed, dict) and claimed.get("role") == "tool"
            if not result or index >= len(wire) + unsent:
                yield Finding("claim-differs", run.lane, f"messages[{index}]", None, None, claimed)
                return
        elif not agrees(wire[index], claimed):
            yield Finding("claim-differs", run.lane, f"messages[{index}]", None, wire[index], claimed)
            return
    if len(run.messages) < len(wire):
        index = len(run.messages)
        yield Finding("claim-differs", run.lane, f"messages[{index}]", None, wire[index], None)


def agrees(wire: Any, claimed: Any) -> bool:
    """Whether a claimed message tells the same as the one on the wire: role, text, and the calls with their arguments.

    An id that the model left out may be any, and arguments that are no object may be left out: both are repairs.
    """
    if not isinstance(wire, dict) or not isinstance(claimed, dict):
        return False
    if (wire.get("role") or "assistant") != (claimed.get("role") or "assistant"):
        return False
    if text_of(wire.get("content")) != text_of(claimed.get("content")):
        return False
    if wire.get("tool_call_id") != claimed.get("tool_call_id"):
        return False
    sent, told = tool_calls(wire), tool_calls(claimed)
    return len(sent) == len(told) and all(map(call_agrees, sent, told))


def text_of(content: Any) -> Any:
    """The text of a content, which may be null, or a list of parts with text."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content or ""


def call_agrees(wire: Any, claimed: Any) -> bool:
    """The same for one tool call."""
    if not isinstance(wire, dict) or not isinstance(claimed, dict):
        return not isinstance(wire, dict)
    if usable(wire.get("id")) and wire["id"] != claimed.get("id"):
        return False
    one, other = wire.get("function"), claimed.get("function")
    if not isinstance(one, dict) or not isinstance(other, dict):
        return True
    arguments = parsed(one.get("arguments"))
    repaired = not isinstance(arguments, dict)
    return (one.get("name") or "") == other.get("name") and (
        repaired or equal(arguments, parsed(other.get("arguments")))
    )
