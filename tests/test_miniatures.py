"""Every lane with one fault is caught by the class of its fault and nothing else, and a faithful lane by none."""

from dataclasses import replace

import pytest

from compare.comparison import compare_scenario
from compare.expectation import Expectation
from compare.findings import CLASSES
from compare.lanes import Lane
from tests import scoreboard
from tests.faithful import faithful
from tests.faults import ASSISTANT, FAULTS, STREAM_FAULTS
from tests.miniatures import MINIATURES
from tests.scoreboard import (
    ALL_FAULTS,
    ALL_MINIATURES,
    INNOCENT,
    SCENARIOS,
    beside_a_faithful_lane,
    false_alarms,
    innocent,
    misses,
    modes,
    scenario_of,
)
from tests.stream_miniatures import STREAM_MINIATURES

STOPS = {
    "lets_the_tool_raise": "tool-error",
    "raises_after_the_tool_ran": "crash",
    "sends_what_cannot_be_read": "http-error",
    "stops_early": "unanswered-calls",
    "asks_again": "http-error",
    "claims_an_answer": "round-limit",
    "stops_at_the_finish_reason": "unanswered-calls",
    "passes_over_an_error": "http-error",
    "takes_the_end_of_a_stream_for_done": "cut-off",
    "takes_a_cut_message_for_whole": "connection-error",
    "calls_a_stall_an_answer": "deadline",
}
SEVERITIES = {"leaves_out_the_tools": "notice", "leaves_out_a_description": "info", "adds_a_temperature": "info"}


GUILTY = [(name, mode) for name in ALL_MINIATURES for mode in modes(name)]
CATALOGUE = [(name, mode) for name, scenario in SCENARIOS.items() for mode in scenario.modes]


@pytest.mark.parametrize("name", ALL_MINIATURES)
def test_a_miniature_is_caught_by_its_own_class(name: str) -> None:
    """In each mode in which its fault shows."""
    assert misses(name) == []


@pytest.mark.parametrize(("name", "mode"), GUILTY)
def test_a_miniature_is_accused_of_nothing_but_its_fault(name: str, mode: str) -> None:
    """Its findings are its fault and what the fault implies, all in its own name; the lane beside it stays clean."""
    _, own, implied = ALL_FAULTS[name]
    compared = beside_a_faithful_lane(name, mode)
    findings = compared.lanes[1].findings
    assert sorted([own, *implied]) == sorted(finding.key for finding in findings)
    assert {name} == {finding.lane for finding in findings}
    assert compared.surprises["faithful"] == []


@pytest.mark.parametrize(("name", "mode"), GUILTY)
def test_a_miniature_ends_as_the_wire_shows(name: str, mode: str) -> None:
    """The stop is taken from the evidence, whatever the lane says."""
    assert STOPS.get(name, "answer") == beside_a_faithful_lane(name, mode).lanes[1].observed


@pytest.mark.parametrize("name", SEVERITIES)
def test_what_is_cosmetic_in_the_envelope_is_told_from_what_is_not(name: str) -> None:
    """A model that is not told of its tools is worse off than one without a description."""
    findings = beside_a_faithful_lane(name, "plain").lanes[1].findings
    assert [SEVERITIES[name]] == [finding.severity for finding in findings]


@pytest.mark.parametrize("lane", INNOCENT)
@pytest.mark.parametrize(("name", "mode"), CATALOGUE)
def test_a_faithful_lane_comes_out_clean_on_the_whole_catalogue(name: str, mode: str, lane: str) -> None:
    """Stop and findings are exactly what the scenario expects of a lane that does nothing wrong."""
    assert false_alarms(name, lane, mode) == []


@pytest.mark.parametrize(("name", "mode"), CATALOGUE)
def test_two_faithful_lanes_differ_in_nothing_but_tolerances(name: str, mode: str) -> None:
    """The hand-written lane and its re-implementation agree row by row."""
    assert innocent(name, mode).verdict in ("same", "equivalent")


