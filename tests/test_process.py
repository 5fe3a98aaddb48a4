"""However a command is started and ended, its exit code and its output are right."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

DIPTYCH = (sys.executable, "-m", "compare")
SCENARIO = """
title = "A sum"
teaches = "A sum is asked for and answered."
prompt = "计算 3*4"
[[reply]]
tool_calls = [{ id = "call_1", name = "calculator", arguments = '{"expression":"3*4"}' }]
[[reply]]
content = "12 总"
"""
ENDLESS = """
import raw
def run(*given, **named):
    print("begun", flush=True)
    while True:
        raw.run(*given, **named)
"""
PRINTING = """
import raw
def run(*given, **named):
    print("this is no JSON")
    return raw.run(*given, **named)
"""
MARKING = """
import pathlib
pathlib.Path("ran").write_text("")
from raw import run
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario and some lanes, and an empty one for temporary files."""
    (tmp_path / "sum.toml").write_text(SCENARIO, encoding="utf-8")
    for name, text in {"endless": ENDLESS, "printing": PRINTING, "marking": MARKING}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    return tmp_path


def start(folder: Path, *arguments: str, **env: str) -> "subprocess.Popen[str]":
    """Start a command in the folder."""
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), **env}
    pipe = subprocess.PIPE
    return subprocess.Popen([*DIPTYCH, *arguments], stdout=pipe, stderr=pipe, text=True, cwd=folder, env=environment)


def ran(folder: Path, command: Sequence[str], **env: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in the folder to its end."""
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), **env}
    return subprocess.run(command, capture_output=True, check=False, timeout=120, cwd=folder, env=environment)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_ends_with_130_and_leaves_nothing(folder: Path, sign: signal.Signals) -> None:
    """Each time, with a lane in the middle of its work: one line, no traceback, no folder left behind."""
    running = [start(folder, "sum.toml", "--lanes", "endless") for _ in range(4)]
    ends = []
    for process in running:
        with process:
            assert process.stderr is not None
            begun = process.stderr.readline()
            process.send_signal(sign)
            ends.append((begun, *process.communicate(timeout=30), process.returncode))
    assert [("begun\n", "", "diptych: interrupted\n", 130)] * 4 == ends
    assert [] == list((folder / "tmp").iterdir())


def test_a_closed_output_is_no_fault(folder: Path) -> None:
    """Python has no standard output then; the exit code is that of the run."""
    command = (*DIPTYCH, "sum.toml", "--lanes", "raw")
    result = ran(folder, ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command])
    assert (0, b"") == (result.returncode, result.stderr)


@pytest.mark.parametrize("scenario", ["no-such-scenario", "--no-such-option"])
def test_an_error_that_cannot_be_told_still_has_its_exit_code(folder: Path, scenario: str) -> None:
    """Standard error may be closed, or its disk be full."""
    for redirection in ("2>&-", "2>/dev/full"):
        result = ran(folder, ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *DIPTYCH, scenario])
        assert 2 == result.returncode


def test_a_pipe_that_nobody_reads_is_no_fault(folder: Path) -> None:
    """As with `| head -1`, whose end may come before the report does."""
    reading, writing = os.pipe()
    os.close(reading)
    command = (*DIPTYCH, "sum.toml", "--lanes", "raw")
    with open(writing, "wb") as pipe:
        result = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False, timeout=60, cwd=folder)
    assert (0, b"") == (result.returncode, result.stderr)


def test_a_lane_that_prints_does_not_spoil_the_report(folder: Path) -> None:
    """What it prints goes to standard error."""
    result = ran(folder, (*DIPTYCH, "sum.toml", "--lanes", "printing", "--json", "-"))
    assert ["printing"] == json.loads(result.stdout)["lanes"]
    assert b"this is no JSON\n" == result.stderr


def test_a_report_that_cannot_be_written_is_found_out_before_anything_runs(folder: Path) -> None:
    """Not even the lane's module is loaded."""
    result = ran(folder, (*DIPTYCH, "sum.toml", "--lanes", "marking", "--json", "no/folder/report.json"))
    assert (2, 1) == (result.returncode, len(result.stderr.splitlines()))
    assert not (folder / "ran").exists()


def test_a_report_on_standard_output_is_in_utf_8_whatever_the_terminal_speaks(folder: Path) -> None:
    """JSON is UTF-8."""
    result = ran(folder, (*DIPTYCH, "sum.toml", "--lanes", "raw", "--json", "-"), PYTHONIOENCODING="latin-1")
    assert (0, b"") == (result.returncode, result.stderr)
    assert "计算 3*4" == json.loads(result.stdout.decode())["comparisons"][0]["prompt"]


def test_the_environment_of_the_user_changes_nothing(folder: Path) -> None:
    """Proxies, tracing, certificates and an organisation are for other work than ours."""
    nowhere = "http://127.0.0.1:9"
    foreign = {
        "HTTP_PROXY": nowhere,
        "https_proxy": nowhere,
        "ALL_PROXY": nowhere,
        "LANGCHAIN_TRACING": "true",
        "LANGCHAIN_TRACING_V2": "true",
        "LANGSMITH_ENDPOINT": nowhere,
        "LANGSMITH_API_KEY": "k",
        "SSL_CERT_FILE": "/no/such/file",
        "OPENAI_ORG_ID": "org-x",
        "OPENAI_BASE_URL": nowhere,
    }
    reports = []
    for environment in ({}, foreign):
        result = ran(folder, (*DIPTYCH, "sum.toml", "--json", "-"), **environment)
        assert b"" == result.stderr
        reports.append({key: value for key, value in json.loads(result.stdout).items() if key != "volatile"})
    assert reports[0] == reports[1]
