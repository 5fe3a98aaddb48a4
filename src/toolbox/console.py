"""One lane at a terminal: its settings from the environment, its progress, and the exit status that it ends with."""

import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TextIO
from urllib.parse import urlsplit

import click

from protocol import STOP_REASONS
from toolbox.escaped import came_of, noting
from toolbox.standard import standard_tools
from toolbox.tool import Tool

NOT_WRITTEN, WRONG_USE, INTERRUPTED = 1, 2, 130
LaneRun = Callable[..., tuple[list[dict[str, Any]], str]]


def exit_status(stop: str) -> int:
    """The exit status for a stop reason: 0 for `answer`, else 10 and its place in `protocol.STOP_REASONS`."""
    return 0 if stop == "answer" else 10 + list(STOP_REASONS).index(stop)


def console(name: str, load: Callable[[], LaneRun]) -> None:
    """Run `python -m NAME`. `load` fetches the lane's function, and is called only when it is needed.

    Settings come from OPENAI_API_KEY, OPENAI_MODEL and OPENAI_BASE_URL; the last two also as options, the key never:
    a command line can be read by every user of the machine. Exits with the status of the stop reason; with 1 where
    the answer cannot be written, 2 for wrong usage, 130 when interrupted.
    """

    @click.command(context_settings={"help_option_names": ["-h", "--help"]})
    @click.argument("prompt")
    @click.option("--model", envvar="OPENAI_MODEL", help="The model's name (or OPENAI_MODEL).")
    @click.option("--base-url", envvar="OPENAI_BASE_URL", default="https://api.openai.com/v1", show_default=True,
                  help="The endpoint (or OPENAI_BASE_URL).")  # fmt: skip
    @click.option("--root", default=".", type=click.Path(exists=True, file_okay=False), show_default=True,
                  help="The folder that the file tools may read.")  # fmt: skip
    @click.option("--max-rounds", default=8, show_default=True, type=click.IntRange(1), help="Requests at the most.")
    @click.option("--system", help="A system text in front of the prompt.")
    @click.option("--stream", is_flag=True, help="Let the model's replies come as Server-Sent Events.")
    @click.option("--timeout", default=60.0, show_default=True, type=click.FloatRange(0.1), metavar="SECONDS",
                  help="How long one reply may take; slow local models need more.")  # fmt: skip
    @click.option("--debug", is_flag=True, help="Show the traceback when the lane itself raises.")
    def command(
        prompt: str,
        model: str | None,
        base_url: str,
        root: str,
        max_rounds: int,
        system: str | None,
        stream: bool,
        timeout: float,
        debug: bool,
    ) -> int:
        key = checked(model, base_url)
        raised: list[BaseException] = []
        tools = [noting(tool, raised) for tool in tools_for(root)]
        show_progress(name)
        try:
            messages, stop = load()(
                prompt,
                tools,
                base_url=base_url,
                model=model,
                api_key=key,
                system=system,
                max_rounds=max_rounds,
                stream=stream,
                timeout=timeout,
            )
        except Exception as error:  # noqa: BLE001 # whatever a lane raises ends the program with one line
            if debug:
                traceback.print_exc()
            tell(f"[error] {type(error).__name__}: {error}")
            messages, stop = [], "tool-error" if came_of(error, raised) else "crash"
        show(messages, stop)
        return exit_status(stop)

    leave(guarded(command, f"python -m {name}"))


def guarded(command: click.Command, name: str) -> int:
    """The exit status of a command. Not by click's own `main`, which says and ends an interruption in its own way."""
    try:
        with command.make_context(name, sys.argv[1:]) as context:
            return int(command.invoke(context))
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return WRONG_USE
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except OSError as error:
        tell(f"the output cannot be written: {error.strerror or error}")
        return NOT_WRITTEN


def leave(status: int) -> NoReturn:
    """End the process at once: a lane that was interrupted may have threads, and Python would wait for them."""
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        sys.stderr.flush()
    os._exit(status)


def tell(text: str) -> None:
    """Write a line to standard error, if that can be written to."""
    with contextlib.suppress(OSError):
        click.echo(printable(text), err=True)


def checked(model: str | None, base_url: str) -> str:
    """The key from the environment, when all settings can be used. Raises click.UsageError, which names the mend."""
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key:
        raise click.UsageError("OPENAI_API_KEY is not set: export it (any text will do for a local server)")
    if not (key.isascii() and key.isprintable()):
        raise click.UsageError("OPENAI_API_KEY holds a character that no key has: export it anew, without a line end")
    if not model:
        raise click.UsageError("OPENAI_MODEL is not set: export it, or give --model")
    if not base_url.startswith(("http://", "https://")):
        raise click.UsageError(f"OPENAI_BASE_URL is {base_url!r}, but must start with http:// or https://")
    if not has_host(base_url):
        raise click.UsageError(f"OPENAI_BASE_URL is {base_url!r}, but must name a host: http://127.0.0.1:8000/v1")
    return key


def has_host(url: str) -> bool:
    """Whether the address names a host, and no port or one that there can be."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def tools_for(root: str, write: bool = False) -> list[Tool]:
    """The standard tools on a folder. Raises click.UsageError for one that cannot be read."""
    try:
        return standard_tools(root, write)
    except OSError as error:
        raise click.UsageError(f"--root {root}: {error.strerror or error}") from error


def show_progress(name: str) -> None:
    """Send the lane's log to standard error, each record on one line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def show(messages: list[dict[str, Any]], stop: str) -> None:
    """Print the answer, and say why the run ended where that was no answer. Raises OSError."""
    last = messages[-1] if messages else {}
    content = last.get("content") if last.get("role") == "assistant" else None
    if content:
        write_text(sys.stdout, content if isinstance(content, str) else str(content))
    if stop != "answer":
        tell(f"[stop] {stop}: {STOP_REASONS[stop]}")


def write_text(stream: TextIO | None, text: str) -> None:
    """Write a text as it is; on a terminal with its control characters spelled out, so that none is obeyed.

    Raises OSError, also for a stream that was closed by whoever started us: Python has None in its place.
    """
    if stream is None:
        raise OSError("it is closed")
    shown = "\n".join(map(printable, text.split("\n"))) if stream.isatty() else text
    stream.write(shown.encode("utf-8", "backslashreplace").decode() + "\n")
    stream.flush()  # here, because a full disk is found out only now


def printable(text: str) -> str:
    """The text with each character that a terminal might obey spelled out, such as \\x1b."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
