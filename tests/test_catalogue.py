"""The catalogue: each scenario goes as it is known to go, in both lanes."""

import json
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from compare.findings import CLASSES
from compare.report import to_json
from compare.scenario import CATALOGUE_FOLDER, catalogue
from compare.terminal import write
from compare.tolerances import legend
from protocol import STOP_REASONS
from tests.readme_parts import PART, README, fence

NAMES = [path.stem for path in catalogue()]


@pytest.fixture(scope="module")
def comparisons(whole_report: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in whole_report["comparisons"]}


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_goes_as_expected(comparisons: dict[str, Any], name: str) -> None:
    """No difference that is not known, and none that is gone."""
    surprises = {lane["name"]: lane["surprises"] for lane in comparisons[name]["lanes"]}
    assert surprises == {"raw": [], "lc": []}


def test_the_whole_report_has_the_form_that_its_schema_describes(whole_report: dict[str, Any]) -> None:
    """Whatever the catalogue brings about, down to half surrogate pairs."""
    schema = json.loads((CATALOGUE_FOLDER.parent / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(to_json(whole_report)), schema)


def test_the_catalogue_needs_every_tolerance_and_nearly_every_class(whole_report: dict[str, Any]) -> None:
    """A tolerance that nothing needs only hides; the classes left out are faults that no lane of ours has."""
    rows = [row for one in whole_report["comparisons"] for row in one["rows"]]
    lanes = [lane for one in whole_report["comparisons"] for lane in one["lanes"]]
    taken = {name for row in rows for part in (row, *row["cells"]) for name in part["tolerances"]}
    assert taken == set(legend())
    absent = set(CLASSES) - {finding["class"] for lane in lanes for finding in lane["findings"]}
    assert absent == {
        "answered-twice",
        "beyond-script",
        "dropped-call",
        "executed-n-times",
        "orphan-result",
        "renamed-parameter",
        "swapped-results",
    }
    assert {lane["stop"]["observed"] for lane in lanes} <= set(STOP_REASONS)


def test_the_readme_shows_how_the_main_job_ends(whole_report: dict[str, Any]) -> None:
    """`make readme` writes it anew."""
    console = Console(width=100, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        write(whole_report, set(), console)
    shown = {part[1]: part[2] for part in PART.findall(README.read_text(encoding="utf-8"))}
    assert shown["compare"] == fence(capture.get().rstrip().splitlines()[-1])
