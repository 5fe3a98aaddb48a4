"""What the lines of a recording hold: the evidence of runs as JSON values, secrets masked, bytes as text or base64.

`recording.schema.json` beside this file describes them.
"""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from compare.body import Body
from compare.recording.headers import allowed
from compare.recording.spread import spread
from compare.report import as_text, in_words, installed, plainly
from compare.runner import Execution, Run, Task
from compare.secrets import Masker, edited
from compare.server import Exchange
from compare.stops import tool_raised

FORMAT, VERSION = "diptych-recording", 1
PACKAGES = ("diptych", "httpx", "langchain-core", "langchain-openai", "langgraph", "openai")
"""Those whose versions decide what crosses the wire."""
Line = dict[str, Any]


def header(prompts: Sequence[str], lanes: Sequence[str]) -> Line:
    """The first line."""
    versions = {"python": platform.python_version(), **{name: installed(name) for name in PACKAGES}}
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    names = {"prompts": list(prompts), "lanes": list(lanes)}
    return {"format": FORMAT, "version": VERSION, "started": started, "versions": versions, **names}


def run_line(number: int, lane: str, task: Task, tools: Sequence[Any], started: float) -> Line:
    """The beginning of a run, `started` seconds after the recording. A folder that its tools may read is not in it."""
    asked = {
        "prompt": task.prompt,
        "model": task.model,
        "system": task.system,
        "max_rounds": task.max_rounds,
        "workspace": task.workspace,
        "stream": task.stream,
        "timeout": task.timeout,
        "write": task.write,
    }
    return {
        "type": "run",
        "run": number,
        "started": rounded(started),
        "lane": lane,
        "task": asked,
        "tools": list(tools),
    }


def exchange_line(run: int, exchange: Exchange, after: int | None, masker: Masker) -> Line:
    """One exchange. `after` is the number of the one whose request this one's repeats in front, if it is written."""
    request, reply = exchange.request, exchange.reply
    body, ends = masked_reply(exchange, masker)
    at = [time for _, time in exchange.chunks]
    pauses = [piece.pause for piece in reply.pieces]
    return {
        "type": "exchange",
        "run": run,
        "number": request.number,
        "for_model": exchange.for_model,
        "method": request.method,
        "target": request.target,
        "headers": [list(field) for field in allowed(request.headers)],
        "body": body_data(request.body, after, masker),
        "status": reply.status,
        "reply_headers": [list(field) for field in allowed(reply.headers)],
        "reply": as_text(body),
        "pieces": [
            {"end": end, "pause": rounded(pause), "at": rounded(at[index]) if index < len(at) else None}
            for index, (end, pause) in enumerate(zip(ends, pauses, strict=True))
        ],
        "closed": reply.close,
        "ending": reply.ending,
        "announced": reply.announced,
        "received": rounded(exchange.received),
        "answered": rounded(exchange.answered),
        "client_left": None if exchange.client_left is None else rounded(exchange.client_left),
    }


def masked_reply(exchange: Exchange, masker: Masker) -> tuple[bytes, list[int]]:
    """The body of a reply without secrets, and where its pieces end."""
    reply, ends, size = exchange.reply, [], 0
    for piece in reply.pieces:
        size += len(piece.data)
        ends.append(size)
    # Whatever was asked for: some endpoints stream all the same.
    body, ends = edited(reply.body, spread(reply.body, masker), ends)
    return masker.moved(body, ends)


def body_data(body: Body, after: int | None, masker: Masker) -> Line:
    """The body of a request: whole, with `end` as what stands behind its messages; or what it adds to another's."""
    if after is not None:
        return {"after": after, "added": as_text(masker.data(body.added))}
    # Whole, also where it goes on from one that is not written.
    added = body.raw()[: -len(body.end)] if body.end else body.raw()
    return {"added": as_text(masker.data(added)), "end": as_text(masker.data(body.end))}


def execution_line(run: int, use: Execution) -> Line:
    """One use of a tool."""
    return {
        "type": "execution",
        "run": run,
        "after": use.after,
        "name": use.name,
        "arguments": plainly(use.arguments),
        "defaults": plainly(use.defaults),
        "result": None if use.error else plainly(use.result),
        "error": None if use.error is None else [type(use.error).__name__, in_words(use.error).partition(": ")[2]],
        "seconds": rounded(use.seconds),
    }


def end_line(number: int, run: Run) -> Line:
    """How a run ended, and what the lane says of it."""
    return {
        "type": "end",
        "run": number,
        "messages": plainly(run.messages),
        "stop": run.stop,
        "raised": None if run.raised is None else in_words(run.raised, run.raised_at),
        "tool_raised": tool_raised(run),
        "foreign": run.foreign,
        "timed_out": run.timed_out,
        "seconds": rounded(run.seconds),
    }


def footer(runs: int, exchanges: int, executions: int, masked: int) -> Line:
    """The last line, which says that the recording is whole."""
    return {"type": "footer", "runs": runs, "exchanges": exchanges, "executions": executions, "masked": masked}


def rounded(seconds: float) -> float:
    """A time to the microsecond: what is finer is noise."""
    return round(seconds, 6)
