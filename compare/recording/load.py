"""A recording read back: its runs as evidence that can be judged or replayed, and what is missing of them."""

import base64
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from compare.body import Body, more_messages, read_whole, unread
from compare.recording.headers import sendable
from compare.recording.lines import Line
from compare.recording.read import Place, lines
from compare.replies import Piece, Reply
from compare.runner import Execution, Run, Task
from compare.scenario import read_workspace
from compare.server import Exchange, Request
from compare.toml_table import ScenarioError, Table
from compare.wire import MAX_BODY, to_bytes

MOST_GAPS = 5
"""Missing exchanges of a run that are named."""


class RecordedError(Exception):
    """What a lane or a tool raised while it was recorded, in words: `Type: message`."""


USUAL: tuple[type[Exception], ...] = (
    ArithmeticError,
    FileNotFoundError,
    IsADirectoryError,
    LookupError,
    NotADirectoryError,
    OSError,
    OverflowError,
    PermissionError,
    RuntimeError,
    TimeoutError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)
"""Exceptions that one text makes, and that give it back: what tools raise."""


@dataclass(frozen=True)
class Recording:
    """The runs of a recording, in the order of their beginnings. `missing` says in words what is not there.

    `started` is in UTC, as ISO 8601 has it; `masked` is how many secrets were masked.
    """

    path: Path
    started: str
    versions: dict[str, str | None]
    runs: list["RecordedRun"]
    missing: list[str]
    masked: int


@dataclass
class RecordedRun:
    """One run; `started` is in seconds since the recording began."""

    started: float
    run: Run
    ended: bool = False
    bodies: dict[int, tuple[Body, int]] = field(default_factory=dict)


def load(path: Path | str) -> Recording:
    """Read a recording. What was cut off at its end is named in `missing`; raises RecordingError for anything else."""
    path = Path(path)
    found, rest = lines(path)
    (_, _, head), *others = found
    runs: dict[int, RecordedRun] = {}
    footer = None
    for place, kind, line in others:
        if footer is not None:
            raise place.wrong("stands behind the footer, which is the last line of a recording")
        if kind == "footer":
            footer = line
        else:
            enter(place, kind, line, runs)
    for one in runs.values():
        one.run.exchanges.sort(key=lambda exchange: exchange.request.number)
    masked = sum(line.get("masked", 0) for _, kind, line in found if kind != "footer")
    missing = [*never_begun(head, runs), *missing_of(runs, footer, rest)]
    return Recording(path, head["started"], head["versions"], list(runs.values()), missing, masked)


def enter(place: Place, kind: str, line: Line, runs: dict[int, RecordedRun]) -> None:
    """Enter one line into the runs. Raises RecordingError."""
    number = line["run"]
    if kind == "run":
        if number in runs:
            raise place.wrong(f"run {number} begins for the second time")
        task = task_of(place, line["task"])
        run = Run(line["lane"], task, line["tools"], [], [], None, None, None, 0.0, 0)
        runs[number] = RecordedRun(float(line["started"]), run)
        return
    if number not in runs:
        raise place.wrong(f"run {number} has no beginning")
    one = runs[number]
    if kind == "exchange":
        one.run.exchanges.append(exchange_of(place, line, one))
    elif kind == "execution":
        one.run.executions.append(execution_of(line))
    else:
        one.run, one.ended = ended(line, one.run), True


def task_of(place: Place, given: Line) -> Task:
    """What the lane was asked. Raises RecordingError for a file that would lie outside of the workspace."""
    table = Table(place.path, "", {"workspace": given["workspace"]}, ())
    try:
        workspace = None if given["workspace"] is None else read_workspace(table)
    except ScenarioError as error:
        raise place.wrong(f"its workspace: {str(error).removeprefix(f'{place.path}: ')}") from error
    return Task(**{**given, "workspace": workspace, "timeout": float(given["timeout"])})


def exchange_of(place: Place, line: Line, one: RecordedRun) -> Exchange:
    """One exchange. Raises RecordingError."""
    if line["number"] in one.bodies:
        raise place.wrong(f"exchange {line['number']} of run {line['run']} is there for the second time")
    body = body_of(place, line, one)
    headers = tuple((name, value) for name, value in line["headers"])
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    start = f"{line['method']} {line['target']} HTTP/1.1\r\n"
    request = Request(
        line["number"], line["method"], line["target"], headers, f"{start}{head}\r\n".encode("latin-1"), body
    )
    reply = reply_of(place, line)
    at = [(piece["end"], float(piece["at"])) for piece in line["pieces"] if piece["at"] is not None]
    left = line["client_left"]
    times = float(line["received"]), float(line["answered"])
    return Exchange(
        request, reply, to_bytes(reply), *times, line["for_model"], tuple(at), None if left is None else float(left)
    )


