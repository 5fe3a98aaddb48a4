"""The command `diptych atlas`: the matrix of scenarios, lanes and modes, here and with other versions of packages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from compare.cli_options import EPILOG, LIVE_LINE, choose, counting
from compare.cli_output import json_option, writable, written
from compare.process import AS_EXPECTED, SURPRISED, lanes_at_work, tell

ATLAS_EPILOG = EPILOG.replace(LIVE_LINE, "").replace("everything is as expected", "the atlas is made")
ATLAS_EPILOG = ATLAS_EPILOG.replace(
    "a difference that is not expected, or an expected one that is gone",
    "a lane does otherwise in an environment of --with",
)


@click.command(epilog=ATLAS_EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[NAME|FILE|FOLDER]...")
@click.option(
    "--lanes",
    help="Lanes, as MODULE or MODULE:FUNCTION.  [default: all that Diptych has; with --with, those that it is about]",
)
@click.option("--lane", "more", multiple=True, metavar="NAME=cmd:COMMAND", help="A lane more, any program, as for run.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="'NAME==VERSION ...'",
    help="Also in an environment of its own with these packages (needs uv and a package index), and what that changes.",
)
@click.option(
    "--deadline", default=60.0, show_default=True, type=click.FloatRange(0.1), metavar="SECONDS", help="For one run."
)
@json_option
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write it as Markdown.")
def atlas(
    scenarios: Sequence[str],
    lanes: str | None,
    more: Sequence[str],
    others: Sequence[str],
    deadline: float,
    json_file: str | None,
    markdown_file: str | None,
) -> int:
    """Map how each lane ends on each scenario in each mode, and how many findings it gives, with versions.

    A lane that is not installed is left out by name. With --with, also what other versions change.
    """
    from compare.atlas.document import document, markdown
    from compare.atlas.ready import READY, words_with
    from compare.atlas.shown import render_atlas
    from compare.lanes import LaneError

    writable(json_file, markdown_file)
    chosen, environments = choose(scenarios), [one.split() for one in others]
    if not all(environments):
        raise click.BadParameter("it names no package; write --with 'NAME==VERSION'", param_hint="--with")
    required = [one for requirements in environments for one in requirements]
    words = [word.strip() for word in lanes.split(",") if word.strip()] if lanes is not None else []
    if lanes is None:
        words = words_with(required) if required else list(READY)
    data = document(surveyed(chosen, [*words, *more], environments, deadline))
    for one in data["environments"]:
        for lane, why in one["left_out"].items():
            tell(f"{lane} is left out ({one['name']}): {why}")
    if not data["cells"]:
        raise LaneError("no lane could be had, so there is no atlas; name one that is installed, such as --lanes raw")
    if markdown_file is not None:
        Path(markdown_file).write_text(markdown(data), encoding="utf-8")
    written(data, json_file, lambda: render_atlas(data))
    return SURPRISED if data["changes"] else AS_EXPECTED


def surveyed(
    scenarios: Sequence[Any], words: Sequence[str], environments: Sequence[Sequence[str]], deadline: float
) -> list[tuple[str, dict[str, Any]]]:
    """The survey of this environment, and of each that has other packages; commands run only here. Raises LaneError."""
    from compare.atlas.environments import make, survey_in
    from compare.atlas.ready import behind
    from compare.atlas.survey import HERE, survey

    functions = [word for word in words if "=" not in word]
    packages = sorted({package for word in functions for package in behind(word)})
    # First, because a requirement that cannot be met is known sooner than anything else.
    made = [(" ".join(one), make(one, packages)) for one in environments]
    with lanes_at_work(), counting("surveying", len(scenarios)) as step:
        found = [(HERE, survey(scenarios, words, deadline, step))]
    return [*found, *((name, survey_in(python, scenarios, functions, deadline)) for name, python in made)]
