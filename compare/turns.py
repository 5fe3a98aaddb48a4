"""A run's exchanges as rounds: what each request adds to the conversation, and what the model replied to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.diff import shared
from compare.heard import heard
from compare.server import Exchange
from protocol import tool_calls


@dataclass
class Turn:
    """One request to the model, with its HTTP retries.

    `sent` are the messages of the request behind the first `start`, which the request before had in the same places;
    `replaced` are those that it had there instead. `reply` is the model's message, or None; then `problem` says what
    came instead and `stop` is the reason to end a run with; beside a reply, `stop` is the reason of a client that
    noticed only how the sending broke off behind it. A reply is not `whole` when it was a stream that just ended;
    `deviations` names the rules that were needed to read it. `end` is where the reply belongs: the index behind the
    turn's messages, in the request after it where there is one.
    """

    number: int
    attempts: list[Exchange]
    start: int
    sent: list[Any]
    replaced: list[Any] = field(default_factory=list)
    reply: dict[str, Any] | None = None
    finish_reason: Any = None
    problem: str = ""
    stop: str = ""
    whole: bool = True
    deviations: tuple[str, ...] = ()
    end: int = 0

    def __post_init__(self) -> None:
        self.end = self.start + len(self.sent)


@dataclass
class Conversation:
    """All turns of a run, and the messages of its last request."""

    turns: list[Turn] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    elsewhere: list[Exchange] = field(default_factory=list)


def conversation(exchanges: Sequence[Exchange]) -> Conversation:
    """Read the exchanges of one run, in order."""
    told = Conversation()
    for exchange in exchanges:
        if not exchange.for_model:
            told.elsewhere.append(exchange)
        elif told.turns and again(told.turns[-1], exchange):
            told.turns[-1].attempts.append(exchange)
            hear(told.turns[-1], exchange)
        else:
            turn = next_turn(told, exchange)
            hear(turn, exchange)
            told.turns.append(turn)
    return told


def again(turn: Turn, exchange: Exchange) -> bool:
    """Whether the exchange is the turn's request once more, after a failure: a retry of the HTTP client."""
    body, last = exchange.request.body, turn.attempts[-1].request.body
    repeats = body.before is last and not body.added
    return (turn.reply is None or turn.stop != "") and (repeats or body.raw() == last.raw())


def next_turn(told: Conversation, exchange: Exchange) -> Turn:
    """The turn that the exchange begins; `told.messages` becomes what its request holds."""
    body, number = exchange.request.body, len(told.turns) + 1
    if body.before is not None and body.kept == len(told.messages):
        turn = Turn(number, [exchange], body.kept, body.new)
        told.messages.extend(body.new)
        return turn
    messages = body.messages()
    common = shared(messages, told.messages)
    turn = Turn(number, [exchange], common, messages[common:], told.messages[common:])
    if told.turns:
        told.turns[-1].end = max(common, place_of_reply(told, messages))
    told.messages[common:] = messages[common:]
    return turn


def place_of_reply(told: Conversation, messages: Sequence[Any]) -> int:
    """Where the last reply belongs in a request that does not go on from the one before: its history was rewritten.

    That is in front of the message that has the reply's calls; else behind the last message of the request before.
    """
    asked = ids_of(told.turns[-1].reply)
    places = [index for index, message in enumerate(messages) if asked and ids_of(message) & asked]
    if not places:
        last = told.messages[-1:]
        places = [index + 1 for index, message in enumerate(messages) if [message] == last]
    return places[-1] if places else min(len(told.messages), len(messages))


def ids_of(message: Any) -> set[str]:
    """The ids of a message's tool calls."""
    calls = tool_calls(message) if isinstance(message, dict) else []
    return {call["id"] for call in calls if isinstance(call, dict) and isinstance(call.get("id"), str)}


def hear(turn: Turn, exchange: Exchange) -> None:
    """Enter into the turn what the model replied."""
    came = heard(exchange)
    turn.reply, turn.finish_reason = came.message, came.finish_reason
    turn.whole, turn.deviations = came.whole, came.deviations
    turn.problem, turn.stop = came.problem, came.stop
