"""The command line, as its user meets it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LOST = """
title = "A scenario of one's own"
teaches = "Anyone can write one."
prompt = "What is 3*4?"

[[reply]]
tool_calls = [{ id = "call_1", name = "calculator", arguments = '{"expression":"3*4"}' }]

[[reply]]
content = "12"

[expect]
stop = "answer"
"""


def diptych(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the console script."""
    command = [str(Path(sys.executable).with_name("diptych")), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=cwd, env={**os.environ, **env}
    )


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(LOST, encoding="utf-8")
    return path


def test_a_run_as_expected_ends_with_0(scenario: Path) -> None:
    """A scenario file of one's own runs like one of the catalogue."""
    ran = diptych("run", str(scenario), "--lanes", "raw")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "mine" in ran.stdout


def test_run_may_be_left_out(scenario: Path) -> None:
    """`diptych NAME` is `diptych run NAME`."""
    ran, named = diptych(str(scenario), "--lanes", "raw"), diptych("run", str(scenario), "--lanes", "raw")
    assert (ran.returncode, ran.stdout) == (named.returncode, named.stdout)


def test_a_difference_that_is_not_expected_ends_with_1(scenario: Path) -> None:
    """And the report names it."""
    scenario.write_text(LOST.replace('"answer"', '"round-limit"'), encoding="utf-8")
    ran = diptych("run", str(scenario), "--lanes", "raw")
    assert ran.returncode == 1
    assert "stop is answer, expected round-limit" in ran.stdout


