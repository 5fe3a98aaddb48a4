"""What a lane does with a reply that breaks off: one run for each place in it where it may."""

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from compare.broken_replies import Break, Kind, answering
from compare.folder_state import Change, State, changes, state_of
from compare.lanes import Lane
from compare.modes import STREAM
from compare.replies import Reply, compact
from compare.runner import Execution, Outcome, Task, call, recorded, write_workspace
from compare.server import Backend, ModelServer, Request
from toolbox import standard_tools

PATIENCE = 30.0
"""Seconds that one run may take."""

SIGNS = {
    "·": "nothing ran",
    "!": "nothing ran, and the lane raised",
    "x": "something ran that is not what the whole reply asks for",
    "=": "what the whole reply asks for ran, though the reply had not said that it was over",
    "+": "what the whole reply asks for ran, and the reply had said that it was over",
}
"""One sign for each run, with what it means."""


@dataclass(frozen=True)
class Attempt:
    """One run on a reply that broke off: what ran, as names with arguments in JSON, sorted, and what it changed.

    `stop` is what the lane returned, `raised` the class of what it raised instead; `after` is the workspace then.
    """

    place: Break
    ran: tuple[tuple[str, str], ...]
    changed: tuple[Change, ...]
    stop: str | None
    raised: str | None
    after: State

    @property
    def effect(self) -> tuple[object, object]:
        """What the run did."""
        return self.ran, self.changed

    @property
    def ran_from_a_part(self) -> bool:
        """Whether something ran, or a file changed, though the reply had not said that it was over."""
        return any(self.effect) and not self.place.over


@dataclass(frozen=True)
class Strip:
    """One lane and one kind of break: the run on the whole reply, and those on its beginnings, shortest first."""

    lane: str
    kind: Kind
    whole: Attempt
    attempts: tuple[Attempt, ...]

    def sign(self, attempt: Attempt) -> str:
        """The key of SIGNS for one of the attempts."""
        if not any(attempt.effect):
            return "!" if attempt.raised else "·"
        if attempt.effect != self.whole.effect:
            return "x"
        return "+" if attempt.place.over else "="


def strips_of(
    kinds: Sequence[Kind], lanes: Sequence[Lane], task: Task, step: Callable[[], object] = lambda: None
) -> list[Strip]:
    """Each lane through each kind of break, lanes beside each other; `step` is called after each run."""
    strips = []
    for kind, lane in product(kinds, lanes):
        attempts = []
        for attempt in attempts_of(lane, kind, task):
            attempts.append(attempt)
            step()
        strips.append(Strip(lane.name, kind, attempts[-1], tuple(attempts[:-1])))
    return strips


def runs_of(kinds: Sequence[Kind], lanes: Sequence[Lane]) -> int:
    """How many runs that takes: one for each break, and one for the whole reply."""
    return sum(len(kind.breaks) + 1 for kind in kinds) * len(lanes)


def attempts_of(lane: Lane, kind: Kind, task: Task) -> Iterator[Attempt]:
    """Run the lane on each beginning of the reply, and last on the whole; yields as the runs end.

    One server serves them all, because a new address costs some clients a new TLS context. A run that does not end
    within PATIENCE counts as raised, and takes the server with it: what it asks later must not reach the next run.
    """
    todo = [kind.whole, *reversed(kind.breaks)]
    task = replace(task, stream=kind.mode == STREAM)
    while todo:
        backends: list[Backend] = []

        def answer(request: Request, backends: list[Backend] = backends) -> Reply:
            return backends[-1](request)

        lost = False
        with ModelServer(answer, task.model) as server:
            while todo and not lost:
                place = todo.pop()
                backends.append(answering(kind, place, task.model))
                attempt = run_once(lane, task, server, place)
                lost = attempt.raised == TimeoutError.__name__
                yield attempt


def run_once(lane: Lane, task: Task, server: ModelServer, place: Break) -> Attempt:
    """Run the lane in a new workspace against a server that is ready for it."""
    executions: list[Execution] = []
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="diptych-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_workspace(folder, task.workspace or {})
        before = state_of(folder)
        tools = [recorded(tool, server, executions) for tool in standard_tools(folder, task.write)]
        thread = threading.Thread(target=call, args=(lane, task, tools, server.base_url, outcome), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        if thread.is_alive():
            outcome = Outcome(raised=TimeoutError(f"the lane did not end within {PATIENCE:g} seconds"))
        after = state_of(folder)
    ran = sorted((one.name, compact(one.arguments)) for one in list(executions))
    raised = type(outcome.raised).__name__ if outcome.raised is not None else None
    return Attempt(place, tuple(ran), changes(before, after), outcome.stop, raised, after)