@pytest.fixture
def one_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scoreboard of one miniature and one scenario."""
    monkeypatch.setattr(scoreboard, "ALL_MINIATURES", {"adds_a_field": MINIATURES["adds_a_field"]})
    monkeypatch.setattr(scoreboard, "SCENARIOS", {"one-call": SCENARIOS["one-call"]})


@pytest.mark.usefixtures("one_of_each")
def test_the_scoreboard_counts_what_was_caught(capsys: pytest.CaptureFixture[str]) -> None:
    """And ends well where nothing was missed."""
    assert scoreboard.main() == 0
    assert capsys.readouterr().out == "1 caught, 0 missed, 0 false alarms\n"


@pytest.mark.usefixtures("one_of_each")
def test_the_scoreboard_tells_what_was_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class that the judge does not find in a mode of the miniature is a miss, and fails."""
    fault = ("one-call", "lost-field messages[1].name", ())
    monkeypatch.setattr(scoreboard, "ALL_FAULTS", {"adds_a_field": fault})
    assert scoreboard.main() == 1
    assert capsys.readouterr().out == (
        "missed: adds_a_field on one-call (plain, stream): no lost-field messages[1].name\n"
        "0 caught, 1 missed, 0 false alarms\n"
    )


@pytest.mark.usefixtures("one_of_each")
def test_the_scoreboard_tells_false_alarms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What is found beyond what is expected, and what is expected and gone, and another stop."""
    wrong = replace(SCENARIOS["one-call"], modes=("plain",), expect={"": Expectation("cut-off", ("lost-field x",))})
    monkeypatch.setattr(scoreboard, "SCENARIOS", {"one-call": wrong})
    scoreboard.innocent.cache_clear()
    assert scoreboard.main() == 1
    scoreboard.innocent.cache_clear()
    lines = [
        f"false alarm: {lane} on one-call (plain): {words}\n"
        for lane in ("raw", "faithful")
        for words in ("stop is answer, and not cut-off", "gone: lost-field x")
    ]
    assert capsys.readouterr().out == "".join((*lines, "1 caught, 0 missed, 4 false alarms\n"))


def test_two_lanes_with_the_same_fault_do_not_look_fine() -> None:
    """Their rows are the same, and each has the finding all the same."""
    drops = MINIATURES["drops_reasoning"]
    compared = compare_scenario(SCENARIOS["reasoning-content-lost"], [Lane("one", drops), Lane("two", drops)])
    lost = f"lost-field {ASSISTANT}.reasoning_content"
    assert "same" == compared.verdict
    assert {"one": [lost], "two": [lost]} == {
        judged.run.lane: [finding.key for finding in judged.findings] for judged in compared.lanes
    }
    assert all(any(lost in surprise for surprise in surprises) for surprises in compared.surprises.values())


def test_the_order_of_the_lanes_changes_neither_verdict_nor_fault() -> None:
    """Which lane is named first decides only where the words differ from."""
    for name in ("drops_reasoning", "reserialises_arguments", "swaps_ids", "adds_a_field"):
        lanes = [Lane(name, MINIATURES[name]), Lane("faithful", faithful)]
        turned = compare_scenario(scenario_of(name), lanes)
        compared = beside_a_faithful_lane(name, "plain")
        assert compared.verdict == turned.verdict
        assert compared.lanes[1].findings == turned.lanes[0].findings


def test_every_class_of_findings_has_a_lane_or_a_scenario_that_gives_it() -> None:
    """A class that nothing can trigger would be a promise without a proof."""
    caught = {own.split()[0] for _, own, _ in ALL_FAULTS.values()}
    given = {key.split()[0] for scenario in SCENARIOS.values() for key in scenario.expected("faithful").findings}
    assert set(CLASSES) == caught | (given & {"invented-id"})


def test_every_miniature_says_what_is_wrong_with_it() -> None:
    """The tables of faults and of miniatures have the same names."""
    assert set(FAULTS) == set(MINIATURES)
    assert set(STREAM_FAULTS) == set(STREAM_MINIATURES)