def test_an_expected_difference_that_is_gone_ends_with_1(scenario: Path) -> None:
    """A framework that was mended must turn the run red too."""
    scenario.write_text(LOST + 'findings = ["lost-field messages[1].reasoning"]\n', encoding="utf-8")
    ran = diptych("run", str(scenario), "--lanes", "raw")
    assert ran.returncode == 1
    assert "expected, and gone: lost-field messages[1].reasoning" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "one-cal"], "one-call"),
        (["run", "--lanes", "nowhere"], "nowhere"),
        (["run", "--lanes", ""], "--lanes raw,lc"),
        (["run", "one-call", "--show", "two-calls-in-one-turn"], "--show"),
        (["run", "--nonsense"], "--nonsense"),
        (["run", "one-call", "--lanes", "raw", "--json", "no/such/folder/x.json"], "no/such/folder/x.json"),
        (["run", "stream-ends-in-a-sum"], "--stream"),
        (
            ["run", "one-call", "--lanes", "raw", "--html", "no/such/x.html"],
            "no/such/x.html: cannot be opened: No such",
        ),
        (["ask"], "PROMPT"),
        (["serve", "one-cal"], "one-call"),
        (["list", "one-cal"], "one-call"),
    ],
)
def test_wrong_input_ends_with_2_and_names_the_mend(arguments: list[str], named: str) -> None:
    """One clear message on standard error, nothing on standard output, no traceback."""
    ran = diptych(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert named in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_wrong_file_is_found_before_anything_runs(scenario: Path) -> None:
    """The error names file and key."""
    scenario.write_text(LOST.replace("tool_calls", "tool_cals"), encoding="utf-8")
    ran = diptych("run", "one-call", str(scenario))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "mine.toml" in ran.stderr
    assert "tool_calls" in ran.stderr


def test_json_goes_to_a_file_beside_the_report(scenario: Path, tmp_path: Path) -> None:
    """The terminal still shows the report."""
    ran = diptych("run", str(scenario), "--lanes", "raw", "--json", str(tmp_path / "r.json"))
    assert "mine" in ran.stdout
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["format"] == "diptych-report"


def test_json_on_standard_output_is_all_there_is(scenario: Path) -> None:
    """So that another program can read it."""
    ran = diptych("run", str(scenario), "--lanes", "raw", "--json", "-")
    assert [one["name"] for one in json.loads(ran.stdout)["comparisons"]] == ["mine"]


def test_the_same_input_gives_the_same_bytes(scenario: Path) -> None:
    """Times and ports apart, which stand in a field of their own."""
    reports = [json.loads(diptych("run", str(scenario), "--json", "-").stdout) for _ in range(2)]
    for report in reports:
        del report["volatile"]
    assert json.dumps(reports[0]) == json.dumps(reports[1])


def test_ask_answers_a_prompt_of_ones_own(tmp_path: Path) -> None:
    """The demo model calls the tools, on the folder that the command runs in."""
    (tmp_path / "notes.txt").write_text("buy milk\n", encoding="utf-8")
    ran = diptych("ask", "计算 (17 * 23) + 9", "--lanes", "raw")
    assert ran.returncode == 0
    assert "400" in ran.stdout
    ran = diptych("ask", "read notes.txt", "--lanes", "raw", "--json", "-", cwd=tmp_path)
    calls = json.loads(ran.stdout)["comparisons"][0]["lanes"][0]["calls"]
    assert calls[0]["executions"][0]["result"] == "buy milk\n"


def test_list_names_every_scenario() -> None:
    """With its title and what it teaches."""
    ran = diptych("list")
    assert ran.returncode == 0
    assert len([line for line in ran.stdout.splitlines() if not line.startswith(" ")]) >= 40


def test_a_lane_of_ones_own_is_found_in_this_folder(scenario: Path, tmp_path: Path) -> None:
    """By module, or by module and function."""
    (tmp_path / "mylane.py").write_text("from raw import run\nother = run\n", encoding="utf-8")
    ran = diptych("run", "mine.toml", "--lanes", "mylane,mylane:other", "--json", "-", cwd=tmp_path)
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["lanes"] == ["mylane", "mylane:other"]


def test_accept_makes_a_red_scenario_green(scenario: Path) -> None:
    """What the lane does becomes what is expected of it, and the rest of the file stays."""
    assert diptych("run", str(scenario)).returncode == 1
    assert diptych("accept", str(scenario), "--lanes", "lc").returncode == 0
    text = scenario.read_text(encoding="utf-8")
    assert text.startswith(LOST.rstrip())
    assert "[expect.lc]" in text
    assert diptych("run", str(scenario)).returncode == 0
    assert diptych("accept", str(scenario), "--lanes", "lc").returncode == 0
    assert scenario.read_text(encoding="utf-8") == text


def test_accept_works_on_a_file_that_expects_nothing_yet(scenario: Path) -> None:
    """The first thing to do with a new scenario; what is as any lane should be needs no table."""
    new = LOST.partition("[expect]")[0].replace('"call_1"', '""')
    scenario.write_text(new, encoding="utf-8")
    assert diptych("run", str(scenario), "--lanes", "raw").returncode == 1
    assert diptych("accept", str(scenario), "--lanes", "raw").returncode == 0
    assert scenario.read_text(encoding="utf-8").startswith(f"{new.rstrip()}\n\n[expect.raw]\nstop = ")
    assert diptych("run", str(scenario), "--lanes", "raw").returncode == 0


def test_the_exit_codes_of_the_help_are_those_of_the_readme() -> None:
    """`diptych --help` names each code once; a command names those that it has."""
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    table = readme.split("## Exit codes of `diptych`")[1].split("\n## ")[0]
    codes = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
    assert codes == re.findall(r"^    (\d+) ", diptych("--help").stdout, re.MULTILINE)
    assert ["0", "1", "2", "70", "130"] == re.findall(r"^    (\d+) ", diptych("drill", "--help").stdout, re.MULTILINE)


def test_replies_of_a_wrong_type_fill_no_terminal_with_warnings() -> None:
    """The SDK warns of each, with a path of this machine; the report has them already."""
    ran = diptych("run", "id-a-number", "--lanes", "lc")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_command_that_there_is_not_is_told_where_the_commands_are() -> None:
    """Because `run` may be left out, it is taken for a scenario."""
    ran = diptych("bogus")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert "'diptych list' shows the names, 'diptych --help' lists the commands" in ran.stderr


def test_a_proxy_in_the_environment_is_not_used(scenario: Path) -> None:
    """Loopback traffic stays on loopback."""
    proxy = "http://127.0.0.1:9"
    ran = diptych("run", str(scenario), "--lanes", "raw", HTTP_PROXY=proxy, http_proxy=proxy, ALL_PROXY=proxy)
    assert ran.returncode == 0


def test_a_reader_that_leaves_is_no_error() -> None:
    """`diptych list | head -1` ends in silence."""
    command = [str(Path(sys.executable).with_name("diptych")), "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == ""


def test_version() -> None:
    """--version says it."""
    assert diptych("--version").stdout.startswith("diptych, version ")
