"""A recording as a test: it replays, and asserts of each lane how that ends."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from compare.recording.load import Recording
from compare.recording.replay import Replay

TEXT = '''"""Replays the recording beside this file, and asserts what comes of it; made by `diptych export --pytest`."""

from pathlib import Path

import pytest

from compare.lanes import load_lane
from compare.process import loopback_only
from compare.recording.load import load
from compare.recording.replay import prompts_of, replay_prompt

RECORDING = Path(__file__).with_name({recording!r})
EXPECTED = {expected}
"""By lane and the number of the prompt: the stop reason, the requests without a match, and those not sent."""


@pytest.mark.parametrize(("lane", "prompt"), EXPECTED)
def test_a_replay_ends_as_it_did(lane: str, prompt: int) -> None:
    """The lane sends what was recorded, and ends as it did when this file was written."""
    task, recorded = prompts_of(load(RECORDING))[prompt]
    with loopback_only():
        _, (replay,) = replay_prompt(task, recorded, [load_lane(lane)])
    assert EXPECTED[lane, prompt] == (replay.observed, [miss.request for miss in replay.misses], replay.unused)
'''


def write_test(recording: Recording, replays: Sequence[Sequence[Replay]], out: Path) -> Path:
    """Write the test, and the recording beside it; returns where that is. `replays` are those of each prompt."""
    beside = out.with_suffix(".jsonl")
    if beside.resolve() != recording.path.resolve():
        shutil.copyfile(recording.path, beside)
    lines = [
        f"    {(one.lane, prompt)!r}: {(one.observed, [miss.request for miss in one.misses], one.unused)!r},"
        for prompt, of_lanes in enumerate(replays)
        for one in of_lanes
    ]
    expected = "\n".join(["{", *lines, "}"])
    out.write_text(TEXT.format(recording=beside.name, expected=expected), encoding="utf-8")
    return beside
