"""A live run at the command line."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compare.backends import demo_model
from compare.replies import Scripted, ScriptedBody, ScriptedStream, Sending
from compare.scenario import CATALOGUE_FOLDER
from compare.server import ModelServer
from tests.live_servers import KEY, endpoint
from tests.servers import backend, calls, fails, says, serving

SCHEMA = json.loads((CATALOGUE_FOLDER.parent / "report.schema.json").read_text(encoding="utf-8"))
ANSWER = '{"choices":[{"index":0,"message":{"role":"assistant","content":"1"},"finish_reason":"stop"}]}'
UNKNOWN = fails(401, f"Incorrect API key provided: {KEY}")
CALLS = calls(("c1", "calculator", '{"expression":"1+1"}'))
COMMAND = [sys.executable, "-m", "compare"]


def environment(base_url: str, **more: str) -> dict[str, str]:
    """What a user exports for a live run."""
    settings = {"OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m", "OPENAI_BASE_URL": base_url}
    return {key: value for key, value in {**os.environ, **settings, **more}.items() if value != "(unset)"}


def diptych(base_url: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command against an endpoint."""
    env = environment(base_url, **env)
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, env=env, check=False)


def test_ask_goes_to_the_endpoint_and_tells_what_it_cost() -> None:
    """One reply serves both lanes; the cost of each is told, and the report has the form of its schema."""
    with ModelServer(demo_model) as server:
        ran = diptych(server.base_url, "ask", "--live", "What is 3*4?", "--json", "-")
        told = diptych(server.base_url, "ask", "--live", "What is 3*4?", "--stream")
    data = json.loads(ran.stdout)
    jsonschema.validate(data, SCHEMA)
    assert (0, "") == (ran.returncode, ran.stderr)
    assert [(2, 0), (0, 2)] == [(lane["requests"], lane["shared"]) for lane in data["comparisons"][0]["live"]["lanes"]]
    assert 4 == len(server.exchanges)
    assert f"Live, against 127.0.0.1:{server.port}" in told.stdout
    assert "raw  2 requests, 0 + 0 tokens" in told.stdout
    assert "lc  0 requests, 0 + 0 tokens, 2 replies shared" in told.stdout
    assert "in lockstep to its end (tool-wording" in " ".join(told.stdout.split())


def test_run_takes_a_file_of_prompts_in_both_modes(tmp_path: Path) -> None:
    """And adds up what all of them cost."""
    (tmp_path / "mine.txt").write_text("What is 1+1?\nWhat is 2*3?\n", encoding="utf-8")
    with ModelServer(demo_model) as server:
        ran = diptych(server.base_url, "run", "--live", str(tmp_path / "mine.txt"), "--both")
    assert 0 == ran.returncode
    assert 8 == len(server.exchanges)
    assert "Live, all prompts together" in ran.stdout
    assert "raw  8 requests, 0 + 0 tokens" in ran.stdout
    assert "4 comparisons: 0 same, 4 equivalent" in ran.stdout


def test_the_place_where_a_lane_parts_is_shown() -> None:
    """With its JSON path and both values; a run with forks is a run that went well."""
    reasoning = calls(("c1", "calculator", '{"expression":"3*4"}'), reasoning_content="a product")
    with endpoint(reasoning, says("12"), says("12")) as (server, _):
        ran = diptych(server.base_url, "ask", "--live", "What is 3*4?")
    assert 0 == ran.returncode
    assert "parts at request 2: it means another thing than that of raw" in ran.stdout
    assert 'messages[1].reasoning_content  lost-field  "a product" → nothing' in ran.stdout


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"OPENAI_API_KEY": "(unset)"}, "OPENAI_API_KEY is not set: export it"),
        ({"OPENAI_API_KEY": "two\nlines"}, "OPENAI_API_KEY holds a character that no key has"),
        ({"OPENAI_MODEL": "(unset)"}, "OPENAI_MODEL is not set: export it"),
        ({"OPENAI_BASE_URL": "127.0.0.1:1"}, "must start with http:// or https://"),
        ({"OPENAI_BASE_URL": "http://u:p@127.0.0.1:1/v1"}, "may hold no password, query or fragment"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_in_a_line(env: dict[str, str], said: str) -> None:
    """Before anything runs, with the variable and the mend."""
    ran = diptych("http://127.0.0.1:1/v1", "ask", "--live", "hi", **env)
    assert (2, "", 1) == (ran.returncode, ran.stdout, len(ran.stderr.splitlines()))
    assert said in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--live"), "a live run costs money: name its prompts"),
        (("run", "--live", "nothing.txt"), "nothing.txt"),
        (("ask", "hi", "--max-requests", "3"), "--max-requests is for a live run; add --live"),
        (("ask", "hi", "--live", "--profile", "openai"), "leave one out"),
    ],
)
def test_usage_that_makes_no_sense_is_refused(arguments: tuple[str, ...], said: str) -> None:
    """With what to do."""
    ran = diptych("http://127.0.0.1:1/v1", *arguments)
    assert 2 == ran.returncode
    assert said in ran.stderr


