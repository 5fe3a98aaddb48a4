"""README.md says what is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from compare.scenario import find
from tests.readme_parts import LANE, PART, PARTS, README, ROOT

TEXT = README.read_text(encoding="utf-8")
SLOW = {"compare"}  # tests/test_catalogue.py runs the whole catalogue, and looks at this part


def test_every_part_is_there() -> None:
    """A part that is made and nowhere shown would not be checked."""
    assert {part[1] for part in PART.findall(TEXT)} == set(PARTS)


@pytest.mark.parametrize("name", sorted(set(PARTS) - SLOW))
def test_a_generated_part_is_up_to_date(name: str) -> None:
    """`make readme` writes them anew."""
    shown = {part[1]: part[2] for part in PART.findall(TEXT)}
    assert shown[name] == PARTS[name]()


@pytest.mark.parametrize("line", re.findall(r"^\$ (?:make|diptych|python) .*$", TEXT, re.MULTILINE))
def test_a_command_is_one(line: str) -> None:
    """Every make target and every subcommand that the README names exists."""
    words = line.split()[1:]
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif words[0] == "diptych":
        command = [str(Path(sys.executable).with_name("diptych")), words[1], "--help"]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    else:
        assert words[1:3] in (["-m", "raw"], ["-m", "lc"], ["-m", "lc.sturdy"])


def test_links_lead_somewhere() -> None:
    """Each relative link names a file of the repository."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target


def test_the_lane_with_a_mistake_is_named_for_it(tmp_path: Path) -> None:
    """The lane that the README shows runs as it stands there, and its mistake is found."""
    (tmp_path / "mylane.py").write_text(LANE, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("diptych")), "run", "two-calls-in-one-turn", "--lanes", "raw,mylane"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 1
    assert "not expected: unanswered-call messages[1].tool_calls[1]" in ran.stdout


@pytest.mark.parametrize("name", re.findall(r"`diptych run ([\w-]+)", TEXT))
def test_a_scenario_that_is_named_is_there(name: str) -> None:
    """What the README sends its reader to look at is in the catalogue."""
    assert [name] == [scenario.name for scenario in find(name)]
