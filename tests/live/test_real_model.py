"""Both lanes against a real model, in both modes: recorded, replayed, and judged by what must hold whatever it says."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

KEY = os.environ.get("DIPTYCH_LIVE_API_KEY", "sk-live-test-canary-0123456789")
PROMPTS = (
    "What is 17 * 23 + 9? Use the calculator.",
    "Which file is in this folder? Read notes.txt and tell me what it says.",
    "What is 144 / 12? Use the calculator.",
    "Say hello.",
)


def diptych(base_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command against the model."""
    settings = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": base_url}
    env = {**os.environ, **settings, "OPENAI_MODEL": os.environ.get("DIPTYCH_LIVE_MODEL", "local-llm")}
    command = [sys.executable, "-m", "compare", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, env=env, check=False)


@pytest.fixture(scope="module")
def folder(base_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report of one live run, its recording, and the report of its replay."""
    folder = tmp_path_factory.mktemp("live")
    workspace = 'title = "A file"\nteaches = "A file."\n[workspace]\n"notes.txt" = "The budget is 40 euros.\\n"\n'
    files = []
    for number, prompt in enumerate(PROMPTS, start=1):
        files.append(str(folder / f"prompt-{number}.toml"))
        Path(files[-1]).write_text(f"prompt = {json.dumps(prompt)}\n{workspace}", encoding="utf-8")
    recording, report = str(folder / "recording.jsonl"), str(folder / "report.json")
    started = time.monotonic()
    live = diptych(base_url, "run", "--live", *files, "--both", "--record", recording, "--json", report)
    seconds = time.monotonic() - started
    assert 0 == live.returncode, live.stderr
    replayed = diptych("http://127.0.0.1:9/v1", "replay", recording, "--json", str(folder / "replay.json"))
    (folder / "ended.json").write_text(json.dumps([seconds, replayed.returncode, replayed.stdout + replayed.stderr]))
    (folder / "said.txt").write_text(live.stdout + live.stderr, encoding="utf-8")
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def lanes_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Each lane of each comparison."""
    return [lane for one in report["comparisons"] for lane in one["lanes"]]


def test_each_lane_ends_for_a_reason_that_the_wire_shows(folder: Path) -> None:
    """What it claims is what was observed, in both modes, and the model's own reasons are those of the protocol."""
    report = read(folder / "report.json")
    assert {"plain", "stream"} == {one["mode"] for one in report["comparisons"]}
    for lane in lanes_of(report):
        assert lane["stop"]["observed"] in ("answer", "round-limit", "unanswered-calls", "empty-answer", "cut-off")
        assert lane["stop"]["claimed"] == lane["stop"]["observed"]
        assert set(lane["stop"]["model"]) <= {"stop", "tool_calls", "length"}


def test_each_call_has_its_result(folder: Path) -> None:
    """Every call of a round that went on is answered once, under its id."""
    lanes = lanes_of(read(folder / "report.json"))
    assert any(lane["calls"] for lane in lanes)
    for lane in lanes:
        for call in lane["calls"]:
            assert call["round"] == lane["requests"] or len(call["answered_by"]) == 1
            assert call["id"] == call["sent_id"] or call["round"] == lane["requests"]


def test_the_second_lane_costs_nothing_before_it_parts(folder: Path) -> None:
    """Each of its requests got a shared reply or stands behind a fork."""
    for one in read(folder / "report.json")["comparisons"]:
        first, second = one["live"]["lanes"]
        asked = one["lanes"][1]["attempts"]
        assert first["fork"] is None
        assert first["requests"] >= 1
        assert asked == second["requests"] + second["shared"]
        assert second["fork"] is not None or second["requests"] == 0


def test_the_replay_agrees(folder: Path) -> None:
    """Without the endpoint: the same stop reasons, and no request that was not recorded."""
    _, code, said = read(folder / "ended.json")
    assert 0 == code, said
    live, replayed = read(folder / "report.json"), read(folder / "replay.json")
    stops = [[lane["stop"]["observed"] for lane in lanes_of(report)] for report in (live, replayed)]
    assert stops[0] == stops[1]


def test_the_key_is_in_nothing_that_was_written(folder: Path) -> None:
    """Not in the report, the recording, or on the terminal."""
    for path in folder.iterdir():
        assert KEY not in path.read_text(encoding="utf-8"), path


def test_what_it_cost_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And printed here, for the note of whoever runs this."""
    report = read(folder / "report.json")
    lives = [lane for one in report["comparisons"] for lane in one["live"]["lanes"]]
    total = {key: sum(lane[key] for lane in lives) for key in ("requests", "shared")}
    tokens = {kind: sum(lane["tokens"][kind] for lane in lives) for kind in ("prompt", "completion", "untold")}
    forks = sum(lane["fork"] is not None for lane in lives)
    assert total["requests"] >= 2 * len(PROMPTS)
    assert tokens["prompt"] > 0
    seconds, _, _ = read(folder / "ended.json")
    with capsys.disabled():
        print(f"\nlive: {total}, tokens {tokens}, {forks} forks, {seconds:.0f} s")  # noqa: T201