@pytest.mark.parametrize("replies", [[UNKNOWN, UNKNOWN], [CALLS, fails(500), CALLS, fails(500)]])
def test_an_endpoint_that_does_not_answer_ends_with_3(replies: list[Scripted]) -> None:
    """The report is there all the same, and nothing of what was written has the key."""
    with endpoint(*replies) as (server, _):
        ran = diptych(server.base_url, "ask", "--live", "hi", "--lanes", "raw")
        written = diptych(server.base_url, "ask", "--live", "hi", "--lanes", "raw", "--json", "-")
    assert 3 == ran.returncode
    assert "diptych: ask, lane raw: the endpoint gave no whole answer (http-error)" in ran.stderr
    assert "Live, against" in ran.stdout
    assert KEY not in ran.stdout + ran.stderr + written.stdout + written.stderr


def test_the_limit_of_requests_ends_with_3_and_says_so() -> None:
    """In the report, and on standard error."""
    with endpoint(CALLS, says("2")) as (server, _):
        ran = diptych(server.base_url, "ask", "--live", "hi", "--max-requests", "1")
    assert (3, 1) == (ran.returncode, len(server.exchanges))
    assert "diptych: the limit of 1 request for one prompt is reached; --max-requests sets another" in ran.stderr
    assert "the limit of 1 request was reached" in ran.stdout


def test_a_command_that_is_a_lane_gets_a_dummy_for_a_key(tmp_path: Path) -> None:
    """And an address on loopback: nothing in its environment is the user's."""
    spy = f"spy=cmd:sh -c 'env > {tmp_path / 'env.txt'}'"
    with endpoint(says("1")) as (server, _):
        diptych(server.base_url, "ask", "--live", "hi", "--lanes", "raw", "--lane", spy)
    seen = (tmp_path / "env.txt").read_text(encoding="utf-8")
    assert KEY not in seen
    assert server.base_url not in seen
    assert "OPENAI_API_KEY=sk-diptych-loopback" in seen


def test_a_live_run_can_be_recorded_and_replayed(tmp_path: Path) -> None:
    """The replay asks nobody, and both lanes end as they did; the file has no key."""
    file = tmp_path / "recording.jsonl"
    with endpoint(CALLS, says(f"your key is {KEY}")) as (server, _):
        ran = diptych(server.base_url, "ask", "--live", "What is 3*4?", "--stream", "--record", str(file))
    replayed = diptych("http://127.0.0.1:9/v1", "replay", str(file))
    assert (0, 0) == (ran.returncode, replayed.returncode)
    assert KEY not in file.read_text(encoding="utf-8") + ran.stdout + replayed.stdout


def interrupted(ran: "subprocess.Popen[str]", server: ModelServer, requests: int) -> tuple[str, str]:
    """What a run writes that is interrupted when the endpoint has so many requests."""
    until = time.monotonic() + 60
    while len(server.exchanges) < requests and time.monotonic() < until:
        time.sleep(0.02)
    ran.send_signal(signal.SIGINT)
    return ran.communicate(timeout=30)


def test_an_interruption_keeps_all_that_was_done(tmp_path: Path) -> None:
    """The first prompt whole; of the second, what its first lane had got; nothing of the third."""
    (tmp_path / "mine.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    stalled = ScriptedStream((), sending=Sending(ending="stall"))
    answer = backend(says("1"), CALLS, stalled)
    files = [str(tmp_path / "mine.txt"), "--json", str(tmp_path / "report.json")]
    command = [*COMMAND, "run", "--live", "--stream", *files]
    with ModelServer(answer) as server:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=environment(server.base_url), **pipes) as ran:
            _, err = interrupted(ran, server, 3)
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert 130 == ran.returncode
    assert "diptych: interrupted: 1 of 3 comparisons are whole; the report has all that was done" in err
    one, two = data["comparisons"]
    assert [False, True] == [one["live"]["interrupted"], two["live"]["interrupted"]]
    assert [2, 0] == [lane["requests"] for lane in two["lanes"]]
    assert "interrupted" in two["lanes"][0]["raised"]
    assert "interrupted before it began" in two["lanes"][1]["raised"]


def test_a_terminal_shows_how_far_it_is(tmp_path: Path) -> None:
    """Runs done, the time left, and the request that is waited for."""
    (tmp_path / "mine.txt").write_text("one\ntwo\n", encoding="utf-8")
    mine, theirs = pty.openpty()
    with serving(ScriptedBody(200, (), ANSWER, Sending(drip=1.2)), says("1")) as server:
        command = [*COMMAND, "run", "--live", str(tmp_path / "mine.txt"), "--lanes", "raw"]
        env = environment(server.base_url, TERM="xterm")
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(mine, 65536)
        except OSError:  # the other side is closed, and all is read
            break
        if not data:
            break
        shown += data
    os.close(mine)
    assert b"raw: request 1" in shown
    assert b"50%" in shown
    assert b"00:00:0" in shown
