"""Every lane with one fault is caught by the class of its fault and nothing else, and a faithful lane by none."""

from functools import cache

import pytest

from compare.comparison import Comparison, compare_scenario
from compare.findings import CLASSES
from compare.lanes import Lane
from compare.scenario import Scenario, catalogue, load
from raw import run as raw_run
from tests.faithful import faithful
from tests.miniatures import MINIATURES

SCENARIOS = {path.stem: path for path in catalogue()}
ASSISTANT, CALL_1, CALL_2 = "messages[1]", "messages[1].tool_calls[0]", "messages[1].tool_calls[1]"
ARGUMENTS = f"{CALL_1}.function.arguments"
REFUSED = "would-be-refused {} openai:every-call-answered"
ORPHAN = "would-be-refused {} openai:no-orphan-result"
OTHER_STOP = "stop-reason stop"

# Each miniature: the scenario, the finding that is its fault, and those that the fault implies, all of them.
FAULTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "drops_reasoning": ("reasoning-content-lost", f"lost-field {ASSISTANT}.reasoning_content", ()),
    "renames_reasoning": ("reasoning-content-lost", f"renamed-parameter {ASSISTANT}.reasoning_content", ()),
    "adds_a_field": ("one-call", f"added-field {ASSISTANT}.name", ()),
    "drops_a_call": ("two-calls-in-one-turn", f"dropped-call {CALL_2}", (f"unanswered-call {CALL_2}",)),
    "forgets_the_message": (
        "one-call",
        f"lost-field {ASSISTANT}",
        (f"dropped-call {CALL_1}", f"unanswered-call {CALL_1}"),
    ),
    "changes_an_id": ("one-call", f"changed-value {CALL_1}.id", ()),
    "reserialises_arguments": ("arguments-compact", f"re-serialised {ARGUMENTS}", ()),
    "rounds_numbers": ("arguments-number-with-zero", f"changed-value {ARGUMENTS}", ()),
    "swaps_ids": (
        "two-calls-in-one-turn",
        "swapped-results messages[2].content",
        ("swapped-results messages[3].content",),
    ),
    "answers_twice": ("one-call", f"answered-twice {CALL_1}", (REFUSED.format(CALL_1),)),
    "forgets_a_call": ("two-calls-in-one-turn", f"unanswered-call {CALL_2}", (REFUSED.format(CALL_2),)),
    "answers_in_reverse": ("two-calls-in-one-turn", "reordered messages[2]", ()),
    "reorders_calls": ("three-tools-in-one-turn", f"reordered {ASSISTANT}.tool_calls", ()),
    "invents_a_result": ("one-call", "orphan-result messages[3]", (ORPHAN.format("messages[3]"),)),
    "adds_a_message": ("one-call", "added-field messages[3]", ()),
    "talks_before_answering": (
        "one-call",
        "added-field messages[2]",
        (REFUSED.format(CALL_1), ORPHAN.format("messages[3]")),
    ),
    "marks_its_results": ("one-call", "added-field messages[2].status", ()),
    "loses_the_first_call_when_broken": (
        "one-broken-one-good-call",
        f"unanswered-call {CALL_1}",
        (REFUSED.format(CALL_1),),
    ),
    "executes_cut_off_call": ("finish-length-with-whole-calls", f"executed-despite-cut-off {CALL_1}", ()),
    "executes_twice": ("one-call", f"executed-n-times {CALL_1}", ()),
    "claims_success": ("division-by-zero", "claim-differs messages[2].content", ()),
    "claims_failure": ("one-call", "changed-value messages[2].content", ()),
    "makes_up_a_result": ("one-call", "claim-differs messages[2].content", ()),
    "cuts_a_result_short": ("one-call", "changed-value messages[2].content", ()),
    "coerces_arguments": ("arguments-wrong-type", f"changed-value executed {CALL_1}.arguments.expression", ()),
    "leaves_out_an_argument": ("arguments-extra-field", f"lost-field executed {CALL_1}.arguments.precision", ()),
    "words_errors_otherwise": ("division-by-zero", "error-wording messages[2].content", ()),
    "lets_the_tool_raise": (
        "division-by-zero",
        OTHER_STOP,
        (f"unanswered-call {CALL_1}", "unused-reply reply 2"),
    ),
    "raises_after_the_tool_ran": ("one-call", OTHER_STOP, (f"unanswered-call {CALL_1}", "unused-reply reply 2")),
    "changes_the_prompt": ("one-call", "changed-value messages[0].content", ()),
    "adds_instructions": ("one-call", "added-field messages[1]", ()),
    "forgets_the_system_text": ("system-prompt", "lost-field messages[0]", ()),
    "shortens_the_history": ("list-then-read", "changed-value messages[2].content", ()),
    "forgets_the_beginning": ("list-then-read", "lost-field messages[0]", ()),
    "asks_another_model": ("one-call", "changed-value model", ()),
    "renames_the_model": (
        "one-call",
        "renamed-parameter model",
        ("would-be-refused model openai:request-shape",),
    ),
    "adds_a_temperature": ("one-call", "added-field temperature", ()),
    "leaves_out_the_tools": ("one-call", "lost-field tools", ()),
    "leaves_out_a_description": ("one-call", "lost-field tools", ()),
    "retries_silently": ("server-500-then-fine", "extra-attempt request 2", (OTHER_STOP,)),
    "goes_elsewhere": ("one-call", "other-endpoint GET /v1/usage", ()),
    "sends_what_cannot_be_read": (
        "answer-without-tools",
        "would-be-refused request 1",
        ("unused-reply reply 1", OTHER_STOP),
    ),
    "runs_a_tool_unasked": ("one-call", "executed-n-times before the first request", ()),
    "stops_early": ("one-call", "unused-reply reply 2", (f"unanswered-call {CALL_1}", OTHER_STOP)),
    "asks_again": ("one-call", "beyond-script request 3", ("claim-differs stop", OTHER_STOP)),
    "claims_an_answer": ("one-round-only", "claim-differs stop", ()),
    "tells_another_story": ("one-call", "claim-differs messages[3]", ()),
    "tells_more_than_happened": ("one-call", "claim-differs messages[4]", ()),
    "leaves_out_the_end": ("one-call", "claim-differs messages[3]", ()),
}

