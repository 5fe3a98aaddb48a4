"""The catalogue is sound, and each scenario goes as it is known to go, in both lanes."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from compare.findings import CLASSES
from compare.replies import ScriptedMessage
from compare.report import to_json
from compare.scenario import CATALOGUE_FOLDER, catalogue, find, load
from compare.terminal import write
from compare.tolerances import legend
from protocol import STOP_REASONS
from tests.readme_parts import PART, README, excerpt

PATHS = catalogue()


# --- what each file says ---


def test_the_catalogue_is_discovered_and_sorted() -> None:
    """At least forty scenarios are found, in the order of their names."""
    names = [path.stem for path in PATHS]
    assert sorted(set(names)) == names
    assert len(names) >= 110


def test_titles_and_lessons_are_unique() -> None:
    """No two scenarios say that they are, or teach, the same."""
    scenarios = [load(path) for path in PATHS]
    assert len(PATHS) == len({scenario.title for scenario in scenarios})
    assert len(PATHS) == len({scenario.teaches for scenario in scenarios})


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_scenario_of_the_catalogue_is_sound(path: Path) -> None:
    """It loads, is named in words, teaches one sentence, and expects endings of the vocabulary."""
    scenario = load(path)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", scenario.name)
    assert len(scenario.title) <= 60
    assert not scenario.title.endswith(".")
    assert re.fullmatch(r"\S[^.!?]*(\.\w[^.!?]*)*\.", scenario.teaches)
    assert {expectation.stop for expectation in scenario.expect.values()} <= set(STOP_REASONS)
    assert len(scenario.replies) <= scenario.max_rounds <= 8


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_file_of_the_catalogue_is_tidy(path: Path) -> None:
    """Unix line ends, one blank line at most, one line break at the end, and no control character raw."""
    text = path.read_bytes().decode()
    assert text == text.strip("\n") + "\n"
    assert "\n\n\n" not in text
    assert all(character.isprintable() or character == "\n" for character in text)
    assert tomllib.loads(text)


def test_the_prompts_of_the_seeds_are_there() -> None:
    """What the project was started with is in the catalogue word for word."""
    prompts = {load(path).prompt for path in PATHS}
    seeds = {"计算 (17 * 23) + 9", "1+2*3 等于几？", "帮我算 1/0", "读取 README.md，告诉我仓库首周任务"}
    assert set() == seeds - prompts


def test_the_endless_caller_calls_in_each_of_eight_rounds() -> None:
    """The round limit is met by eight replies that all call, under ids of their own."""
    (scenario,) = find("endless-caller")
    messages = [json.loads(reply.message) for reply in scenario.replies if isinstance(reply, ScriptedMessage)]
    assert [f"call_{number}" for number in range(1, 9)] == [message["tool_calls"][0]["id"] for message in messages]


def test_the_huge_result_is_just_under_the_limit() -> None:
    """The file is as long as the reading tool allows, within a tenth."""
    (scenario,) = find("huge-result")
    size = len(scenario.workspace["log.txt"].encode())
    assert 0.9 * 20 * 1024 < size <= 20 * 1024


# --- how each scenario goes ---


RUNS = [(path.stem, mode) for path in PATHS for mode in load(path).modes]


@pytest.fixture(scope="module")
def comparisons(whole_report: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {(one["name"], one["mode"]): one for one in whole_report["comparisons"]}


@pytest.mark.parametrize("run", RUNS, ids="-".join)
def test_a_scenario_goes_as_expected(comparisons: dict[tuple[str, str], Any], run: tuple[str, str]) -> None:
    """No difference that is not known, and none that is gone, plain or streamed."""
    surprises = {lane["name"]: lane["surprises"] for lane in comparisons[run]["lanes"]}
    assert surprises == {"raw": [], "lc": [], "lc.sturdy": []}


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
        "dropped-call",
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
    assert shown["compare"] == excerpt(capture.get())
