"""The command that makes a page from a report that was written before."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

import click

from compare.process import AS_EXPECTED


@click.command("report")
@click.argument("report_file", metavar="FILE.json")
@click.option("--html", "html_file", metavar="OUT", required=True, help="Where to write the page.")
@click.option("--html-full", is_flag=True, help="Keep every raw view as text, however large the page becomes.")
def page_of_report(report_file: str, html_file: str, html_full: bool) -> int:
    """Make a page from a report that was written with --json; nothing runs."""
    from compare.page import write

    write(read_report(Path(report_file)), html_file, html_full)
    return AS_EXPECTED


def read_report(path: Path) -> dict[str, Any]:
    """The report in a file. Raises OSError, and ClickException where it is none."""
    import jsonschema

    from compare.report import SCHEMA

    try:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"), parse_float=finite, parse_constant=no_number)
        jsonschema.validate(data, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{path}: cannot be read as JSON: {error}") from error
    except jsonschema.ValidationError as error:
        words = f"{error.json_path}: {error.message[:200]}"
        raise click.UsageError(f"{path}: is no report of this version: {words}") from error
    if problem := contradiction(data):
        raise click.UsageError(f"{path}: is no report of this version: {problem}")
    return data


def finite(text: str) -> float:
    """A number of the file. Raises ValueError."""
    return float(text) if math.isfinite(float(text)) else no_number(text)


def no_number(text: str) -> NoReturn:
    """Refuse what JSON does not know, or what Python cannot hold. Raises ValueError."""
    raise ValueError(f"{text} is no number")


def contradiction(data: dict[str, Any]) -> str:
    """What a form cannot say: each comparison has the report's lanes, in every row, and a run of each; else empty."""
    runs = {(run["comparison"], run["mode"], run["lane"]) for run in data["volatile"]["runs"]}
    for one in data["comparisons"]:
        lanes = [lane["name"] for lane in one["lanes"]]
        if lanes != data["lanes"] or any([cell["lane"] for cell in row["cells"]] != lanes for row in one["rows"]):
            return f"{one['name']} ({one['mode']}) has not the report's lanes"
        if any((one["name"], one["mode"], lane) not in runs for lane in lanes):
            return f"{one['name']} ({one['mode']}) has no run of each lane"
    return ""
