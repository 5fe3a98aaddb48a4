"""The lanes of the lab against a live endpoint: the first asks, the others follow it in lockstep, all of it watched."""

import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from compare.comparison import compare
from compare.judge import judge
from compare.lab.endpoint import Endpoint
from compare.lab.events import compared_data
from compare.lab.play import told
from compare.lab.show import Show
from compare.lab.stage import Watched, run_watched
from compare.lanes import Lane
from compare.live.cost import Budget
from compare.live.lockstep import ALONE, Book, Lockstep
from compare.live.run import Followed, Settings, live_data
from compare.live.upstream import Asked, Upstream
from compare.process import lanes_at_work
from compare.replies import Live, Piece, Reply
from compare.runner import Task
from compare.secrets import Masker
from compare.server import Backend, ModelServer, Request


class WatchedLive(Watched):
    """A lane against an endpoint: a reply that comes bit by bit is told when it is whole, or has broken off."""

    def __init__(self, show: Show, lane: str, task: Task, masker: Masker) -> None:
        super().__init__(show, lane, task)
        self._masker = masker

    def tell(self, kind: str, **more: Any) -> None:
        """Tell of something in this lane, without the key: an endpoint may spread it over the deltas of a stream."""
        super().tell(kind, **self._masker.value(more))

    def replied(self, request: Request, reply: Reply) -> None:
        """Tell of a reply that is there; of one to come, that it is awaited."""
        if reply.live is None:
            super().replied(request, reply)

    def listening(self, backend: Backend) -> Backend:
        """The backend; its live replies are overheard."""

        def answer(request: Request) -> Reply:
            reply = backend(request)
            return reply if reply.live is None else replace(reply, live=self._overheard(request, reply.live))

        return answer

    def _overheard(self, request: Request, live: Live) -> Live:
        def relay(gone: Callable[[], bool]) -> Generator[Reply | Piece, None, None]:
            came, ending = Reply(0, (), b"", close=True), "cut"
            data, told = b"", False
            try:
                for part in live(gone):
                    if isinstance(part, Reply):
                        came = part
                    else:
                        data += part.data
                    # Told before the lane has it: what it does then is told, too, and comes behind.
                    if not told and (not came.pieces or b"[DONE]" in data[-64:]):
                        told = True
                        self._came(request, came, data, "whole")
                    yield part
                ending = "whole"
            finally:
                if not told:
                    self._came(request, came, data, ending)

        return relay

    def _came(self, request: Request, reply: Reply, data: bytes, ending: str) -> None:
        super().replied(request, replace(reply, body=reply.body + data, pieces=(), ending=ending))


def perform_live(show: Show, task: Task, lanes: Sequence[Lane], endpoint: Endpoint, most: int) -> None:
    """Run the lanes one after the other against the endpoint, at most `most` requests altogether, and compare.

    No lane sees the key, and each server has an address that nobody can guess: what it serves costs money.
    """
    settings, budget, done = Settings(ALONE, most), Budget(most), list[Followed]()
    masker = Masker([endpoint.key])
    with Upstream(endpoint.base_url, endpoint.key) as upstream, lanes_at_work():
        for lane in lanes:
            done.append(follow(show, task, lane, upstream, budget, done, masker))
    result = compare("lab", task.prompt, "", task, [judge(one.run) for one in done], None)
    result = replace(result, live=live_data(upstream, settings, budget, done, interrupted=False))
    show.tell("compared", comparison=masker.value(compared_data(result)))


def follow(
    show: Show, task: Task, lane: Lane, upstream: Upstream, budget: Budget, done: Sequence[Followed], masker: Masker
) -> Followed:
    """Run one lane, behind the first where there is one."""
    watched, asked = WatchedLive(show, lane.name, task, masker), Asked()
    live = budget.limited(upstream.backend(asked))
    lockstep = Lockstep(Book(done[0].run), live, ALONE, watched.executions) if done else None

    def serve(backend: Backend) -> ModelServer:
        return ModelServer(backend, task.model, secret_path=f"/{secrets.token_urlsafe(24)}")

    return Followed(told(show, run_watched(lane, watched, watched.listening(lockstep or live), serve)), asked, lockstep)
