"""`python -m raw` and `python -m lc`: one lane at a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compare.replies import Delta, ScriptedStream
from protocol import STOP_REASONS
from tests.servers import bodies, calls, fails, says, serving
from toolbox.console import exit_status, printable


def lane(name: str, *arguments: str, **settings: str | None) -> subprocess.CompletedProcess[str]:
    """Run a lane's command with these settings in its environment."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    given = {"OPENAI_API_KEY": "sk-secret", "OPENAI_MODEL": "m", **settings}
    env = clean | {key: value for key, value in given.items() if value is not None}
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)


@pytest.mark.parametrize("name", ["raw", "lc"])
def test_the_answer_alone_is_on_standard_output(name: str, tmp_path: Path) -> None:
    """Progress goes to standard error, in rounds, calls and results."""
    (tmp_path / "a.txt").write_text("hello", encoding="utf-8")
    with serving(calls(("c1", "read_text_file", '{"path": "a.txt"}')), says("It says hello.")) as server:
        ran = lane(name, "read it", "--root", str(tmp_path), "--system", "be brief", OPENAI_BASE_URL=server.base_url)
        sent = bodies(server)
    assert (ran.returncode, ran.stdout) == (0, "It says hello.\n")
    marks = [line.split("]")[0] for line in ran.stderr.splitlines()]
    assert [mark for mark in marks if mark in ("[round 1", "[round 2", "[tool", "[result")] == [
        "[round 1",
        "[tool",
        "[result",
        "[round 2",
    ]
    assert '[tool] read_text_file({"path": "a.txt"})' in ran.stderr
    assert "hello" in ran.stderr
    assert (sent[0]["model"], sent[0]["messages"][0]) == ("m", {"role": "system", "content": "be brief"})


@pytest.mark.parametrize("name", ["raw", "lc"])
def test_the_exit_status_names_the_stop_reason(name: str) -> None:
    """The round limit has a status of its own, and is said on standard error."""
    with serving(*[calls((f"c{n}", "calculator", '{"expression": "1"}')) for n in range(2)]) as server:
        ran = lane(name, "go", "--max-rounds", "2", "--base-url", server.base_url)
    assert ran.returncode == exit_status("round-limit")
    assert ran.stdout == ""
    assert "[stop] round-limit: " in ran.stderr


def test_each_stop_reason_has_its_own_status() -> None:
    """0 is an answer, 1 and 2 are left to Python and to wrong usage."""
    statuses = {stop: exit_status(stop) for stop in STOP_REASONS}
    assert statuses["answer"] == 0
    assert len(set(statuses.values())) == len(statuses)
    assert not {1, 2} & set(statuses.values())


@pytest.mark.parametrize("name", ["raw", "lc"])
def test_what_the_server_says_about_an_error_is_shown(name: str) -> None:
    """A wrong key is explained in the server's words."""
    with serving(fails(401, "Incorrect API key")) as server:
        ran = lane(name, "hi", OPENAI_BASE_URL=server.base_url)
    assert ran.returncode == exit_status("http-error")
    assert "Incorrect API key" in ran.stderr
    assert "sk-secret" not in ran.stderr


@pytest.mark.parametrize(
    ("change", "mend"),
    [
        ({"OPENAI_API_KEY": None}, "OPENAI_API_KEY is not set"),
        ({"OPENAI_API_KEY": "sk-secret\n"}, "OPENAI_API_KEY holds a character"),
        ({"OPENAI_MODEL": None}, "OPENAI_MODEL is not set"),
        ({"OPENAI_BASE_URL": "localhost:8000"}, "must start with http://"),
        ({"OPENAI_BASE_URL": "http://"}, "must name a host"),
        ({"OPENAI_BASE_URL": "https:///v1"}, "must name a host"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:port/v1"}, "must name a host"),
        ({"OPENAI_BASE_URL": "http://[::1/v1"}, "must name a host"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(change: dict[str, str | None], mend: str) -> None:
    """No traceback, the variable's name, and status 2; the key is never shown."""
    ran = lane("raw", "hi", **change)
    assert ran.returncode == 2
    assert mend in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "sk-secret" not in ran.stderr


def test_a_lane_that_raises_is_one_line_too() -> None:
    """LangGraph's lane lets a tool's exception escape; the command says so and ends, with the status of that."""
    with serving(calls(("c1", "calculator", '{"expression": "1/0"}'))) as server:
        ran = lane("lc", "hi", OPENAI_BASE_URL=server.base_url)
    assert ran.returncode == exit_status("tool-error")
    assert "[error] ZeroDivisionError" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_no_control_character_reaches_the_terminal() -> None:
    """What a model or a file says cannot move the cursor or clear the screen."""
    assert printable("a\x1b[2J\u202eb\r") == "a\\x1b[2J\\u202eb\\r"
    with serving(calls(("c1", "calculator", '{"expression": "\x1b[2J"}')), says("ok")) as server:
        ran = lane("raw", "hi", OPENAI_BASE_URL=server.base_url)
    assert "\x1b" not in ran.stderr


def test_a_reply_may_take_as_long_as_one_says() -> None:
    """--timeout is in seconds, for one whole reply by hand; what comes later is not waited for."""
    late = ScriptedStream((Delta("{}", pause=5.0),))
    with serving(late) as server:
        ran = lane("raw", "hi", "--stream", "--timeout", "0.3", OPENAI_BASE_URL=server.base_url)
    assert ran.returncode == exit_status("deadline")
