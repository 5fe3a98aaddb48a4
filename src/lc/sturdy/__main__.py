"""`python -m lc.sturdy [PROMPT]` is a chat in the terminal with the graph to build on."""

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from toolbox.console import checked, guarded, leave, tools_for


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("prompt", required=False)
@click.option("--model", envvar="OPENAI_MODEL", help="The model's name (or OPENAI_MODEL).")
@click.option("--base-url", envvar="OPENAI_BASE_URL", default="https://api.openai.com/v1", show_default=True,
              help="The endpoint (or OPENAI_BASE_URL).")  # fmt: skip
@click.option("--root", default=".", type=click.Path(exists=True, file_okay=False), show_default=True,
              help="The folder that the file tools may read.")  # fmt: skip
@click.option("--write", is_flag=True, help="Offer the tool that writes files in that folder.")
@click.option("--approve", default="ask", type=click.Choice(["ask", "never", "always"]), show_default=True,
              help="Whether tools that change something may: after you said so, never, or always.")  # fmt: skip
@click.option("--thread", metavar="NAME", help="Keep the conversation under this name, and go on where it ended.")
@click.option("--memory", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help="The SQLite file for threads; default: diptych/sturdy.sqlite in $XDG_STATE_HOME or ~/.local/state."
              )  # fmt: skip
@click.option("--max-rounds", default=25, show_default=True, type=click.IntRange(1), help="Requests per turn.")
@click.option("--max-calls", type=click.IntRange(1), help="Tool calls per turn; default: no limit.")
@click.option("--max-tokens", type=click.IntRange(1), help="Tokens per turn, as the server counts; default: no limit.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Work per turn; default: no limit.")
@click.option("--system", help="A system text in front of every request; it is not stored.")
@click.option("--stream/--no-stream", default=True, help="Whether replies come as Server-Sent Events, word by word.")
@click.option("--timeout", default=60.0, show_default=True, type=click.FloatRange(0.1), metavar="SECONDS",
              help="How long one reply may take; slow local models need more.")  # fmt: skip
@click.option("--debug", is_flag=True, help="Show the traceback when the graph itself raises.")
def command(
    prompt: str | None,
    model: str | None,
    base_url: str,
    root: str,
    write: bool,
    thread: str | None,
    memory: Path | None,
    max_rounds: int,
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    **given: Any,
) -> int:
    """Answer PROMPT in one turn, or chat until Ctrl-D; Ctrl-C ends a turn.

    The key comes from OPENAI_API_KEY. Without --thread nothing is kept when the chat ends.
    """
    key = checked(model, base_url)
    if memory is not None and thread is None:
        raise click.UsageError("--memory keeps threads: name one with --thread")
    tools = tools_for(root, write)

    from lc.sturdy.chat import Settings, converse, memory_file
    from lc.sturdy.limits import Limits
    from lc.sturdy.memory import NoMemory

    if thread is not None and memory is None:
        memory = memory_file()
        _make_private(memory.parent)
    settings = Settings(
        model=model or "",
        base_url=base_url,
        key=key,
        limits=Limits(max_rounds, max_calls, max_tokens, max_seconds),
        thread=thread or str(uuid4()),
        memory=memory,
        **given,
    )
    try:
        return converse(settings, tools, prompt)
    except NoMemory as error:
        raise click.UsageError(str(error)) from error


def _make_private(folder: Path) -> None:
    """Make the folder, for its owner alone: conversations hold what was read from files."""
    try:
        os.makedirs(folder.parent, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{folder}: {error.strerror or error}; name a file with --memory") from error


if __name__ == "__main__":
    leave(guarded(command, "python -m lc.sturdy"))
