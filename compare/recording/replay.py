"""A recording in the model's place: each lane gets the recorded replies to requests that mean the same, in order."""

import functools
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compare.comparison import Comparison, compare
from compare.diff import Difference
from compare.judge import judge
from compare.lanes import Command, Lane
from compare.live.lockstep import Book, asked, at_once
from compare.live.meaning import Meaning, compare_requests
from compare.recording.load import RecordedRun, Recording
from compare.replies import Reply
from compare.runner import DEADLINE, Execution, Run, Task, run_lane
from compare.server import Exchange, Request
from compare.values import equal
from compare.wire import error_reply
from toolbox import Tool

REAL, FAST = "real", "fast"
PACES = (FAST, REAL)
"""How replies come: without their pauses, or as they came when they were recorded."""


@dataclass(frozen=True)
class Miss:
    """A request that no recorded one is left for. `nearest` is the number of the one that differs least, if any is."""

    request: int
    nearest: int | None
    differences: list[Difference]


@dataclass(frozen=True)
class Replay:
    """How one lane did against a recorded run of `source`: `unused` are the numbers of requests that it never sent.

    `recorded` and `observed` are the stop reasons then and now; `recorded` is None where the recorded run is another
    lane's, or was cut off.
    """

    lane: str
    source: str
    misses: list[Miss]
    unused: list[int]
    recorded: str | None
    observed: str

    @property
    def agrees(self) -> bool:
        """Whether the lane did what was recorded."""
        return not self.misses and not self.unused and self.recorded in (None, self.observed)


class RecordedReplies:
    """The backend of a replay. It never asks anybody else: a request without a match gets an error that says so."""

    def __init__(self, run: Run, executions: Sequence[Execution] | None, pace: str) -> None:
        self.misses: list[Miss] = []
        self._book, self._executions, self._pace = Book(run), executions, pace
        self._left = list(range(1, len(self._book.exchanges) + 1))

    @property
    def unused(self) -> list[int]:
        """The recorded requests that were not sent, by their numbers in the recording."""
        return [self._exchange(number).request.number for number in self._left]

    def __call__(self, request: Request) -> Reply:
        """The reply to the first recorded request left that means the same."""
        meanings: list[tuple[int, Meaning]] = []
        for number in self._left:
            meaning = compare_requests(self._book.asked(number), asked(request, self._executions))
            if meaning.same:
                self._left.remove(number)
                return self._reply(self._exchange(number))
            meanings.append((number, meaning))
        return self._missed(request, meanings)

    def _exchange(self, number: int) -> Exchange:
        return self._book.exchanges[number - 1]

    def _reply(self, exchange: Exchange) -> Reply:
        if self._pace == FAST:
            return at_once(exchange.reply)
        if not exchange.reply.pieces:  # those have their pauses in front of each
            time.sleep(max(exchange.answered - exchange.received, 0.0))
        return exchange.reply

    def _missed(self, request: Request, meanings: Sequence[tuple[int, Meaning]]) -> Reply:
        nearest, meaning = min(meanings, key=lambda one: len(one[1].differences), default=(0, Meaning()))
        number = self._exchange(nearest).request.number if nearest else None
        self.misses.append(Miss(request.number, number, meaning.differences))
        near = f"the nearest is {number}, which differs at {meaning.differences[0].path}" if number else "none is left"
        # 400, because clients send a request again after most other errors.
        return error_reply(400, f"replay: no recorded request means what request {request.number} does; {near}")


class RecordedTools:
    """Makes of a tool one that gives the recorded results: what it read then need not be on this machine.

    A use that was not recorded goes to the tool itself, which sees only the recorded workspace.
    """

    def __init__(self, executions: Sequence[Execution]) -> None:
        self._left, self._all, self._lock = list(executions), list(executions), threading.Lock()

    def __call__(self, tool: Tool) -> Tool:
        """The tool that stands in for this one."""
        signature = inspect.signature(tool.function)
        parameters = signature.parameters.values()
        defaults = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}

        @functools.wraps(tool.function)
        def function(*values: Any, **named: Any) -> Any:
            use = self._recorded(tool.name, defaults | signature.bind(*values, **named).arguments)
            if use is None:
                return tool.function(*values, **named)
            if use.error is not None:
                raise use.error
            return use.result

        return replace(tool, function=function)

    def _recorded(self, name: str, arguments: dict[str, Any]) -> Execution | None:
        with self._lock:
            for among in (self._left, self._all):
                for use in among:
                    if use.name == name and equal(use.arguments, arguments):
                        if among is self._left:
                            among.remove(use)
                        return use
        return None


def prompts_of(recording: Recording) -> list[tuple[Task, list[RecordedRun]]]:
    """The runs that had the same task, in order of the first."""
    groups: list[tuple[Task, list[RecordedRun]]] = []
    for one in recording.runs:
        found = next((runs for task, runs in groups if task == one.run.task), None)
        if found is None:
            groups.append((one.run.task, [one]))
        else:
            found.append(one)
    return groups


def replay_prompt(
    task: Task, recorded: Sequence[RecordedRun], lanes: Sequence[Lane], pace: str = FAST, name: str = "replay"
) -> tuple[Comparison, list[Replay]]:
    """Run the lanes against the recorded runs of one task: each against its own, or the first where it has none."""
    judged, replays = [], []
    for lane in lanes:
        source = next((one for one in recorded if one.run.lane == lane.name), recorded[0])
        executions: list[Execution] = []
        seen = None if isinstance(lane.run, Command) else executions  # a command's tools are its own affair
        backend = RecordedReplies(source.run, seen, pace)
        deadline = DEADLINE + (source.run.seconds if pace == REAL else 0.0)
        instead: Callable[[Tool], Tool] = RecordedTools(source.run.executions)
        run = run_lane(lane, task, backend, deadline, executions=executions, instead=instead)
        now = judge(run)
        judged.append(now)
        its_own = source.run.lane == lane.name and source.ended
        then = judge(source.run).observed if its_own else None
        replays.append(Replay(lane.name, source.run.lane, backend.misses, backend.unused, then, now.observed))
    return compare(name, task.prompt, "", task, judged, None), replays
