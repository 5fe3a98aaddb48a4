"""What several test files are given: the whole catalogue run once, clients of a server, a workspace and its tools."""

import fcntl
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compare.comparison import Comparison, compare_scenario
from compare.lanes import load_lanes
from compare.process import loopback_only
from compare.report import report, to_json
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
def whole_report(loopback: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report on every scenario of the catalogue, through the main job's lanes, in every mode that it has.

    It is made once: by the first of pytest-xdist's processes that needs it, for which the others wait.
    """
    folder = tmp_path_factory.getbasetemp()
    file = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "whole_report.json"
    with open(file, "a+", encoding="utf-8") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)
        shared.seek(0)
        text = shared.read()
        if not text:
            text = to_json(report(everything()))
            shared.write(text)
    made: dict[str, Any] = json.loads(text)
    return made


def everything() -> list[Comparison]:
    """The whole catalogue, compared."""
    lanes, scenarios = load_lanes("raw,lc,lc.sturdy"), [load(path) for path in catalogue()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outside of pytest, too, a warning of pydantic's is no crash of the lane
        return [compare_scenario(one, lanes, mode) for one in scenarios for mode in one.modes]


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


@pytest.fixture(params=["invoke", "ainvoke"])
def run_graph(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Invokes a graph, in both ways."""
    from tests.sturdy import event_loop  # here, because most tests can do without LangChain's import

    if request.param == "invoke":
        yield lambda graph, *given: graph.invoke(*given)
        return
    with event_loop() as run:
        yield run
