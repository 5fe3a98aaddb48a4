"""One lane run against one model server: the exchanges, the tools that ran, and what the lane returned or raised."""

import functools
import inspect
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compare.lanes import Lane
from compare.server import Backend, Exchange, ModelServer
from toolbox import Tool, standard_tools

DEADLINE = 60.0
"""Seconds that a lane may take for one run."""
API_KEY = "sk-diptych-loopback"


@dataclass(frozen=True)
class Task:
    """What a lane is asked to do.

    `workspace` maps relative file names to the texts that its tools find, in a new folder; with `root`, the tools see
    that folder instead. `write` offers the tool that writes there. `stream` asks for the model's replies as streams;
    `timeout` is in seconds, for one of them.
    """

    prompt: str
    model: str
    system: str | None = None
    max_rounds: int = 8
    workspace: dict[str, str] | None = None
    root: Path | None = None
    stream: bool = False
    timeout: float = 60.0
    write: bool = False


@dataclass(frozen=True)
class Execution:
    """One use of a tool: behind which exchange (by number), with which arguments, and what came of it.

    `arguments` has the defaults of those that were left out, which are in `defaults`.
    """

    after: int
    name: str
    arguments: dict[str, Any]
    defaults: dict[str, Any]
    result: Any
    error: BaseException | None
    seconds: float


@dataclass(frozen=True)
class Run:
    """All evidence of one run. `stop` and `messages` are what the lane returned; `raised` is what it raised instead.

    `raised_at` is where in the lane's own file that was. A `foreign` run is a client's that was not given its task, or
    its tools, by us: only the wire speaks for it.
    """

    lane: str
    task: Task
    tools: list[dict[str, Any]]
    exchanges: list[Exchange]
    executions: list[Execution]
    messages: list[Any] | None
    stop: str | None
    raised: BaseException | None
    seconds: float
    port: int
    timed_out: bool = False
    foreign: bool = False
    raised_at: str = ""


def run_lane(lane: Lane, task: Task, backend: Backend, deadline: float = DEADLINE) -> Run:
    """Run the lane once, against a server and in a folder of its own; `deadline` is in seconds.

    Whatever the lane raises or returns is in the Run: a lane cannot make this raise. A backend that raises can.
    """
    executions: list[Execution] = []
    with tempfile.TemporaryDirectory(prefix="diptych-") as folder, ModelServer(backend, task.model) as server:
        write_workspace(Path(folder), task.workspace or {})
        tools = [recorded(tool, server, executions) for tool in standard_tools(task.root or folder, task.write)]
        outcome = Outcome()
        started = time.perf_counter()
        # A daemon thread, so that a lane that never ends cannot keep the judge.
        thread = threading.Thread(target=call, args=(lane, task, tools, server.base_url, outcome), daemon=True)
        thread.start()
        timed_out = not ended(thread, deadline)
        if timed_out:
            outcome = Outcome(raised=TimeoutError(f"the lane did not end within {deadline:g} seconds"))
        seconds = time.perf_counter() - started
    return Run(
        lane.name,
        task,
        [tool.schema() for tool in tools],
        list(server.exchanges),
        list(executions),  # a copy, because a lane that hangs may still go on
        outcome.messages,
        outcome.stop,
        outcome.raised,
        seconds,
        server.port,
        timed_out,
        raised_at=place_of(outcome.raised, lane),
    )


def ended(thread: threading.Thread, deadline: float) -> bool:
    """Wait for the thread to end, at most `deadline` seconds; returns whether it did.

    In short steps: Python acts on a signal that comes just before a wait begins only when the wait is over.
    """
    until = time.monotonic() + deadline
    while thread.is_alive() and (left := until - time.monotonic()) > 0:
        thread.join(min(left, 0.1))
    return not thread.is_alive()


def place_of(error: BaseException | None, lane: Lane) -> str:
    """Where an exception came through the lane's own file last, as `file.py:12`; else the last place of all."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    code = getattr(inspect.unwrap(lane.run), "__code__", None)
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    last = (own or frames[-1:])[-1:]
    return "".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in last)


@dataclass
class Outcome:
    """What a lane returned or raised."""

    messages: list[Any] | None = None
    stop: str | None = None
    raised: BaseException | None = None


def call(lane: Lane, task: Task, tools: Sequence[Tool], base_url: str, outcome: Outcome) -> None:
    """Call the lane by its contract, and enter what comes of it into `outcome`."""
    try:
        returned = lane.run(
            task.prompt,
            tools,
            base_url=base_url,
            model=task.model,
            api_key=API_KEY,
            system=task.system,
            max_rounds=task.max_rounds,
            timeout=task.timeout,
            # Only where it is asked for, so that a lane that knows no streams runs without.
            **({"stream": True} if task.stream else {}),
        )
        outcome.messages, outcome.stop = checked(returned, lane.name)
    except BaseException as error:  # noqa: BLE001 # a lane that raises is a result
        outcome.raised = error


def checked(returned: object, lane_name: str) -> tuple[list[Any], str]:
    """What a lane returned, where it has the types of the contract. Raises TypeError."""
    match returned:
        case (list() as messages, str() as stop):
            return messages, stop
        case tuple():
            found = f"({', '.join(type(part).__name__ for part in returned)})"
        case _:
            found = type(returned).__name__
    if inspect.iscoroutine(returned):
        returned.close()  # or Python warns that nobody awaited it
    raise TypeError(f"a lane returns (list of messages, stop reason), but {lane_name} returned {found}")


def recorded(tool: Tool, server: ModelServer, executions: list[Execution]) -> Tool:
    """The tool, writing down each of its uses. Its signature stays: lanes may build a schema from it.

    A use whose arguments do not fit the signature raises TypeError as before, and is none: nothing was executed.
    """
    signature = inspect.signature(tool.function)
    parameters = signature.parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}

    @functools.wraps(tool.function)
    def function(*values: Any, **named: Any) -> Any:
        arguments = defaults | signature.bind(*values, **named).arguments
        after, started = len(server.exchanges), time.perf_counter()
        result, error = None, None
        try:
            result = tool.function(*values, **named)
        except BaseException as raised:
            error = raised
            raise
        finally:
            seconds = time.perf_counter() - started
            executions.append(Execution(after, tool.name, arguments, defaults, result, error, seconds))
        return result

    return replace(tool, function=function)


def write_workspace(folder: Path, files: dict[str, str]) -> None:
    """Put the files of a scenario into the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")  # the text's own line ends, on each system