def body_of(place: Place, line: Line, one: RecordedRun) -> Body:
    """The body of a request, and with `after` on top of the one that it goes on from. Raises RecordingError."""
    given = line["body"]
    added = bytes_of(place, given["added"])
    if "after" not in given:
        raw = added + bytes_of(place, given.get("end", ""))
        body, size = read_whole(raw) if line["for_model"] else unread(raw), len(raw)
    else:
        if given["after"] not in one.bodies:
            raise place.wrong(f"its body goes on from exchange {given['after']}, which is not there before it")
        before, size = one.bodies[given["after"]]
        new = more_messages(added)
        if new is None or not before.end:
            raise place.wrong("what its body adds are no messages")
        body = Body(before, added, before.end, before.kept + len(before.new), new, before.envelope)
        size += len(added)
    if size > MAX_BODY:
        raise place.wrong(f"its body has more than {MAX_BODY} bytes")
    one.bodies[line["number"]] = body, size
    return body


def reply_of(place: Place, line: Line) -> Reply:
    """The reply of an exchange. Raises RecordingError."""
    body, start, pieces = bytes_of(place, line["reply"]), 0, []
    if line["closed"]:
        return Reply(0, (), b"", close=True)
    if line["status"] < 100:
        raise place.wrong(f"its status is {line['status']}, which is none of HTTP")
    for piece in line["pieces"]:
        if not start <= piece["end"] <= len(body):
            raise place.wrong(f"a piece ends at {piece['end']}, behind another at {start}, in {len(body)} bytes")
        pieces.append(Piece(body[start : piece["end"]], float(piece["pause"])))
        start = piece["end"]
    if pieces and start != len(body):
        raise place.wrong(f"its pieces end at {start}, but its body has {len(body)} bytes")
    headers = sendable((name, value) for name, value in line["reply_headers"])
    return Reply(line["status"], headers, body, False, tuple(pieces), line["ending"], line["announced"])


def execution_of(line: Line) -> Execution:
    """One use of a tool."""
    error = None if line["error"] is None else raised(*line["error"])
    return Execution(
        line["after"], line["name"], line["arguments"], line["defaults"], line["result"], error, float(line["seconds"])
    )


def raised(kind: str, text: str) -> Exception:
    """What a tool raised, of its own class where that is one of the usual ones: a lane may tell its name."""
    usual = {one.__name__: one for one in USUAL}
    return usual[kind](text) if kind in usual else RecordedError(f"{kind}: {text}")


def ended(line: Line, run: Run) -> Run:
    """The run with its end."""
    raised = None if line["raised"] is None else RecordedError(line["raised"])
    if raised is not None and line["tool_raised"]:
        # So that the judge finds the tool's exception behind it, as it did then.
        raised.__cause__ = next((use.error for use in reversed(run.executions) if use.error is not None), None)
    return replace(
        run,
        messages=line["messages"],
        stop=line["stop"],
        raised=raised,
        seconds=float(line["seconds"]),
        timed_out=line["timed_out"],
        foreign=line["foreign"],
    )


def bytes_of(place: Place, value: Any) -> bytes:
    """Bytes given as text or base64. Raises RecordingError."""
    try:
        return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"], validate=True)
    except ValueError as error:
        raise place.wrong(f"bytes that cannot be read: {type(error).__name__}") from error


def never_begun(head: Line, runs: dict[int, RecordedRun]) -> list[str]:
    """The runs that the header announces and that are not there, in words."""
    begun = {(one.run.task.prompt, one.run.lane) for one in runs.values()}
    announced = ((prompt, lane) for prompt in dict.fromkeys(head["prompts"]) for lane in head["lanes"])
    absent = islice((one for one in announced if one not in begun), MOST_GAPS)
    return [f"the run of {lane} on {prompt[:50]!r}" for prompt, lane in absent]


def missing_of(runs: dict[int, RecordedRun], footer: Line | None, rest: int) -> list[str]:
    """What is not there, in words."""
    missing = []
    for number, one in runs.items():
        numbers = {exchange.request.number for exchange in one.run.exchanges}
        wanted = {use.after for use in one.run.executions} | numbers
        gaps = islice((gap for gap in range(1, max(wanted, default=0) + 1) if gap not in numbers), MOST_GAPS)
        name = f"run {number} ({one.run.lane})"
        missing += [f"{name}: exchange {gap}" for gap in gaps]
        if not one.ended:
            missing.append(f"{name}: its end")
    if rest:
        missing.append(f"the rest of the last line, which is cut off after {rest} bytes")
    if footer is None:
        missing.append("the footer: the recording was cut off, or is still being written")
        return missing
    counts = {
        "runs": len(runs),
        "exchanges": sum(len(one.run.exchanges) for one in runs.values()),
        "executions": sum(len(one.run.executions) for one in runs.values()),
    }
    missing += [f"{footer[key] - there} {key}" for key, there in counts.items() if footer[key] > there]
    return missing
