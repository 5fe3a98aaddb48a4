"""What --live adds to a command: its options, the settings from the environment, and how such a run goes and ends."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compare.cli_record import code_of, recording
from compare.process import AS_EXPECTED, INCOMPLETE, INTERRUPTED, lanes_at_work, tell

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    from compare.comparison import Comparison
    from compare.live.prompts import Prompt
    from compare.live.run import Settings
    from compare.runner import Task

OPENAI = "https://api.openai.com/v1"
BY_THE_ENDPOINT = ("http-error", "connection-error", "bad-reply", "deadline")
"""Stop reasons of a run that the endpoint ended, or that waited for it in vain."""


@dataclass(frozen=True)
class Live:
    """What the options of a live run say; the time of one reply is in seconds."""

    after_fork: str
    max_requests: int
    timeout: float


OPTIONS = {
    "after_fork": click.option(
        "--after-fork",
        type=click.Choice(["alone", "stop"]),
        help="Where a lane's request means another thing: go on with that lane alone, or stop it.  [default: alone]",
    ),
    "max_requests": click.option(
        "--max-requests",
        type=click.IntRange(1),
        metavar="N",
        help="Live requests for one prompt at the most, all lanes together.  [default: 40]",
    ),
    "timeout": click.option(
        "--timeout",
        type=click.FloatRange(0.1),
        metavar="SECONDS",
        help="How long one live reply may take.  [default: 120]",
    ),
}
DEFAULTS: dict[str, Any] = {"after_fork": "alone", "max_requests": 40, "timeout": 120.0}


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --live and those that go with it, together as the parameter `live`: None where it is not given."""

    @functools.wraps(command)
    def with_live(*values: Any, live: bool, **named: Any) -> Any:
        given = {name: named.pop(name) for name in OPTIONS}
        if not live and (stray := [name for name in OPTIONS if given[name] is not None]):
            raise click.UsageError(f"--{stray[0].replace('_', '-')} is for a live run; add --live")
        if live and named.get("profile"):
            raise click.UsageError("--profile answers in the model's place, and --live asks a real one; leave one out")
        chosen = {name: DEFAULTS[name] if value is None else value for name, value in given.items()}
        return command(*values, live=Live(**chosen) if live else None, **named)

    decorated: Callable[..., Any] = with_live
    for option in reversed(OPTIONS.values()):
        decorated = option(decorated)
    return click.option(
        "--live",
        is_flag=True,
        help="Ask a real model: OPENAI_API_KEY, OPENAI_MODEL, OPENAI_BASE_URL. One reply serves all lanes while their "
        "requests mean the same.",
    )(decorated)


def endpoint() -> tuple[str, str, str]:
    """Key, model and address from the environment. Raises click.ClickException, in one line with the mend."""
    from toolbox.console import checked

    model, base_url = os.environ.get("OPENAI_MODEL", ""), os.environ.get("OPENAI_BASE_URL") or OPENAI
    try:
        key = checked(model or "unset", base_url)
    except click.UsageError as error:
        raise click.ClickException(error.message) from error  # which is shown without the lines on usage
    if not model:
        raise click.ClickException("OPENAI_MODEL is not set: export it")
    if "@" in base_url or "?" in base_url or "#" in base_url:
        raise click.ClickException("OPENAI_BASE_URL may hold no password, query or fragment: export it without")
    return key, model, base_url


