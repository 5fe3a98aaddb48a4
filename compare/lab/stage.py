"""How a lane is run so that it can be watched: each request, reply and use of a tool is told when it happens."""

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compare.lab.events import found_so_far, reply_data, request_data, tool_data
from compare.lab.show import Show, Stopped
from compare.lanes import Lane
from compare.replies import Reply
from compare.runner import Execution, Outcome, Run, Task, call, place_of, recorded, write_workspace
from compare.server import Backend, Exchange, ModelServer, Request
from compare.wire import error_reply
from toolbox import CALCULATOR, Tool, standard_tools
from toolbox.documents import SEARCH_DOCS

Serve = Callable[[Backend], ModelServer]


class Watched:
    """A lane at work, for a show: its name, its task, its tools, and what has happened in it so far."""

    def __init__(self, show: Show, lane: str, task: Task, foreign: bool = False) -> None:
        self.show, self.lane, self.task = show, lane, task
        self.tools: list[dict[str, Any]] = []
        self.exchanges: Sequence[Exchange] = ()
        self.executions = Told(self)
        self._foreign = foreign
        self._before: list[Any] = []

    def tell(self, kind: str, **more: Any) -> None:
        """Tell of something in this lane."""
        self.show.tell(kind, lane=self.lane, **more)

    def backend(self, backend: Backend) -> Backend:
        """The backend; what is asked of it and what it answers is told, and held back as long as the show wants."""

        def answer(request: Request) -> Reply:
            self.tell("request", **request_data(request, self._before))
            for finding in found_so_far(self.run(), request):
                self.tell("finding", number=request.number, finding=finding)
            self._before = request.body.messages()
            try:
                self.show.wait(request.number)
            except Stopped:
                return error_reply(400, "the reader has stopped this run")  # 400, because clients repeat other errors
            reply = backend(request)
            self.replied(request, reply)
            return reply

        return answer

    def replied(self, request: Request, reply: Reply) -> None:
        """Tell of a reply."""
        self.tell("reply", **reply_data(request, reply))

    def run(self, outcome: Outcome | None = None, seconds: float = 0.0, port: int = 0, at: str = "") -> Run:
        """The evidence so far, as a run."""
        came = outcome or Outcome()
        # Copies, because a lane that is stopped may still go on.
        exchanges, executions = list(self.exchanges), list(self.executions)
        more: dict[str, Any] = {"foreign": self._foreign, "raised_at": at}
        given = (came.messages, came.stop, came.raised)
        return Run(self.lane, self.task, self.tools, exchanges, executions, *given, seconds, port, **more)


class Told(list[Execution]):
    """The uses of tools; each is told when it is entered."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self._watched = watched

    def append(self, use: Execution) -> None:
        """Enter one."""
        super().append(use)
        self._watched.tell("tool", **tool_data(use))


def tools_of(task: Task, folder: str) -> list[Tool]:
    """What a lane is offered: what its scenario needs, else the two tools that the page's own loop has, too."""
    return [CALCULATOR, SEARCH_DOCS] if task.workspace is None else standard_tools(folder, task.write)


def run_watched(lane: Lane, watched: Watched, backend: Backend, serve: Serve) -> Run:
    """Run the lane once, against a server that `serve` makes; it ends early when the show is stopped. Raises Stopped.

    Whatever the lane raises or returns is in the Run.
    """
    show, task, outcome = watched.show, watched.task, Outcome()
    with tempfile.TemporaryDirectory(prefix="diptych-") as folder, serve(watched.backend(backend)) as server:
        watched.exchanges = server.exchanges
        write_workspace(Path(folder), task.workspace or {})
        tools = [recorded(tool, server, watched.executions) for tool in tools_of(task, folder)]
        watched.tools = [tool.schema() for tool in tools]
        watched.tell("lane", port=server.port, model=task.model, tools=[tool.name for tool in tools])
        started = time.perf_counter()
        arguments = (lane, task, tools, server.base_url, outcome)
        thread = threading.Thread(target=call, args=arguments, daemon=True)
        thread.start()
        while thread.is_alive() and not show.stopped.is_set():  # without a deadline: the reader has a button for that
            thread.join(0.02)
        if show.stopped.is_set():
            raise Stopped
        seconds = time.perf_counter() - started
    return watched.run(outcome, seconds, server.port, place_of(outcome.raised, lane))
