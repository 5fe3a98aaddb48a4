"""One environment surveyed: each lane on each scenario in each mode, and how it ended with what findings."""

import platform
from collections.abc import Callable, Sequence
from typing import Any

from compare.atlas.ready import load_known, versions
from compare.comparison import compare_scenario
from compare.envelope import WHOLE_TOOL
from compare.findings import SEVERITIES, Finding
from compare.judge import Judged
from compare.lanes import Lane
from compare.scenario import Scenario

HERE = "here"


def survey(
    scenarios: Sequence[Scenario], words: Sequence[str], deadline: float, step: Callable[[], object]
) -> dict[str, Any]:
    """What the lanes that can be had do here: their versions, who was left out and why, and a cell for each run.

    `deadline` is in seconds, for one run; `step` is called behind each scenario. Raises LaneError.
    """
    lanes, left_out = load_known(words)
    cells = []
    for scenario in scenarios:
        cells += [cell(scenario, mode, lane, deadline) for mode in scenario.modes for lane in lanes]
        step()
    return {
        "python": platform.python_version(),
        "lanes": {lane.name: versions(lane.name) for lane in lanes},
        "left_out": left_out,
        "cells": cells,
    }


def cell(scenario: Scenario, mode: str, lane: Lane, deadline: float) -> dict[str, Any]:
    """One lane on one scenario in one mode."""
    judged = compare_scenario(scenario, [lane], mode, deadline=deadline).lanes[0]
    severities = [finding.severity for finding in judged.findings]
    return {
        "scenario": scenario.name,
        "mode": mode,
        "lane": lane.name,
        "stop": judged.observed,
        "counts": {severity: severities.count(severity) for severity in SEVERITIES},
        "findings": told(judged),
    }


def told(judged: Judged) -> list[str]:
    """The findings by their keys, each once."""
    return sorted({named(finding) for finding in judged.findings})


def named(finding: Finding) -> str:
    """A finding's key; those of the tools are gathered into one, whose places count too."""
    return f"{finding.key}: {finding.note}" if WHOLE_TOOL.fullmatch(finding.path) and finding.note else finding.key
