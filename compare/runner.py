"""One lane run against one model server: the exchanges, the tools that ran, and what the lane returned or raised."""

import functools
import inspect
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare.command import Ended, run_command, variables
from compare.lanes import Command, Lane
from compare.server import Backend, Exchange, ModelServer
from toolbox import Tool, standard_tools

if TYPE_CHECKING:
    from compare.recording.recorder import Recorder, RunRecorder

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

    `raised_at` is where in the lane's own file that was. A `foreign` run is a client's whose tools are not ours, or a
    command's: only the wire speaks for it. `process` is what is known of a command.
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
    process: Ended | None = None


class Interrupted(KeyboardInterrupt):
    """The user's interruption of a run; `run` is the evidence up to then."""

    def __init__(self, run: Run) -> None:
        super().__init__("interrupted")
        self.run = run


def run_lane(
    lane: Lane,
    task: Task,
    backend: Backend,
    deadline: float = DEADLINE,
    *,
    secret_path: str = "",
    executions: list[Execution] | None = None,
    recorder: "Recorder | None" = None,
    instead: Callable[[Tool], Tool] | None = None,
) -> Run:
    """Run the lane once, against a server and in a folder of its own; `deadline` is in seconds.

    `secret_path` is the server's. The uses of tools are entered into `executions` as they happen, where that is given.
    `recorder` writes down the run; `instead` makes of each tool the one that the lane gets.
    Whatever the lane raises or returns is in the Run: a lane cannot make this raise. A backend that raises can; and a
    KeyboardInterrupt comes out as Interrupted.
    """
    executions = [] if executions is None else executions
    interrupted: KeyboardInterrupt | None = None
    schemas = [] if isinstance(lane.run, Command) else [tool.schema() for tool in standard_tools(".", task.write)]
    record = recorder.run_started(lane.name, task, schemas) if recorder else None
    with (
        tempfile.TemporaryDirectory(prefix="diptych-") as folder,
        ModelServer(
            backend, task.model, secret_path=secret_path, finished=record.exchange if record else None
        ) as server,
    ):
        write_workspace(Path(folder), task.workspace or {})
        tools = standard_tools(task.root or folder, task.write)
        tools = [recorded(instead(tool) if instead else tool, server, executions, record) for tool in tools]
        started = time.perf_counter()
        try:
            if isinstance(lane.run, Command):
                outcome = commanded(lane.run, task, server.base_url, folder, deadline)
            else:
                outcome = called(lane, task, tools, server.base_url, deadline)
        except KeyboardInterrupt as error:
            interrupted, outcome = error, Outcome(raised=KeyboardInterrupt("interrupted"))
        seconds = time.perf_counter() - started
    run = Run(
        lane.name,
        task,
        schemas,
        list(server.exchanges),
        list(executions),  # a copy, because a lane that hangs may still go on
        outcome.messages,
        outcome.stop,
        outcome.raised,
        seconds,
        server.port,
        outcome.timed_out,
        foreign=isinstance(lane.run, Command),
        raised_at=place_of(outcome.raised, lane),
        process=outcome.process,
    )
    if record:
        record.run_ended(run)
    if interrupted is not None:
        raise Interrupted(run) from interrupted
    return run


def called(lane: Lane, task: Task, tools: Sequence[Tool], base_url: str, deadline: float) -> "Outcome":
    """What comes of calling the lane's function, within `deadline` seconds."""
    outcome = Outcome()
    # A daemon thread, so that a lane that never ends cannot keep the judge.
    thread = threading.Thread(target=call, args=(lane, task, tools, base_url, outcome), daemon=True)
    thread.start()
    return outcome if ended(thread, deadline) else too_late(deadline)


def commanded(command: Command, task: Task, base_url: str, folder: str, deadline: float) -> "Outcome":
    """What comes of a lane's command, within `deadline` seconds; the key that it was given is masked in its outputs."""
    told = run_command(command.words, task.prompt, variables(task, base_url, API_KEY, folder), deadline)
    told = replace(told, stdout=told.stdout.replace(API_KEY, "***"), stderr=told.stderr.replace(API_KEY, "***"))
    if told.late:
        return replace(too_late(deadline), process=told)
    return Outcome(stop=told.claimed, raised=told.failure, process=told)


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
    code = None if isinstance(lane.run, Command) else getattr(inspect.unwrap(lane.run), "__code__", None)
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    last = (own or frames[-1:])[-1:]
    return "".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in last)


@dataclass
class Outcome:
    """What a lane returned or raised, and what is known of its command where it is one."""

    messages: list[Any] | None = None
    stop: str | None = None
    raised: BaseException | None = None
    timed_out: bool = False
    process: Ended | None = None


def too_late(deadline: float) -> Outcome:
    """The outcome of a lane that did not end in time."""
    return Outcome(raised=TimeoutError(f"the lane did not end within {deadline:g} seconds"), timed_out=True)


def call(lane: Lane, task: Task, tools: Sequence[Tool], base_url: str, outcome: Outcome) -> None:
    """Call the lane by its contract, and enter what comes of it into `outcome`."""
    try:
        returned = lane.function(
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


def recorded(tool: Tool, server: ModelServer, executions: list[Execution], record: "RunRecorder | None" = None) -> Tool:
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
            if record:
                record.execution(executions[-1])
        return result

    return replace(tool, function=function)


def write_workspace(folder: Path, files: dict[str, str]) -> None:
    """Put the files of a scenario into the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")  # the text's own line ends, on each system
