"""What several commands share: their options, what these name, and how far a command has come."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    from compare.scenario import Scenario
    from protocol.profile import Profile

LIVE_LINE = (
    "  3   a live run or a recording that is not whole: no answer from the endpoint, a limit reached, or a full disk\n"
)
EPILOG = f"""\b
Exit codes:
  0   everything is as expected
  1   a difference that is not expected, or an expected one that is gone
  2   wrong usage or input
{LIVE_LINE}  70  a fault of Diptych's own
  130 interrupted"""


def lanes_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --lanes and --lane, together as the parameter `lanes`: the words for `load_lanes`."""

    @click.option("--lanes", default="raw,lc", show_default=True, help="Lanes, as MODULE or MODULE:FUNCTION.")
    @click.option(
        "--lane",
        "commands",
        multiple=True,
        metavar="NAME=cmd:COMMAND",
        help="A lane more, any program: it gets the prompt on standard input and in place of {prompt}, and "
        "OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL. Its tools are its own.",
    )
    @functools.wraps(command)
    def with_lanes(*values: Any, lanes: str, commands: Sequence[str], **named: Any) -> Any:
        return command(*values, lanes=[lanes, *commands], **named)

    return with_lanes


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
