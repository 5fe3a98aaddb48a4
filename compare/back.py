"""What a lane sends back after a reply: the assistant message, and a result for each of its calls."""

from collections.abc import Iterator, Sequence
from typing import Any

from compare.calls import Call, match_answers, match_executions, match_sent, parsed, ran_with, usable
from compare.diff import Difference, diff
from compare.findings import Finding
from compare.results import envelope, plain, says
from compare.runner import Execution, Run
from compare.turns import Turn
from protocol import tool_calls

RESULT_KEYS = ("role", "tool_call_id", "content")


def findings_of(
    run: Run, turn: Turn, calls: list[Call], later: Turn | None, executions: Sequence[Execution]
) -> tuple[list[Finding], list[str]]:
    """Compare what the model said in `turn` with what the lane sent in the request after it (`later`).

    Enters executions and answers into the calls. Returns the findings, and the names of the tolerances taken.
    """
    lane = run.lane
    strays = match_executions(calls, executions)
    found = [_stray(lane, turn, stray) for stray in strays]
    tolerances: list[str] = []
    if later is not None:
        sent = later.sent[turn.end - later.start :]
        assistant = assistant_of(sent)
        found += _assistant(lane, turn, later, assistant, calls, tolerances)
        rest = list(enumerate(sent[1:] if assistant is not None else sent, turn.end + (assistant is not None)))
        found += _answers(lane, later, calls, rest)
        if not run.foreign:  # whose tools ran where we cannot see them
            found += [finding for call in calls for finding in _told(lane, later, calls, call)]
    found += [finding for call in calls for finding in _executions(lane, turn, call)]
    return found, tolerances


def assistant_of(sent: Sequence[Any]) -> dict[str, Any] | None:
    """The assistant message at the front of what a request adds, where one stands there."""
    first = sent[0] if sent else None
    return first if isinstance(first, dict) and not _is_role(first, "tool", "user", "system", "developer") else None


def _is_role(message: Any, *roles: str) -> bool:
    return isinstance(message, dict) and message.get("role") in roles


def _stray(lane: str, turn: Turn, stray: Execution) -> Finding:
    note = f"{stray.name} ran, and no call of round {turn.number} asked for it"
    return Finding("executed-n-times", lane, f"round {turn.number}", turn.number, 0, 1, note)


def _assistant(
    lane: str, turn: Turn, later: Turn, assistant: Any, calls: list[Call], tolerances: list[str]
) -> Iterator[Finding]:
    path = f"messages[{turn.end}]"
    if assistant is None:
        yield Finding(
            "lost-field", lane, path, later.number, turn.reply, None, "the assistant message does not go back"
        )
        for call in calls:
            yield Finding("dropped-call", lane, call.path, later.number, call.id, None)
        return
    order = match_sent(calls, assistant)
    for call, index in zip(calls, order, strict=True):
        if index is None:
            yield Finding("dropped-call", lane, call.path, later.number, call.id, None)
        elif usable(call.sent_id) and call.sent_id != call.id and not call.has_own_id:
            yield Finding("invented-id", lane, f"{call.path}.id", later.number, call.id, call.sent_id)
    kept = [index for index in order if index is not None]
    if kept != sorted(kept):
        both = orders([call for call in calls if call.came_back], kept)
        yield Finding("reordered", lane, f"{path}.tool_calls", later.number, *both, "the calls stand in another order")
    compared = diff(_comparable(turn.reply, calls), aligned(assistant, order), path)
    tolerances.extend(compared.tolerances)
    yield from (as_finding(lane, difference, later.number) for difference in compared.differences)


def _comparable(reply: Any, calls: list[Call]) -> Any:
    """The model's message, with ids where the lane had to make them up: those are findings of their own."""
    entries = tool_calls(reply)
    if not entries:
        return reply
    filled = [
        {**entry, "id": call.sent_id} if isinstance(entry, dict) and call.came_back and not call.has_own_id else entry
        for entry, call in zip(entries, calls, strict=True)
    ]
    kept = [entry for entry, call in zip(filled, calls, strict=True) if call.came_back]
    return {**reply, "tool_calls": kept} if kept else {key: reply[key] for key in reply if key != "tool_calls"}


def aligned(assistant: dict[str, Any], order: Sequence[int | None]) -> dict[str, Any]:
    """The message with its calls in the order in which the model made them, and any that nobody made behind."""
    entries = tool_calls(assistant)
    if not entries:
        return assistant
    kept = [index for index in order if index is not None]
    more = [index for index in range(len(entries)) if index not in kept]
    return {**assistant, "tool_calls": [entries[index] for index in kept + more]}