STOPS = {
    "lets_the_tool_raise": "tool-error",
    "raises_after_the_tool_ran": "crash",
    "sends_what_cannot_be_read": "http-error",
    "stops_early": "unanswered-calls",
    "asks_again": "http-error",
    "claims_an_answer": "round-limit",
}
SEVERITIES = {"leaves_out_the_tools": "notice", "leaves_out_a_description": "info", "adds_a_temperature": "info"}


@cache
def scenario(name: str) -> Scenario:
    """A scenario of the catalogue."""
    return load(SCENARIOS[name])


@cache
def comparison(name: str) -> Comparison:
    """The faithful lane and a miniature, on the miniature's scenario."""
    return compare_scenario(scenario(FAULTS[name][0]), [Lane("faithful", faithful), Lane(name, MINIATURES[name])])


@cache
def innocent(name: str) -> Comparison:
    """The hand-written lane and the faithful one, on a scenario."""
    return compare_scenario(scenario(name), [Lane("raw", raw_run), Lane("faithful", faithful)])


@pytest.mark.parametrize("name", MINIATURES)
def test_a_miniature_is_caught_by_its_own_class_and_by_no_other(name: str) -> None:
    """Its findings are its fault and what the fault implies, all in its own name; the lane beside it stays clean."""
    _, own, implied = FAULTS[name]
    compared = comparison(name)
    findings = compared.lanes[1].findings
    assert sorted([own, *implied]) == sorted(finding.key for finding in findings)
    assert {name} == {finding.lane for finding in findings}
    assert compared.surprises["faithful"] == []


@pytest.mark.parametrize("name", MINIATURES)
def test_a_miniature_ends_as_the_wire_shows(name: str) -> None:
    """The stop is taken from the evidence, whatever the lane says."""
    assert STOPS.get(name, "answer") == comparison(name).lanes[1].observed


@pytest.mark.parametrize("name", SEVERITIES)
def test_what_is_cosmetic_in_the_envelope_is_told_from_what_is_not(name: str) -> None:
    """A model that is not told of its tools is worse off than one without a description."""
    assert [SEVERITIES[name]] == [finding.severity for finding in comparison(name).lanes[1].findings]


@pytest.mark.parametrize("lane", ["raw", "faithful"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_faithful_lane_comes_out_clean_on_the_whole_catalogue(name: str, lane: str) -> None:
    """Stop and findings are exactly what the scenario expects of a lane that does nothing wrong."""
    judged = next(judged for judged in innocent(name).lanes if judged.run.lane == lane)
    expected = scenario(name).expect[""]
    info = {"error-wording"}
    keys = {finding.key for finding in judged.findings if finding.kind not in info}
    assert (expected.stop, set(expected.findings)) == (judged.observed, keys)


@pytest.mark.parametrize("name", SCENARIOS)
def test_two_faithful_lanes_differ_in_nothing_but_tolerances(name: str) -> None:
    """The hand-written lane and its re-implementation agree row by row."""
    assert innocent(name).verdict in ("same", "equivalent")


def test_two_lanes_with_the_same_fault_do_not_look_fine() -> None:
    """Their rows are the same, and each has the finding all the same."""
    drops = MINIATURES["drops_reasoning"]
    compared = compare_scenario(scenario("reasoning-content-lost"), [Lane("one", drops), Lane("two", drops)])
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
        turned = compare_scenario(scenario(FAULTS[name][0]), lanes)
        assert comparison(name).verdict == turned.verdict
        assert comparison(name).lanes[1].findings == turned.lanes[0].findings


def test_every_class_of_findings_has_a_lane_or_a_scenario_that_gives_it() -> None:
    """A class that nothing can trigger would be a promise without a proof."""
    caught = {own.split()[0] for _, own, _ in FAULTS.values()}
    given = {key.split()[0] for name in SCENARIOS for key in scenario(name).expect[""].findings}
    assert set(CLASSES) == caught | (given & {"invented-id"})


def test_every_miniature_says_what_is_wrong_with_it() -> None:
    """The table of faults and the miniatures are the same set."""
    assert set(FAULTS) == set(MINIATURES)
