"""One run judged: what the lane did with the model's replies, each difference a finding."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compare.back import as_finding, findings_of
from compare.calls import Call, calls_of
from compare.diff import diff
from compare.envelope import envelope_findings
from compare.findings import Finding
from compare.runner import Execution, Run
from compare.stops import claim_findings, observed_stop
from compare.turns import Conversation, Turn, conversation
from protocol import opening
from protocol.profile import OPENAI, check, last_turn


@dataclass
class Judged:
    """A run with what the judge made of it. `tolerances` maps the index of a message to the tolerances it needed."""

    run: Run
    told: Conversation
    calls: list[Call]
    observed: str
    findings: list[Finding]
    tolerances: dict[int, list[str]]


def judge(run: Run, scripted: int | None = None) -> Judged:
    """Judge one run on its own, against what the model said.

    `scripted` is the number of replies that the script had, where there was a script.
    """
    told = conversation(run.exchanges)
    calls = [calls_of(turn) for turn in told.turns]
    observed = observed_stop(run, told)
    found = list(_opening(run, told))
    tolerances: dict[int, list[str]] = {}
    for number, turn in enumerate(told.turns):
        later = told.turns[number + 1] if number + 1 < len(told.turns) else None
        found += _history(run, turn)
        executions = executions_of(run, turn, later)
        if turn.reply is not None:
            findings, taken = findings_of(run.lane, turn, calls[number], later, executions)
            found += findings
            tolerances[turn.end] = taken
    if told.turns and told.turns[-1].reply is not None:
        found += _left_open(run, told.turns[-1], calls[-1], told)
    found += _refusals(run, told)
    found += _script(run, told, scripted)
    found += envelope_findings(run, told)
    found += claim_findings(run, told, observed)
    return Judged(run, told, [call for turn in calls for call in turn], observed, found, tolerances)


def executions_of(run: Run, turn: Turn, later: Turn | None) -> list[Execution]:
    """The uses of tools between the turn's reply and the next request."""
    first = turn.attempts[-1].request.number
    behind = later.attempts[0].request.number if later is not None else None
    return [one for one in run.executions if one.after >= first and (behind is None or one.after < behind)]


def _opening(run: Run, told: Conversation) -> Iterator[Finding]:
    if not told.turns or run.foreign:
        return
    expected = opening(run.task.prompt, run.task.system)
    for index, message in enumerate(told.turns[0].sent):
        truth = expected[index] if index < len(expected) else None
        path = f"messages[{index}]"
        if truth is None:
            yield Finding("added-field", run.lane, path, 1, None, message, "nobody said this")
        else:
            yield from (as_finding(run.lane, one, 1) for one in diff(truth, message, path).differences)
    for index in range(len(told.turns[0].sent), len(expected)):
        yield Finding("lost-field", run.lane, f"messages[{index}]", 1, expected[index], None)


def _history(run: Run, turn: Turn) -> Iterator[Finding]:
    if turn.removed:
        note = f"the request no longer has {turn.removed} of the messages that the one before ended with"
        yield Finding("changed-value", run.lane, f"messages[{turn.start}]", turn.number, None, None, note)


def _left_open(run: Run, turn: Turn, calls: list[Call], told: Conversation) -> Iterator[Finding]:
    """The calls of the last reply: no request followed, so only the lane itself can say that it answered them."""
    behind = (run.messages or [])[turn.end + 1 :]
    answered = [message.get("tool_call_id") for message in behind if isinstance(message, dict)]
    for call in calls:
        if call.id in answered or (not call.id and len(answered) == len(calls)):
            continue
        yield Finding("unanswered-call", run.lane, call.path, turn.number, call.id, None, "the run ended with it open")


def _refusals(run: Run, told: Conversation) -> Iterator[Finding]:
    messages: list[Any] = []
    seen = set()
    for turn in told.turns:
        del messages[turn.start :]
        start = last_turn(messages)
        messages += turn.sent
        for breach in check(messages, OPENAI, start):
            rule = f"{breach.rule.provider}:{breach.rule.id}"
            if (rule, breach.path) not in seen:
                seen.add((rule, breach.path))
                note = f"{breach.rule.provider} answers {breach.rule.status}: {breach.rule.demands}; {breach.text}"
                yield Finding(
                    "would-be-refused", run.lane, breach.path, turn.number, None, None, note, rule=rule
                )


def _script(run: Run, told: Conversation, scripted: int | None) -> Iterator[Finding]:
    for turn in told.turns:
        for attempt in turn.attempts[1:]:
            path = f"request {attempt.request.number}"
            yield Finding("extra-attempt", run.lane, path, turn.number, None, None, f"after {turn_failure(turn)}")
    if scripted is None:
        return
    asked = [attempt for turn in told.turns for attempt in turn.attempts]
    for number in range(scripted, len(asked)):
        yield Finding("beyond-script", run.lane, f"request {number + 1}", None, scripted, number + 1)
    for number in range(len(asked), scripted):
        yield Finding("unused-reply", run.lane, f"reply {number + 1}", None, scripted, len(asked))


def turn_failure(turn: Turn) -> str:
    """What the first attempt of a turn met, in a few words."""
    reply = turn.attempts[0].reply
    return "a closed connection" if reply.close else f"HTTP {reply.status}"


__all__ = ["Judged", "judge"]
