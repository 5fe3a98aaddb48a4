"""Recordings made for tests: a scenario through lanes, written down."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compare.comparison import task_of
from compare.lanes import Lane, load_lanes
from compare.modes import PLAIN
from compare.recording.recorder import Recorder
from compare.replies import Scripted
from compare.runner import Run, Task, run_lane
from compare.scenario import find
from compare.server import Backend
from tests.servers import backend


def recorded(
    path: Path, name: str = "one-call", lanes: str | Sequence[Lane] = "raw", mode: str = PLAIN, keys: Sequence[str] = ()
) -> list[Run]:
    """Record a scenario of the catalogue; returns the runs as they were."""
    scenario = find(name)[0]
    chosen = load_lanes(lanes) if isinstance(lanes, str) else lanes
    task = task_of(scenario, mode)
    with Recorder(path, [scenario.prompt], [lane.name for lane in chosen], keys) as recorder:
        return [run_lane(lane, task, backend(*scenario.replies), recorder=recorder) for lane in chosen]


def record_replies(path: Path, *replies: Scripted, keys: Sequence[str] = (), **task: Any) -> Run:
    """Record the raw lane on some replies."""
    return record_backend(path, backend(*replies), keys, **task)


def record_backend(path: Path, answers: Backend, keys: Sequence[str] = (), **task: Any) -> Run:
    """Record the raw lane on a backend."""
    (lane,) = load_lanes("raw")
    asked = Task(**{"prompt": "What is 3*4?", "model": "m", **task})
    with Recorder(path, [asked.prompt], ["raw"], keys) as recorder:
        return run_lane(lane, asked, answers, recorder=recorder)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines as they stand in the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rewrite(path: Path, lines: Sequence[Any]) -> None:
    """Write other lines into the file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
