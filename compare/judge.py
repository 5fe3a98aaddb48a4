"""One run judged: what the lane did with the model's replies, each difference a finding."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from compare.back import as_finding, findings_of
from compare.calls import Call, calls_of, usable
from compare.diff import message_differences
from compare.envelope import envelope_findings
from compare.findings import Finding
from compare.heard import broken_off, heard
from compare.profiles import refusals
from compare.runner import Execution, Run
from compare.server import Exchange
from compare.stops import claim_findings, observed_stop
from compare.turns import Conversation, Turn, conversation
from protocol import opening
from protocol.profile import Profile
from protocol.rules import Breach


@dataclass
class Judged:
    """A run with what the judge made of it. `tolerances` maps the index of a message to the tolerances it needed.

    `refused_by` maps each provider profile whose breaches are no findings to its first breach, "rule at path".
    """

    run: Run
    told: Conversation
    calls: list[Call]
    observed: str
    findings: list[Finding]
    tolerances: dict[int, list[str]]
    refused_by: dict[str, str]


def judge(run: Run, scripted: int | None = None, profiles: Sequence[Profile] = ()) -> Judged:
    """Judge one run on its own, against what the model said.

    `scripted` is the number of replies that the script had, where there was a script. What `profiles` would refuse
    is found as what OpenAI would.
    """
    told = conversation(run.exchanges)
    calls = [calls_of(turn) for turn in told.turns]
    observed = observed_stop(run, told)
    uses, unasked = uses_of(run, told)
    found = [*_opening(run, told), *_unasked(run, unasked)]
    tolerances: dict[int, list[str]] = {}
    for number, turn in enumerate(told.turns):
        later = told.turns[number + 1] if number + 1 < len(told.turns) else None
        found += _history(run, turn, later)
        if turn.reply is not None:
            findings, taken = findings_of(run, turn, calls[number], later, uses[number])
            found += findings
            tolerances[turn.end] = taken
    if told.turns and told.turns[-1].reply is not None:
        found += _left_open(run, told.turns[-1], calls[-1])
    refused, refused_by = refusals(told, profiles)
    found += [_refusal(run, number, breach) for number, breach in refused]
    found += _script(run, told, scripted)
    found += envelope_findings(run, told)
    found += claim_findings(run, told, observed)
    return Judged(run, told, [call for turn in calls for call in turn], observed, found, tolerances, refused_by)


def uses_of(run: Run, told: Conversation) -> tuple[list[list[Execution]], list[Execution]]:
    """The uses of tools behind the reply of each turn, and those behind no reply that could have asked for them."""
    numbers = [turn.attempts[-1].request.number for turn in told.turns]
    behind: list[list[Execution]] = [[] for _ in told.turns]
    unasked = []
    for one in run.executions:
        index = bisect_right(numbers, one.after) - 1
        replied = index >= 0 and told.turns[index].reply is not None
        later = told.turns[index + 1].attempts[0].request.number if index + 1 < len(told.turns) else None
        if replied and (later is None or one.after < later):
            behind[index].append(one)
        else:
            unasked.append(one)
    return behind, unasked


def _unasked(run: Run, uses: list[Execution]) -> Iterator[Finding]:
    for one in uses:
        place = f"behind request {one.after}" if one.after else "before the first request"
        yield Finding("executed-n-times", run.lane, place, None, 0, 1, f"{one.name} ran, and no reply asked for it")


def _opening(run: Run, told: Conversation) -> Iterator[Finding]:
    """Whether the conversation begins with what the lane was given."""
    if told.turns and not run.foreign:
        given = opening(run.task.prompt, run.task.system)
        for difference in message_differences(given, told.turns[0].sent):
            yield as_finding(run.lane, difference, 1)


def _history(run: Run, turn: Turn, later: Turn | None) -> Iterator[Finding]:
    """Whether the next request still has what this one had; and where no reply came, that nothing is put behind it."""
    if later is None:
        return
    place = turn.end - later.start
    for difference in message_differences(later.replaced, later.sent[:place], later.start):
        note = difference.note or f"request {turn.number} had it otherwise"
        yield as_finding(run.lane, replace(difference, note=note), later.number)
    if turn.reply is None:
        for index, message in enumerate(later.sent[place:], turn.end):
            yield Finding(
                "added-field", run.lane, f"messages[{index}]", later.number, None, message, "nobody said this"
            )


def _left_open(run: Run, turn: Turn, calls: list[Call]) -> Iterator[Finding]:
    """The calls of the last reply: no request followed, so only the lane itself can say that it answered them."""
    behind = (run.messages or [])[turn.end + 1 :]
    answered = [message.get("tool_call_id") for message in behind if isinstance(message, dict)]
    for call in calls:
        if call.id in answered or (not usable(call.id) and len(answered) == len(calls)):
            continue
        yield Finding("unanswered-call", run.lane, call.path, turn.number, call.id, None, "the run ended with it open")


def _refusal(run: Run, number: int, breach: Breach) -> Finding:
    rule = breach.rule
    note = f"{rule.provider} answers {rule.status}: {rule.demands}; {breach.text}"
    return Finding("would-be-refused", run.lane, breach.path, number, None, None, note, rule=rule.name)


def _script(run: Run, told: Conversation, scripted: int | None) -> Iterator[Finding]:
    """Retries, and what the lane asked for behind the script's end or left in it."""
    for turn in told.turns:
        for failed, attempt in pairwise(turn.attempts):
            path = f"request {attempt.request.number}"
            yield Finding("extra-attempt", run.lane, path, turn.number, None, None, f"after {failure_of(failed)}")
    if scripted is None:
        return
    asked = [attempt for turn in told.turns for attempt in turn.attempts]
    note = counted(scripted, len(asked))
    for attempt in asked[scripted:]:
        yield Finding("beyond-script", run.lane, f"request {attempt.request.number}", note=note)
    for number in range(len(asked) + 1, scripted + 1):
        yield Finding("unused-reply", run.lane, f"reply {number}", note=note)


def counted(scripted: int, asked: int) -> str:
    """The replies of the script and the requests for one, in words."""
    replies, were = "reply" if scripted == 1 else "replies", "was" if asked == 1 else "were"
    return f"the script has {scripted} {replies}, and {asked} {were} asked for"


def failure_of(exchange: Exchange) -> str:
    """What an attempt met, in a few words."""
    # Behind a reply that was whole, the sending broke off: that is no problem of the reply's.
    return heard(exchange).problem or broken_off(exchange).problem
