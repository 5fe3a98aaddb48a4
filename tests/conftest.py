"""What several test files share: the whole catalogue, run once through both lanes."""

from collections.abc import Iterator
from typing import Any

import pytest

from compare.cli import loopback_only
from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.report import report
from compare.scenario import catalogue, load


@pytest.fixture(scope="session", autouse=True)
def loopback() -> Iterator[None]:
    """Nothing leaves the machine, whatever the environment says."""
    with loopback_only():
        yield


@pytest.fixture(scope="session")
def whole_report(loopback: None) -> dict[str, Any]:
    """The report on every scenario of the catalogue, through both lanes."""
    lanes = load_lanes("raw,lc")
    return report([compare_scenario(load(path), lanes) for path in catalogue()])
