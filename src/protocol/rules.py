"""What a provider demands of a request: rules with their sources, and the check of a request against them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.checks import Problem, Sent
from protocol.messages import Message


@dataclass(frozen=True)
class Rule:
    """One demand of a provider: what it is, how a breach is answered, and where and since when that is known.

    `says` is how the provider words the error, and `code` what it calls it; both are empty where that is not known.
    `check` yields the problems of a request.
    """

    id: str
    provider: str
    demands: str
    status: int
    source: str
    since: str
    check: Callable[[Sent], Iterator[Problem]]
    says: str = ""
    code: str = ""

    @property
    def name(self) -> str:
        """The rule as findings name it: `provider:id`."""
        return f"{self.provider}:{self.id}"


@dataclass(frozen=True)
class Breach:
    """One place where a request breaks a rule."""

    rule: Rule
    path: str
    text: str

    @property
    def message(self) -> str:
        """The sentence of the provider's error: its own words where they are known, else ours."""
        return f"{self.rule.says or self.rule.demands} ({self.path}: {self.text})"


def check(
    messages: list[Any],
    rules: Sequence[Rule],
    start: int = 0,
    envelope: dict[str, Any] | None = None,
    heard: Sequence[Message] = (),
) -> list[Breach]:
    """All breaches of the rules in a request, in the order of the rules.

    `start` may be behind the first message when a request goes on from one that was checked before; it must not
    stand between an assistant message with tool calls and their results. `envelope` is the body without its
    messages; without it, nothing is said about it. `heard` are the model's replies before this request, in order:
    without them, nothing is said about what must come back.
    """
    sent = Sent(messages, start, envelope, heard)
    return [Breach(rule, path, text) for rule in rules for path, text in rule.check(sent)]


def last_turn(messages: list[Message]) -> int:
    """The index to start a check of what came last at: the last assistant message, or 0."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], dict) and messages[index].get("role") == "assistant":
            return index
    return 0
