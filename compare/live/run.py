"""One prompt through the lanes against a live endpoint: the first lane asks, the others follow it in lockstep."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from compare.comparison import Comparison, compare
from compare.judge import judge
from compare.lanes import Command, Lane
from compare.live.cost import MAX_REQUESTS, Budget, tokens_of
from compare.live.lockstep import ALONE, Book, Lockstep, fork_data
from compare.live.meaning import request_legend
from compare.live.prompts import Prompt
from compare.live.upstream import Asked, Upstream
from compare.replies import Reply
from compare.runner import Execution, Interrupted, Run, Task, run_lane
from compare.server import Backend, Request
from compare.tolerances import legend

if TYPE_CHECKING:
    from compare.recording.recorder import Recorder

DEADLINE = 600.0
"""Seconds that a lane may take for one prompt: a small model on a laptop writes some tokens a second."""


@dataclass(frozen=True)
class Settings:
    """How a live run goes: what a lane does after a fork, requests and seconds at the most, and whom to tell of each.

    `asked` is called before each request of a lane, with the lane's name and the number of the request; `ended` when a
    lane has ended. `recorder` writes the runs down.
    """

    after_fork: str = ALONE
    max_requests: int = MAX_REQUESTS
    deadline: float = DEADLINE
    asked: Callable[[str, int], object] = lambda lane, number: None
    ended: Callable[[], object] = lambda: None
    recorder: "Recorder | None" = None


@dataclass
class Followed:
    """One lane's run, what it asked of the endpoint, and how it followed the first lane: that one followed nobody."""

    run: Run
    asked: Asked
    lockstep: Lockstep | None = None


def compare_live(prompt: Prompt, lanes: Sequence[Lane], upstream: Upstream, settings: Settings) -> Comparison:
    """Run a prompt through the lanes and compare; nothing is expected, so nothing surprises.

    An interruption ends the lane that runs and leaves out the others: what was done until then is in the comparison,
    and its `live` says that it was interrupted.
    """
    budget = Budget(settings.max_requests)
    done: list[Followed] = []
    interrupted = False
    try:
        for lane in lanes:
            follow(lane, prompt.task, upstream, settings, budget, done)
    except KeyboardInterrupt:
        interrupted = True
        done += [Followed(not_run(lane, prompt.task), Asked()) for lane in lanes[len(done) :]]
    judged = [judge(one.run) for one in done]
    result = compare(prompt.name, prompt.title, prompt.teaches, prompt.task, judged, None)
    return replace(result, live=live_data(upstream, settings, budget, done, interrupted))


def follow(
    lane: Lane, task: Task, upstream: Upstream, settings: Settings, budget: Budget, done: list[Followed]
) -> None:
    """Run one lane and put it behind those that are done. Raises KeyboardInterrupt, the lane being put there first."""
    executions: list[Execution] = []
    asked = Asked()
    live = budget.limited(upstream.backend(asked))
    lockstep = None
    if done:
        seen = None if isinstance(lane.run, Command) else executions
        lockstep = Lockstep(Book(done[0].run), live, settings.after_fork, seen)
    interrupted: Interrupted | None = None
    try:
        run = run_lane(
            lane,
            task,
            noticed(lockstep or live, lane.name, settings.asked),
            settings.deadline,
            secret_path=f"/{secrets.token_urlsafe(24)}",
            executions=executions,
            recorder=settings.recorder,
        )
    except Interrupted as error:
        interrupted, run = error, error.run
    done.append(Followed(run, asked, lockstep))
    settings.ended()
    if interrupted is not None:
        raise interrupted


def noticed(backend: Backend, lane: str, asked: Callable[[str, int], object]) -> Backend:
    """The backend, telling of each request before it answers."""

    def answer(request: Request) -> Reply:
        asked(lane, request.number)
        return backend(request)

    return answer


def not_run(lane: Lane, task: Task) -> Run:
    """The run of a lane whose turn did not come."""
    return Run(lane.name, task, [], [], [], None, None, KeyboardInterrupt("interrupted before it began"), 0.0, 0)


def live_data(
    upstream: Upstream, settings: Settings, budget: Budget, done: Sequence[Followed], interrupted: bool
) -> dict[str, Any]:
    """What the report says of a live run besides what it says of any."""
    lanes = [lane_data(one) for one in done]
    names = {**legend(), **request_legend()}
    taken = dict.fromkeys(name for lane in lanes for name in lane["tolerances"])
    return {
        "endpoint": upstream.place,
        "after_fork": settings.after_fork,
        "max_requests": settings.max_requests,
        "requests": budget.spent,
        "limit_reached": budget.refused > 0,
        "interrupted": interrupted,
        "tolerances": {name: names[name] for name in taken},
        "lanes": lanes,
    }


def lane_data(one: Followed) -> dict[str, Any]:
    """What one lane cost, and how far it went with the first."""
    live = [exchange for exchange in one.run.exchanges if exchange.request.number in one.asked.numbers]
    tokens, lockstep = tokens_of(live), one.lockstep
    return {
        "name": one.run.lane,
        "requests": len(live),
        "shared": len(lockstep.given) if lockstep else 0,
        "tokens": {"prompt": tokens.prompt, "completion": tokens.completion, "untold": tokens.untold},
        "problems": [{"request": number, "text": text} for number, text in sorted(one.asked.problems.items())],
        "tolerances": list(lockstep.tolerances) if lockstep else [],
        "fork": fork_data(lockstep.fork, lockstep.healed) if lockstep and lockstep.fork else None,
    }
