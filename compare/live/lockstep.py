"""One lane in lockstep with the first: it gets the same replies while its requests mean the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from compare.diff import Difference
from compare.live.failures import Asked
from compare.live.meaning import Meaning, compare_requests
from compare.replies import Reply
from compare.runner import Execution, Run
from compare.server import Backend, Exchange, Request
from compare.wire import error_reply

ALONE, STOP = "alone", "stop"
AFTER_FORK = (ALONE, STOP)
"""What a lane does where it parts from the first one: it goes on with the endpoint by itself, or ends there."""


@dataclass(frozen=True)
class Fork:
    """Where a lane parted from the first: at which request, why, and the first difference where there is one."""

    request: int
    reason: str
    difference: Difference | None = None


class Book:
    """What the first lane asked, and what it got: its requests to the model, in order."""

    def __init__(self, run: Run) -> None:
        self.lane = run.lane
        self.exchanges: list[Exchange] = [exchange for exchange in run.exchanges if exchange.for_model]
        self._executions = None if run.foreign else run.executions

    def asked(self, number: int) -> Asked:
        """The `number`-th request, from 1."""
        request = self.exchanges[number - 1].request
        return asked(request, self._executions)


def asked(request: Request, executions: Sequence[Execution] | None) -> Asked:
    """A request as it is compared. What a tool did counts also for the requests before it, which tell nothing of it."""
    return Asked(request.body.envelope or {}, request.body.messages(), executions)


class Lockstep:
    """The backend of one lane behind the first.

    `executions` is the list into which the lane's uses of tools are entered, or None where nobody sees them. `fork` is
    set where the lane parted, `healed` to the number of the first later request that means again what one of the first
    lane's does, with the number of that one. `given` counts the replies that cost nothing.
    """

    def __init__(self, book: Book, upstream: Backend, after_fork: str, executions: Sequence[Execution] | None) -> None:
        self.fork: Fork | None = None
        self.healed: tuple[int, int] | None = None
        self.given: set[int] = set()
        self.tolerances: dict[str, None] = {}
        self._book, self._upstream, self._after_fork, self._executions = book, upstream, after_fork, executions
        self._asked = 0

    def __call__(self, request: Request) -> Reply:
        """The reply to one request."""
        self._asked += 1
        if self.fork is None:
            self.fork = self._parted(request)
            if self.fork is None:
                self.given.add(request.number)
                return at_once(self._book.exchanges[self._asked - 1].reply)
        elif self.healed is None:
            self.healed = self._healed(request)
        if self._after_fork == STOP:
            return error_reply(400, f"request {self.fork.request} parts from {self._book.lane}: --after-fork stop")
        return self._upstream(request)

    def _parted(self, request: Request) -> Fork | None:
        """Why this request gets no reply of the first lane's, if it does not."""
        number, book = self._asked, self._book
        if number > len(book.exchanges):
            requests = "1 request" if len(book.exchanges) == 1 else f"{len(book.exchanges)} requests"
            return Fork(number, f"{book.lane} sent only {requests}")
        meaning = self._meaning(request, number)
        if not meaning.same:
            return Fork(number, f"it means another thing than that of {book.lane}", meaning.differences[0])
        self.tolerances |= meaning.tolerances
        if book.exchanges[number - 1].client_left is not None:
            return Fork(number, f"{book.lane} left before the end of the reply")
        return None

    def _healed(self, request: Request) -> tuple[int, int] | None:
        fork = self.fork.request if self.fork else 1
        for number in range(fork, len(self._book.exchanges) + 1):
            if self._meaning(request, number).same:
                return self._asked, number
        return None

    def _meaning(self, request: Request, number: int) -> Meaning:
        return compare_requests(self._book.asked(number), asked(request, self._executions))


def at_once(reply: Reply) -> Reply:
    """The same reply with the same borders, without the pauses that it came with."""
    return replace(reply, pieces=tuple(replace(piece, pause=0.0) for piece in reply.pieces))


def fork_data(fork: Fork, healed: tuple[int, int] | None) -> dict[str, Any]:
    """A fork as the report has it, but for the form of the values."""
    difference = fork.difference
    return {
        "request": fork.request,
        "reason": fork.reason,
        "class": difference.kind if difference else None,
        "path": difference.path if difference else None,
        "expected": difference.expected if difference else None,
        "found": difference.found if difference else None,
        "healed": None if healed is None else {"request": healed[0], "means": healed[1]},
    }
