"""The command line: what each command does, and the exit code that it ends with."""

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compare.cli_atlas import atlas
from compare.cli_lab import lab
from compare.cli_live import Live, live_options, run_live, run_prompts
from compare.cli_options import (
    EPILOG,
    LIVE_LINE,
    choose,
    counting,
    lanes_option,
    mode_options,
    named,
    profile_named,
    profile_option,
    progress,
)
from compare.cli_output import Output, json_option, output_options, written
from compare.cli_page import page_of_report
from compare.cli_record import code_of, record_option, recording
from compare.cli_recording import export, import_archive, replay
from compare.process import AS_EXPECTED, SURPRISED, finish, lanes_at_work

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    pass

DRILL_EPILOG = (
    EPILOG.replace(LIVE_LINE, "")
    .replace("everything is as expected", "no lane acted on a part of the reply")
    .replace("a difference that is not expected, or an expected one that is gone", "a lane did")
)
ALL_EPILOG = EPILOG.replace(LIVE_LINE, f"{LIVE_LINE}  4   replay: a request that the recording does not hold\n")


class Commands(click.Group):
    """A group whose command `run` may be left out: `diptych one-call` is `diptych run one-call`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` in front where neither a command nor an option of the group comes first."""
        if not args or args[0] not in {*self.commands, "--help", "-h", "--version"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, epilog=ALL_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="diptych")
def commands() -> None:
    """The tool-calling loop by hand and in LangGraph, with everything that crossed the wire side by side."""


@commands.command(epilog=EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[NAME|FILE|FOLDER]...")
@lanes_option
@mode_options
@profile_option
@output_options
@click.option("--show", multiple=True, metavar="NAME", help="Show this scenario row by row (all: every one).")
@click.option(
    "--deadline",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    help="For one lane on one scenario.  [default: 60; live 600]",
)
@record_option
@live_options
def run(
    scenarios: Sequence[str],
    lanes: Sequence[str],
    modes: str,
    profile: str | None,
    out: Output,
    show: Sequence[str],
    deadline: float | None,
    record: str | None,
    live: Live | None,
) -> int:
    """Run scenarios through the lanes and compare: the whole catalogue, or those that are named.

    With --live, a real model answers: the names are then files of prompts (.txt: one a line, .jsonl: one object a
    line) or scenarios, whose replies are not used.
    """
    from compare.comparison import compare_scenario
    from compare.lanes import load_lanes
    from compare.runner import DEADLINE
    from compare.secrets import keys_in

    if live is not None:
        results, code, keys = run_prompts(live, scenarios, modes, lanes, deadline, record)
        out.deliver(results, set(show) if show or len(results) > 1 else {results[0].name}, keys)
        return code
    chosen = choose(scenarios)
    names = {scenario.name for scenario in chosen} | {"all"}
    for name in show:
        if name not in names:
            raise click.BadParameter(f"{name} is not among the scenarios of this run", param_hint="--show")
    enforced = profile_named(profile)
    environment, prompts = dict(os.environ), [scenario.prompt for scenario in chosen]
    with lanes_at_work():
        loaded = load_lanes(lanes)
        with recording(record, prompts, [lane.name for lane in loaded], environment) as recorder:
            results = [
                compare_scenario(scenario, loaded, mode, enforced, deadline or DEADLINE, recorder)
                for scenario in progress(chosen)
                for mode in named(modes, scenario)
            ]
    if not results:
        other = "stream" if modes == "plain" else "plain"
        raise click.UsageError(f"none of these scenarios runs with --{modes}: give --{other}")
    detail = set(show) if show or len(results) > 1 else {results[0].name}
    return code_of(out.deliver(results, detail, keys_in(environment) if record else None), recorder)


@commands.command(epilog=EPILOG)
@click.argument("prompt")
@lanes_option
@click.option("--stream", is_flag=True, help="Let the model's replies come as Server-Sent Events.")
@profile_option
@output_options
@click.option("--system", help="A system text in front of the prompt.")
@click.option("--max-rounds", default=8, show_default=True, type=click.IntRange(1), help="Requests at the most.")
@click.option("--root", default=".", type=click.Path(exists=True, file_okay=False), help="What the tools may read.")
@record_option
@live_options
def ask(
    prompt: str,
    lanes: Sequence[str],
    stream: bool,
    profile: str | None,
    out: Output,
    system: str | None,
    max_rounds: int,
    root: str,
    record: str | None,
    live: Live | None,
) -> int:
    """Put a prompt of your own to the demo model, a small program with rules, or with --live to a real one."""
    from compare.comparison import compare_prompt
    from compare.lanes import load_lanes
    from compare.runner import Task
    from compare.secrets import keys_in

    task = Task(prompt, "demo-model", system, max_rounds, root=Path(root), stream=stream)
    if live is not None:
        from compare.live.prompts import Prompt

        modes = ["stream" if stream else "plain"]
        results, code, known = run_live(
            lambda task: [Prompt("ask", prompt, "", task)], task, live, modes, lanes, None, record
        )
        out.deliver(results, {"ask"}, known)
        return code
    environment = dict(os.environ)
    with lanes_at_work():
        loaded = load_lanes(lanes)
        with recording(record, [prompt], [lane.name for lane in loaded], environment) as recorder:
            result = compare_prompt(task, loaded, profile_named(profile), recorder)
    keys = keys_in(environment) if record else None
    return code_of(out.deliver([result], {result.name}, keys), recorder)


@commands.command("list")
@click.argument("scenarios", nargs=-1, metavar="[NAME|FILE|FOLDER]...")
def list_scenarios(scenarios: Sequence[str]) -> int:
    """List the scenarios: name, title, and what each teaches."""
    for scenario in choose(scenarios):
        click.echo(f"{scenario.name}\n    {scenario.title}. {scenario.teaches}")
    return AS_EXPECTED


@commands.command("profiles")
def list_profiles() -> int:
    """List the provider profiles: their rules, the status of a refusal, and where and since when each is known."""
    from compare.profiles import describe

    for line in describe():
        click.echo(line)
    return AS_EXPECTED


@commands.command(epilog=EPILOG)
@click.argument("scenario", metavar="NAME|FILE|demo")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="A port of your choice (default: any free one).")
@profile_option
@output_options
def serve(scenario: str, port: int, profile: str | None, out: Output) -> int:
    """Serve one scenario (or the demo model) to any client, and report on what it did when interrupted (Ctrl-C)."""
    from compare.serve import serve_client

    def say(text: str) -> None:
        click.echo(text, err=out.taken)  # standard output is the report's alone when it goes there as JSON

    def note(text: str) -> None:
        with contextlib.suppress(OSError):  # in a thread of the server, which must not end for it
            click.echo(text, err=True)

    result = serve_client(scenario, port, say, note, profile_named(profile))
    return out.deliver([result], {result.name})


