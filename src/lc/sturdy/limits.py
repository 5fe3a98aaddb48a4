"""How much one run may use, and how much it has used: counted in the state, because a recursion limit counts steps."""

from dataclasses import dataclass
from typing import TypedDict

from langchain_core.messages import AIMessage


@dataclass(frozen=True)
class Limits:
    """The limits of one run, each with the stop reason it ends with. None: no limit; of rounds there is always one.

    `rounds`: model requests (`round-limit`); a run of N rounds makes N requests, and an answer in the last one counts.
    `calls`: tool calls that are run (`call-limit`). `tokens`: as the server's usage counts them (`token-limit`).
    `seconds`: of work, without the time that a person takes to approve (`deadline`).
    """

    rounds: int = 25
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a limit that nothing can keep."""
        for name, value in vars(self).items():
            if value is not None and value <= 0:
                raise ValueError(f"the limit {name} is {value}, but must be more than 0, or None for no limit")


class Used(TypedDict):
    """What the run has used so far."""

    rounds: int
    calls: int
    tokens: int
    seconds: float


def nothing() -> Used:
    """What a run has used at its start."""
    return {"rounds": 0, "calls": 0, "tokens": 0, "seconds": 0.0}


def used_by(reply: AIMessage) -> int:
    """The tokens of one request and its reply, as the server counted them; 0 where it did not say."""
    return reply.usage_metadata["total_tokens"] if reply.usage_metadata else 0


def left(limits: Limits, used: Used) -> float | None:
    """Seconds of work that are left to the run; None where there is no limit."""
    return None if limits.seconds is None else limits.seconds - used["seconds"]


def exhausted(limits: Limits, used: Used) -> str:
    """The stop reason of a run that may do nothing more, not even run its open calls; "" while it may."""
    if limits.tokens is not None and used["tokens"] >= limits.tokens:
        return "token-limit"
    if limits.seconds is not None and used["seconds"] >= limits.seconds:
        return "deadline"
    return ""
