"""The command line: what each command does, and the exit code that it ends with."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compare.process import AS_EXPECTED, SURPRISED, finish, lanes_at_work

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    from compare.comparison import Comparison
    from compare.scenario import Scenario

EPILOG = """\b
Exit codes:
  0   everything is as expected
  1   a difference that is not expected, or an expected one that is gone
  2   wrong usage or input
  70  a fault of Diptych's own
  130 interrupted"""


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


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="diptych")
def commands() -> None:
    """The tool-calling loop by hand and in LangGraph, with everything that crossed the wire side by side."""


@commands.command(epilog=EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[NAME|FILE|FOLDER]...")
@lanes_option
@json_option
@click.option("--show", multiple=True, metavar="NAME", help="Show this scenario row by row (all: every one).")
@click.option("--deadline", default=60.0, show_default=True, metavar="SECONDS", help="For one lane on one scenario.")
def run(scenarios: Sequence[str], lanes: str, json_file: str | None, show: Sequence[str], deadline: float) -> int:
    """Run scenarios through the lanes and compare: the whole catalogue, or those that are named."""
    from compare.comparison import compare_scenario
    from compare.lanes import load_lanes

    writable(json_file)
    chosen = choose(scenarios)
    names = {scenario.name for scenario in chosen} | {"all"}
    for name in show:
        if name not in names:
            raise click.BadParameter(f"{name} is not among the scenarios of this run", param_hint="--show")
    with lanes_at_work():
        loaded = load_lanes(lanes)
        results = [compare_scenario(scenario, loaded, deadline) for scenario in progress(chosen)]
    detail = set(show) if show or len(results) > 1 else {results[0].name}
    return deliver(results, json_file, detail)


@commands.command(epilog=EPILOG)
@click.argument("prompt")
@lanes_option
@json_option
@click.option("--system", help="A system text in front of the prompt.")
@click.option("--max-rounds", default=8, show_default=True, type=click.IntRange(1), help="Requests at the most.")
@click.option("--root", default=".", type=click.Path(exists=True, file_okay=False), help="What the tools may read.")
def ask(prompt: str, lanes: str, json_file: str | None, system: str | None, max_rounds: int, root: str) -> int:
    """Put a prompt of your own to the demo model, a small program with rules, through the lanes."""
    from compare.comparison import compare_prompt
    from compare.lanes import load_lanes
    from compare.runner import Task

    writable(json_file)
    task = Task(prompt, "demo-model", system, max_rounds, root=Path(root))
    with lanes_at_work():
        result = compare_prompt(task, load_lanes(lanes))
    return deliver([result], json_file, {result.name})


@commands.command("list")
@click.argument("scenarios", nargs=-1, metavar="[NAME|FILE|FOLDER]...")
def list_scenarios(scenarios: Sequence[str]) -> int:
    """List the scenarios: name, title, and what each teaches."""
    for scenario in choose(scenarios):
        click.echo(f"{scenario.name}\n    {scenario.title}. {scenario.teaches}")
    return AS_EXPECTED


@commands.command(epilog=EPILOG)
@click.argument("scenario", metavar="NAME|FILE|demo")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="A port of your choice (default: any free one).")
@json_option
def serve(scenario: str, port: int, json_file: str | None) -> int:
    """Serve one scenario (or the demo model) to any client, and report on what it did when interrupted (Ctrl-C)."""
    from compare.serve import serve_client

    writable(json_file)
    # Standard output is the report's alone when it goes there as JSON.
    result = serve_client(scenario, port, lambda text: click.echo(text, err=json_file == "-"))
    return deliver([result], json_file, {result.name})


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
            if accept(scenario, compare_scenario(scenario, loaded)):
                click.echo(f"written: {scenario.path}")
    return AS_EXPECTED


def choose(arguments: Sequence[str]) -> "list[Scenario]":
    """The scenarios that the words name, each once; the whole catalogue where there are none. Raises ScenarioError."""
    from compare.scenario import catalogue, find, load

    if not arguments:
        return [load(path) for path in catalogue()]
    found = {scenario.path.resolve(): scenario for argument in arguments for scenario in find(argument)}
    return list(found.values())


def progress(scenarios: "Sequence[Scenario]") -> "Iterator[Scenario]":
    """The scenarios one by one, with a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty() or len(scenarios) < 2:
        yield from scenarios
        return
    with click.progressbar(
        scenarios, label="comparing", file=sys.stderr, item_show_func=lambda one: one.name if one else ""
    ) as steps:
        yield from steps


def writable(json_file: str | None) -> None:
    """Find out before anything runs whether the report can be written. Raises OSError."""
    if json_file not in (None, "-"):
        with open(str(json_file), "a", encoding="utf-8"):
            pass


def deliver(results: "Sequence[Comparison]", json_file: str | None, detail: set[str]) -> int:
    """Write the report where it is wanted; returns the exit code."""
    from compare.report import report, to_json
    from compare.terminal import render

    data = report(results)
    if json_file == "-":
        click.echo((to_json(data) + "\n").encode(), nl=False)  # in UTF-8, whatever the terminal speaks
    else:
        if json_file is not None:
            Path(json_file).write_text(to_json(data) + "\n", encoding="utf-8")
        render(data, detail)
    return AS_EXPECTED if not data["summary"]["unexpected"] else SURPRISED


def main() -> None:
    """The console script."""
    finish(invoke)


def invoke() -> Any:
    """Run what the command line says. Not by click's own `main`, which takes a reader that left for a failure."""
    with commands.make_context("diptych", sys.argv[1:]) as context:
        return commands.invoke(context)