@commands.command(epilog=DRILL_EPILOG)
@click.argument("scenario", default="drill-a-long-call", metavar="[NAME|FILE]")
@lanes_option
@click.option(
    "--by", type=click.Choice(["byte", "chunk"]), default="byte", show_default=True, help="Where to break off."
)
@click.option("--every", default=1, metavar="N", type=click.IntRange(1), help="Take each N-th of these places only.")
@json_option
def drill(scenario: str, lanes: Sequence[str], by: str, every: int, json_file: str | None) -> int:
    """Break off a reply with tool calls at each place, in both modes, and show which beginnings of it run a tool."""
    from compare.broken_replies import kinds_of
    from compare.comparison import task_of
    from compare.drill import runs_of, strips_of
    from compare.drill_report import drill_report
    from compare.lanes import functions_only, load_lanes
    from compare.terminal.drill import render_drill

    chosen, started = choose([scenario]), time.perf_counter()
    if len(chosen) > 1:
        raise click.BadParameter(f"{scenario} holds {len(chosen)} scenarios; name one of them", param_hint="NAME|FILE")
    kinds, loaded = kinds_of(chosen[0], by, every), functions_only(load_lanes(lanes))
    with lanes_at_work(), counting("drilling", runs_of(kinds, loaded)) as step:
        strips = strips_of(kinds, loaded, task_of(chosen[0], "plain"), step)
    data = drill_report(chosen[0], by, every, strips, time.perf_counter() - started)
    written(data, json_file, lambda: render_drill(data))
    return SURPRISED if data["summary"]["ran_from_a_part"] else AS_EXPECTED


@commands.command("accept")
@click.argument("scenarios", nargs=-1, required=True, metavar="[NAME|FILE|FOLDER]...")
@lanes_option
def accept_scenarios(scenarios: Sequence[str], lanes: Sequence[str]) -> int:
    """Write into scenario files that what the lanes do now is what is expected of them. Look first, then accept."""
    from compare.accept import accept
    from compare.comparison import compare_scenario
    from compare.lanes import load_lanes

    with lanes_at_work():
        loaded = load_lanes(lanes)
        for scenario in progress(choose(scenarios)):
            runs = [compare_scenario(scenario, loaded, mode) for mode in named("both", scenario)]
            if accept(scenario, runs):
                click.echo(f"written: {scenario.path}")
    return AS_EXPECTED


for command in (atlas, replay, export, import_archive, page_of_report, lab):
    commands.add_command(command)


def main() -> None:
    """The console script."""
    finish(invoke)


def invoke() -> Any:
    """Run what the command line says. Not by click's own `main`, which takes a reader that left for a failure."""
    with commands.make_context("diptych", sys.argv[1:]) as context:
        return commands.invoke(context)