def as_finding(lane: str, difference: Difference, request: int) -> Finding:
    """A difference of two messages as a finding about the lane."""
    return Finding(
        difference.kind,
        lane,
        difference.path,
        request,
        difference.expected,
        difference.found,
        difference.note,
        offset=difference.offset,
    )


def _answers(lane: str, later: Turn, calls: list[Call], rest: list[tuple[int, Any]]) -> Iterator[Finding]:
    for index, message in match_answers(calls, rest):
        note = f"no call of the turn has the id {message.get('tool_call_id')!r}"
        yield Finding(
            "orphan-result", lane, f"messages[{index}]", later.number, None, message.get("tool_call_id"), note
        )
    for index, message in rest:
        if not _is_role(message, "tool"):
            yield Finding("added-field", lane, f"messages[{index}]", later.number, None, message, "nobody said this")
            continue
        for key in [key for key in message if key not in RESULT_KEYS]:
            yield Finding("added-field", lane, f"messages[{index}].{key}", later.number, None, message[key])
    for call in calls:
        if not call.answers:
            yield Finding("unanswered-call", lane, call.path, later.number, call.id, None)
        elif len(call.answers) > 1:
            yield Finding("answered-twice", lane, call.path, later.number, 1, len(call.answers))
    answered = [call for call in calls if call.answers]
    firsts = [call.answers[0][0] for call in answered]
    if firsts != sorted(firsts):
        both = orders(answered, firsts)
        yield Finding("reordered", lane, f"messages[{min(firsts)}]", later.number, *both, "results out of order")


def orders(calls: Sequence[Call], places: Sequence[int]) -> tuple[list[str], list[str]]:
    """The calls in the order in which they were made, and in that of the places where they or their results stand.

    They are named by their ids; where these do not tell them apart, by their numbers.
    """
    ids = [call.id for call in calls]
    if not all(map(usable, ids)) or len(set(ids)) < len(ids):
        ids = [f"call {number}" for number in range(1, len(calls) + 1)]
    return ids, [name for _, name in sorted(zip(places, ids, strict=True), key=lambda pair: pair[0])]


def _told(lane: str, later: Turn, calls: list[Call], call: Call) -> Iterator[Finding]:
    for index, message in call.answers:
        yield from _answer(lane, later, calls, call, f"messages[{index}].content", message.get("content"))


def _answer(lane: str, later: Turn, calls: list[Call], call: Call, path: str, content: Any) -> Iterator[Finding]:
    """Whether a tool message says what the tool did."""
    own = call.executions[0] if call.executions else None
    if own is not None and own.error is None and says(content, own.result):
        return
    others = [
        other
        for other in calls
        if other is not call and other.executions and other.executions[0].error is None
        and says(content, other.executions[0].result)
    ]  # fmt: skip
    observation = envelope(content)
    if others:
        note = f"this is the result of {others[0].id!r}"
        yield Finding("swapped-results", lane, path, later.number, plain(own.result) if own else None, content, note)
    elif own is not None and own.error is None:
        yield Finding(
            "changed-value", lane, path, later.number, plain(own.result), content, "not what the tool returned"
        )
    elif observation is not None and observation["ok"]:
        note = f"the tool raised {type(own.error).__name__}" if own else "the tool never ran"
        yield Finding("claim-differs", lane, path, later.number, None, content, f"told as a success, but {note}")


def _executions(lane: str, turn: Turn, call: Call) -> Iterator[Finding]:
    """Whether the tool ran as often, and with the arguments, that the call asks for."""
    if not call.executions:
        return
    if turn.finish_reason == "length" or not turn.whole:
        yield Finding("executed-despite-cut-off", lane, call.path, turn.number, 0, len(call.executions))
    if len(call.executions) > 1:
        yield Finding("executed-n-times", lane, call.path, turn.number, 1, len(call.executions))
    asked, use = parsed(call.arguments), call.executions[0]
    if not ran_with(use, asked):
        path = f"executed {call.path}.arguments"
        if isinstance(asked, dict):
            for difference in diff(use.defaults | asked, use.arguments, path, "").differences:
                yield as_finding(lane, difference, turn.number)
        else:
            note = "the tool ran on something other than what the model wrote"
            yield Finding("changed-value", lane, path, turn.number, call.arguments, use.arguments, note)
