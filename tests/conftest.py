"""What several test files are given: the whole catalogue run once, clients of a server, a workspace and its tools."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.process import loopback_only
from compare.report import report
from compare.scenario import catalogue, load
from tests.browser import chromium, pages  # noqa: F401 # fixtures
from tests.clients import Clients
from tests.openers import OPENERS
from tests.workspace import Tools, functions
from toolbox import file_tools
from toolbox.confined import Opener


@pytest.fixture(scope="session", autouse=True)
def loopback() -> Iterator[None]:
    """Nothing leaves the machine, whatever the environment says."""
    with loopback_only():
        yield


@pytest.fixture(scope="session")
def whole_report(loopback: None) -> dict[str, Any]:
    """The report on every scenario of the catalogue, through both lanes, in every mode that it has."""
    lanes, scenarios = load_lanes("raw,lc"), [load(path) for path in catalogue()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outside of pytest, too, a warning of pydantic's is no crash of the lane
        return report([compare_scenario(one, lanes, mode) for one in scenarios for mode in one.modes])


@pytest.fixture
def connect() -> Iterator[Clients]:
    """Opens a connection to a server."""
    clients = Clients()
    yield clients
    clients.close()


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest) -> Opener:
    """Each way to confine that works on this machine."""
    chosen: Opener = request.param
    return chosen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace, with a file and a folder beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("OUTSIDE")
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text("# 首周任务\nread the docs\n", encoding="utf-8")
    (root / "docs" / "a.txt").write_bytes(b"first\r\nsecond docs\r\n")
    return root


@pytest.fixture
def tools(root: Path, opener: Opener) -> Tools:
    """The functions of the standard file tools."""
    return functions(file_tools(root, open_beneath=opener))
