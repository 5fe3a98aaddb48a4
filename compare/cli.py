"""The command line: what each command does, and the exit code that it ends with."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compare.cli_lab import lab
from compare.cli_page import page_of_report
from compare.process import AS_EXPECTED, SURPRISED, finish, lanes_at_work

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    from compare.comparison import Comparison
    from compare.scenario import Scenario
    from protocol.profile import Profile

EPILOG = """\b
Exit codes:
  0   everything is as expected
  1   a difference that is not expected, or an expected one that is gone
  2   wrong usage or input
  70  a fault of Diptych's own
  130 interrupted"""


DRILL_EPILOG = EPILOG.replace("everything is as expected", "no lane acted on a part of the reply").replace(
    "a difference that is not expected, or an expected one that is gone", "a lane did"
)


class Commands(click.Group):
    """A group whose command `run` may be left out: `diptych one-call` is `diptych run one-call`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` in front where neither a command nor an option of the group comes first."""
        if not args or args[0] not in {*self.commands, "--help", "-h", "--version"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


lanes_option = click.option("--lanes", default="raw,lc", show_default=True, help="Lanes, as MODULE or MODULE:FUNCTION.")
json_option = click.option(
    "--json", "json_file", metavar="FILE", help="Write the report as JSON (-: to standard output)."
)


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --html and --html-full, as the parameters `html_file` and `html_full`."""
    full = "With --html: keep every raw view as text, however large the page becomes."
    command = click.option("--html-full", is_flag=True, help=full)(command)
    words = "Write the report as one page of HTML that loads nothing."
    return click.option("--html", "html_file", metavar="FILE", help=words)(command)


profile_option = click.option(
    "--profile",
    metavar="NAME|FILE",
    help="Answer as this provider would: with its error, where a request breaks one of its rules ('diptych profiles' "
    "lists them; FILE: rules of your own). Nothing is expected then, so the exit code is 0.",
)


def mode_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --plain, --stream and --both, as the parameter `modes`."""
    for name, words in (
        ("both", "In both modes, and each lane also against itself."),
        ("stream", "Let the model's replies come as Server-Sent Events."),
        ("plain", "Let the model's replies come whole (the default)."),
    ):
        command = click.option(f"--{name}", "modes", flag_value=name, default="plain", help=words)(command)
    return command


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="diptych")
def commands() -> None:
    """The tool-calling loop by hand and in LangGraph, with everything that crossed the wire side by side."""


@commands.command(epilog=EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[NAME|FILE|FOLDER]...")
@lanes_option
@mode_options
@profile_option
@json_option
@page_options
@click.option("--show", multiple=True, metavar="NAME", help="Show this scenario row by row (all: every one).")
@click.option("--deadline", default=60.0, show_default=True, metavar="SECONDS", help="For one lane on one scenario.")
def run(
    scenarios: Sequence[str],
    lanes: str,
    modes: str,
    profile: str | None,
    json_file: str | None,
    html_file: str | None,
    html_full: bool,
    show: Sequence[str],
    deadline: float,
) -> int:
    """Run scenarios through the lanes and compare: the whole catalogue, or those that are named."""
    from compare.comparison import compare_scenario
    from compare.lanes import load_lanes

    writable(json_file, html_file)
    chosen = choose(scenarios)
    names = {scenario.name for scenario in chosen} | {"all"}
    for name in show:
        if name not in names:
            raise click.BadParameter(f"{name} is not among the scenarios of this run", param_hint="--show")
    enforced = profile_named(profile)
    with lanes_at_work():
        loaded = load_lanes(lanes)
        results = [
            compare_scenario(scenario, loaded, mode, enforced, deadline)
            for scenario in progress(chosen)
            for mode in named(modes, scenario)
        ]
    if not results:
        raise click.UsageError(f"none of these scenarios runs with --{modes}")
    detail = set(show) if show or len(results) > 1 else {results[0].name}
    return deliver(results, json_file, html_file, html_full, detail)


@commands.command(epilog=EPILOG)
@click.argument("prompt")
@lanes_option
@click.option("--stream", is_flag=True, help="Let the model's replies come as Server-Sent Events.")
@profile_option
@json_option
@page_options
@click.option("--system", help="A system text in front of the prompt.")
@click.option("--max-rounds", default=8, show_default=True, type=click.IntRange(1), help="Requests at the most.")
@click.option("--root", default=".", type=click.Path(exists=True, file_okay=False), help="What the tools may read.")
def ask(
    prompt: str,
    lanes: str,
    stream: bool,
    profile: str | None,
    json_file: str | None,
    html_file: str | None,
    html_full: bool,
    system: str | None,
    max_rounds: int,
    root: str,
) -> int:
    """Put a prompt of your own to the demo model, a small program with rules, through the lanes."""
    from compare.comparison import compare_prompt
    from compare.lanes import load_lanes
    from compare.runner import Task

    writable(json_file, html_file)
    task = Task(prompt, "demo-model", system, max_rounds, root=Path(root), stream=stream)
    with lanes_at_work():
        result = compare_prompt(task, load_lanes(lanes), profile_named(profile))
    return deliver([result], json_file, html_file, html_full, {result.name})


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
@json_option
@page_options
def serve(
    scenario: str, port: int, profile: str | None, json_file: str | None, html_file: str | None, html_full: bool
) -> int:
    """Serve one scenario (or the demo model) to any client, and report on what it did when interrupted (Ctrl-C)."""
    from compare.serve import serve_client

    writable(json_file, html_file)

    def say(text: str) -> None:
        click.echo(text, err=json_file == "-")  # standard output is the report's alone when it goes there as JSON

    def note(text: str) -> None:
        with contextlib.suppress(OSError):  # in a thread of the server, which must not end for it
            click.echo(text, err=True)

    result = serve_client(scenario, port, say, note, profile_named(profile))
    return deliver([result], json_file, html_file, html_full, {result.name})


@commands.command(epilog=DRILL_EPILOG)
@click.argument("scenario", default="drill-a-long-call", metavar="[NAME|FILE]")
@lanes_option
@click.option(
    "--by", type=click.Choice(["byte", "chunk"]), default="byte", show_default=True, help="Where to break off."
)
@click.option("--every", default=1, metavar="N", type=click.IntRange(1), help="Take each N-th of these places only.")
@json_option
def drill(scenario: str, lanes: str, by: str, every: int, json_file: str | None) -> int:
    """Break off a reply with tool calls at each place, in both modes, and show which beginnings of it run a tool."""
    from compare.broken_replies import kinds_of
    from compare.comparison import task_of
    from compare.drill import runs_of, strips_of
    from compare.drill_report import drill_report
    from compare.lanes import load_lanes
    from compare.terminal.drill import render_drill

    chosen, started = choose([scenario]), time.perf_counter()
    if len(chosen) > 1:
        raise click.BadParameter(f"{scenario} holds {len(chosen)} scenarios; name one of them", param_hint="NAME|FILE")
    kinds, loaded = kinds_of(chosen[0], by, every), load_lanes(lanes)
    with lanes_at_work(), counting("drilling", runs_of(kinds, loaded)) as step:
        strips = strips_of(kinds, loaded, task_of(chosen[0], "plain"), step)
    data = drill_report(chosen[0], by, every, strips, time.perf_counter() - started)
    written(data, json_file, lambda: render_drill(data))
    return SURPRISED if data["summary"]["ran_from_a_part"] else AS_EXPECTED


@commands.command("accept")
@click.argument("scenarios", nargs=-1, required=True, metavar="[NAME|FILE|FOLDER]...")
@lanes_option
def accept_scenarios(scenarios: Sequence[str], lanes: str) -> int:
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


def choose(arguments: Sequence[str]) -> "list[Scenario]":
    """The scenarios that the words name, each once; the whole catalogue where there are none. Raises ScenarioError."""
    from compare.scenario import catalogue, find, load

    if not arguments:
        return [load(path) for path in catalogue()]
    found = {scenario.path.resolve(): scenario for argument in arguments for scenario in find(argument)}
    return list(found.values())


def profile_named(argument: str | None) -> "Profile | None":
    """The profile that the option names, if it was given. Raises ProfileError."""
    from compare.profiles import find_profile

    return find_profile(argument) if argument else None


def named(modes: str, scenario: "Scenario") -> list[str]:
    """The modes that the option means, among those that the scenario has."""
    from compare.modes import MODES

    return [mode for mode in MODES if modes in ("both", mode) and mode in scenario.modes]


def progress(scenarios: "Sequence[Scenario]") -> "Iterator[Scenario]":
    """The scenarios one by one, with a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty() or len(scenarios) < 2:
        yield from scenarios
        return
    with click.progressbar(
        scenarios, label="comparing", file=sys.stderr, item_show_func=lambda one: one.name if one else ""
    ) as steps:
        yield from steps


@contextlib.contextmanager
def counting(label: str, total: int) -> Iterator[Callable[[], object]]:
    """A function to call after each of `total` steps, which moves a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def writable(json_file: str | None, html_file: str | None) -> None:
    """Find out before anything runs whether the report can be written. Raises OSError."""
    for name in (json_file if json_file != "-" else None, html_file):
        if name is not None:
            with open(name, "a", encoding="utf-8"):
                pass


def deliver(
    results: "Sequence[Comparison]", json_file: str | None, html_file: str | None, html_full: bool, detail: set[str]
) -> int:
    """Write the report where it is wanted; returns the exit code."""
    from compare.report import report
    from compare.terminal import render

    data = report(results)
    if html_file is not None:
        from compare.page import write

        write(data, html_file, html_full)
    written(data, json_file, lambda: render(data, detail))
    return AS_EXPECTED if not data["summary"]["unexpected"] else SURPRISED


def written(data: dict[str, Any], json_file: str | None, render: Callable[[], object]) -> None:
    """Write a report as JSON where that is wanted, and to the terminal unless the JSON goes there."""
    from compare.report import to_json

    if json_file == "-":
        click.echo((to_json(data) + "\n").encode(), nl=False)  # in UTF-8, whatever the terminal speaks
        return
    if json_file is not None:
        Path(json_file).write_text(to_json(data) + "\n", encoding="utf-8")
    render()


commands.add_command(page_of_report)
commands.add_command(lab)


def main() -> None:
    """The console script."""
    finish(invoke)


def invoke() -> Any:
    """Run what the command line says. Not by click's own `main`, which takes a reader that left for a failure."""
    with commands.make_context("diptych", sys.argv[1:]) as context:
        return commands.invoke(context)
