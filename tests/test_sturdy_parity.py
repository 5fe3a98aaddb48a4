"""The measure of lc.sturdy: over the whole catalogue, no difference that a provider or a user would feel."""

import asyncio
from typing import Any

import pytest

import lc.sturdy
from compare.backends import script
from compare.comparison import task_of
from compare.lanes import Lane, load_lane
from compare.runner import Run, run_lane
from compare.scenario import find

FELT = {
    "unanswered-call",
    "orphan-result",
    "dropped-call",
    "answered-twice",
    "executed-n-times",
    "executed-despite-cut-off",
    "lost-field",
    "changed-value",
    "reordered",
    "would-be-refused",
    "claim-differs",
}
SAMPLE = (
    "arguments-cut-off",
    "id-missing",
    "id-twice-in-a-turn",
    "one-good-one-broken-call",
    "reasoning-content-lost",
    "stream-ends-in-a-sum",
    "three-tools-in-one-turn",
    "two-choices",
    "vendor-keys-on-a-call",
)


def test_nothing_in_the_catalogue_can_be_felt(whole_report: dict[str, Any]) -> None:
    """No scenario, in any mode, gives a finding of these classes, or an end that the loop by hand has not."""
    felt = []
    for one in whole_report["comparisons"]:
        by_lane = {lane["name"]: lane for lane in one["lanes"]}
        raw, sturdy = by_lane["raw"], by_lane["lc.sturdy"]
        if sturdy["stop"]["observed"] != raw["stop"]["observed"] or sturdy["stop"]["claimed"] != raw["stop"]["claimed"]:
            felt.append((one["name"], one["mode"], sturdy["stop"]))
        felt += [(one["name"], one["mode"], each) for each in sturdy["findings"] if each["class"] in FELT]
    assert [] == felt


def test_every_request_of_the_catalogue_is_that_of_the_loop_by_hand(whole_report: dict[str, Any]) -> None:
    """Byte for byte, in all scenarios and modes: a server that caches prefixes sees no difference."""
    other = []
    for one in whole_report["comparisons"]:
        sent = {lane["name"]: [exchange["body"] for exchange in lane["exchanges"]] for lane in one["lanes"]}
        if sent["raw"] != sent["lc.sturdy"]:
            other.append((one["name"], one["mode"]))
    assert [] == other


def in_a_loop(prompt: str, tools: Any, **settings: Any) -> Any:
    """The lane's async form."""
    return asyncio.run(lc.sturdy.arun(prompt, tools, **settings))


def lane_on(scenario: str, mode: str, lane: Lane) -> Run:
    (one,) = find(scenario)
    return run_lane(lane, task_of(one, mode), script(one.replies, one.model))


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("lane", [load_lane("lc.sturdy"), Lane("lc.sturdy", in_a_loop)], ids=["run", "arun"])
def test_a_sample_runs_alike_in_an_event_loop(name: str, lane: Lane) -> None:
    """Every body byte for byte, the history that is returned, and the stop reason; beside it, the same without one."""
    (scenario,) = find(name)
    for mode in scenario.modes:
        by_hand, sturdy = lane_on(name, mode, load_lane("raw")), lane_on(name, mode, lane)
        sent = [[exchange.request.body.raw() for exchange in run.exchanges] for run in (by_hand, sturdy)]
        assert sent[0] == sent[1]
        assert (by_hand.messages, by_hand.stop) == (sturdy.messages, sturdy.stop)