def run_live(
    prompts: "Callable[[Task], list[Prompt]]",
    task: "Task",
    live: Live,
    modes: Sequence[str],
    lanes: Sequence[str],
    deadline: float | None,
    record: str | None = None,
) -> "tuple[list[Comparison], int, list[str]]":
    """Run prompts live, each in each mode, until all are done or the user interrupts.

    `prompts` makes them of the task that they have in common, whose model and time are filled in here; `record` is the
    file of a recording. Returns the comparisons, the exit code, and the keys that must not be written down.
    """
    from dataclasses import replace

    from compare.lanes import load_lanes
    from compare.live.run import DEADLINE, Settings, compare_live
    from compare.live.upstream import Upstream
    from compare.secrets import keys_in

    key, model, base_url = endpoint()
    chosen = prompts(replace(task, model=model, timeout=live.timeout))
    results: list[Comparison] = []
    total = len(chosen) * len(modes)
    environment, asked = dict(os.environ), [prompt.task.prompt for prompt in chosen]
    with Upstream(base_url, key) as upstream, lanes_at_work():
        loaded = load_lanes(lanes)
        settings = Settings(live.after_fork, live.max_requests, deadline or DEADLINE)
        with (
            recording(record, asked, [lane.name for lane in loaded], environment) as recorder,
            contextlib.suppress(KeyboardInterrupt),
            progress(total * len(loaded), replace(settings, recorder=recorder)) as settings,
        ):
            for prompt in chosen:
                for mode in modes:
                    task = replace(prompt.task, stream=mode == "stream")
                    results.append(compare_live(replace(prompt, task=task), loaded, upstream, settings))
                    if told_of(results[-1])["interrupted"]:
                        raise KeyboardInterrupt
    if not results:
        raise KeyboardInterrupt
    return results, code_of(ending(results, total), recorder), [key, *keys_in(environment)]


def run_prompts(
    live: Live, words: Sequence[str], modes: str, lanes: Sequence[str], deadline: float | None, record: str | None
) -> "tuple[list[Comparison], int, list[str]]":
    """The same for the prompts that the words of a command line name."""
    from compare.live.prompts import read_prompts
    from compare.modes import MODES
    from compare.runner import Task

    if not words:
        raise click.UsageError("a live run costs money: name its prompts, as a .txt or .jsonl file or as scenarios")
    chosen = [mode for mode in MODES if modes in ("both", mode)]
    task = Task("", "", root=Path())
    return run_live(lambda task: read_prompts(words, task), task, live, chosen, lanes, deadline, record)


def told_of(one: "Comparison") -> dict[str, Any]:
    """What the report says of a live run. Raises ValueError for any other."""
    if one.live is None:
        raise ValueError(f"{one.name} was not live")
    return one.live


def ending(results: "Sequence[Comparison]", total: int) -> int:
    """The exit code of a live run, with a line on standard error where it did not come to its end."""
    lives = [told_of(one) for one in results]
    whole = sum(not live["interrupted"] for live in lives)
    if whole < total:
        tell(f"interrupted: {whole} of {total} comparisons are whole; the report has all that was done")
        return INTERRUPTED
    if any(live["limit_reached"] for live in lives):
        from compare.live.cost import limit_text

        tell(limit_text(lives[0]["max_requests"]))
        return INCOMPLETE
    forked = {id(lane) for live in lives for lane in live["lanes"] if lane["fork"] and live["after_fork"] == "stop"}
    for one in results:
        for lane, told in zip(one.lanes, told_of(one)["lanes"], strict=True):
            if lane.observed in BY_THE_ENDPOINT and id(told) not in forked:
                why = told["problems"][-1]["text"] if told["problems"] else lane.observed
                tell(f"{one.name}, lane {lane.run.lane}: the endpoint gave no whole answer ({why})")
                return INCOMPLETE
    return AS_EXPECTED


@contextlib.contextmanager
def progress(runs: int, settings: "Settings") -> "Iterator[Settings]":
    """The settings with a bar on standard error, where that is a terminal: runs done, the time left, who asks now."""
    from dataclasses import replace

    if not sys.stderr.isatty():
        yield settings
        return
    with click.progressbar(length=runs, label="live", file=sys.stderr, item_show_func=lambda now: now) as bar:

        def asked(lane: str, number: int) -> None:
            bar.current_item = f"{lane}: request {number}"
            bar.render_progress()

        bar.render_progress()
        yield replace(settings, asked=asked, ended=lambda: bar.update(1))
