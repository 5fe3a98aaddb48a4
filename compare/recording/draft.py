"""A scenario that is made of a recorded run, as data that can be reduced, and as the text of a TOML file."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from compare.heard import heard
from compare.modes import PLAIN, STREAM
from compare.runner import Execution, Run
from compare.server import Exchange
from compare.streams import read_message, spell
from compare.turns import conversation
from protocol import encodable

FILE_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
Lines = tuple[str, ...]


@dataclass(frozen=True)
class Draft:
    """What a scenario file says, but for what it expects: each reply as the lines of its table."""

    title: str
    teaches: str
    prompt: str
    system: str | None
    model: str
    max_rounds: int
    mode: str
    write: bool
    replies: tuple[Lines, ...]
    workspace: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The file."""
        mode = " --stream" if self.mode == STREAM else ""
        lines = [
            f"# To be run with: diptych run FILE{mode}",
            f"title = {quoted(self.title)}",
            f"teaches = {quoted(self.teaches)}",
            f"prompt = {quoted(self.prompt)}",
        ]
        if self.system is not None:
            lines.append(f"system = {quoted(self.system)}")
        if self.max_rounds != 8:
            lines.append(f"max_rounds = {self.max_rounds}")
        lines += [f"model = {quoted(self.model)}", f'modes = ["{self.mode}"]']
        if self.write:
            lines.append("write = true")
        if self.workspace:
            lines += ["", "[workspace]", *(f"{quoted(name)} = {quoted(text)}" for name, text in self.workspace)]
        for reply in self.replies:
            lines += ["", "[[reply]]", *reply]
        return "\n".join(lines) + "\n"


def draft_of(run: Run, exact: bool) -> Draft:
    """The whole recorded run. `exact` gives replies byte for byte, else by their messages where they have one."""
    task = run.task
    attempts = [attempt for turn in conversation(run.exchanges).turns for attempt in turn.attempts]
    mode = STREAM if any(one.request.streamed for one in attempts) else PLAIN
    return Draft(
        "A difference found in a recording",
        "What was recorded can be run again without the model.",
        task.prompt or "(none)",
        task.system,
        task.model or "recorded-model",
        task.max_rounds,
        mode,
        task.write,
        tuple(exact_reply(one) if exact else reply_of(one) for one in attempts),
        tuple((dict(task.workspace or {}) | files_read(run.executions)).items()),
    )


def reply_of(exchange: Exchange) -> Lines:
    """A reply by its message, where that says all; else exactly."""
    came = heard(exchange)
    if came.message is None or came.stop or came.deviations or not came.whole or type(came.finish_reason) is not str:
        return exact_reply(exchange)
    # A stream's numbers are read as floats; the exact form is there for those that this respells.
    message = spell(came.message) if exchange.request.streamed else plain_message(exchange)
    return f"message = {quoted(message)}", f"finish_reason = {quoted(came.finish_reason)}"


def plain_message(exchange: Exchange) -> str:
    """The JSON text of a plain reply's message, its numbers as they were spelled."""
    return spell(read_message(exchange.reply.body.decode())["choices"][0]["message"])


def exact_reply(exchange: Exchange) -> Lines:
    """A reply by its bytes."""
    reply = exchange.reply
    if reply.close:
        return ("close = true",)
    if exchange.request.streamed and reply.status == 200:
        lines = [f"stream = [{', '.join(item_of(piece.data) for piece in reply.pieces if piece.data)}]"]
    else:
        headers = ", ".join(f"{quoted(name)} = {quoted(value)}" for name, value in reply.headers if value.isascii())
        body = reply.body.decode("utf-8", "replace")
        lines = [f"status = {max(reply.status, 200)}", f"headers = {{ {headers} }}", f"body = {quoted(body)}"]
    if reply.ending != "whole":
        lines.append(f"ending = {quoted(reply.ending)}")
    return tuple(lines)


def item_of(data: bytes) -> str:
    """Some bytes of a stream as an item of a reply's `stream`."""
    try:
        return f"{{ text = {quoted(data.decode())} }}"
    except UnicodeDecodeError:
        return f"{{ base64 = {quoted(base64.b64encode(data).decode())} }}"


def files_read(executions: Sequence[Execution]) -> dict[str, str]:
    """The files that the tools read whole, so that they can be read again."""
    return {
        path: use.result
        for use in executions
        if use.name == "read_text_file" and isinstance(use.result, str)
        if isinstance(path := use.arguments.get("path"), str) and FILE_NAME.fullmatch(path) and encodable(use.result)
    }


def quoted(text: str) -> str:
    """A TOML string: literal where that needs no escape, else as in JSON, whose escapes TOML has too."""
    if "'" not in text and ("\\" in text or '"' in text) and text.isprintable():
        return f"'{text}'"
    if not encodable(text):
        text = text.encode("utf-8", "replace").decode()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
