"""What a live run costs: how many requests went to the endpoint, and the tokens that it counted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from compare.replies import Reply
from compare.server import Backend, Exchange, Request
from compare.values import parse
from compare.wire import error_reply
from protocol import SseReader

MAX_REQUESTS = 40
"""Requests that one prompt may cost, all lanes together, unless another number is given."""


class Budget:
    """The requests that one prompt may still cost. `refused` counts those that were beyond it."""

    def __init__(self, limit: int) -> None:
        self.limit, self.spent, self.refused = limit, 0, 0

    def limited(self, backend: Backend) -> Backend:
        """The backend, up to the limit; behind it comes an error that says so."""

        def answer(request: Request) -> Reply:
            if self.spent >= self.limit:
                self.refused += 1
                # 400, because clients send a request again after most other errors.
                return error_reply(400, limit_text(self.limit))
            self.spent += 1
            return backend(request)

        return answer


def limit_text(limit: int) -> str:
    """What is said at the limit."""
    requests = "1 request" if limit == 1 else f"{limit} requests"
    return f"the limit of {requests} for one prompt is reached; --max-requests sets another"


@dataclass(frozen=True)
class Tokens:
    """Tokens as the endpoint counted them, and how many of its replies told no count."""

    prompt: int = 0
    completion: int = 0
    untold: int = 0


def tokens_of(exchanges: Iterable[Exchange]) -> Tokens:
    """The tokens of some exchanges together; an error costs none."""
    told = [usage_of(exchange) for exchange in exchanges if 200 <= exchange.reply.status < 300]
    counts = [usage for usage in told if usage is not None]
    return Tokens(sum(one for one, _ in counts), sum(other for _, other in counts), len(told) - len(counts))


def usage_of(exchange: Exchange) -> tuple[int, int] | None:
    """The tokens of prompt and completion that a reply tells, in a stream the last that it tells; else None."""
    reader = SseReader()
    found = None
    body = exchange.reply.body
    for text in [*reader.feed(body), *reader.end()]:
        try:
            told = parse(text)
        except (ValueError, RecursionError):
            continue
        usage = told.get("usage") if isinstance(told, dict) else None
        counts = [count_in(usage, key) for key in ("prompt_tokens", "completion_tokens")]
        if counts[0] is not None and counts[1] is not None:
            found = counts[0], counts[1]
    return found


def count_in(usage: Any, key: str) -> int | None:
    """A number of tokens, where there is one that can be."""
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
