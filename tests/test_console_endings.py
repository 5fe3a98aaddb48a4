"""`python -m raw` and `python -m lc` end in one line, however they end."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from compare.replies import Sending
from tests.servers import bodies, calls, says, serving
from toolbox.console import exit_status


def command(name: str, base_url: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """A lane's command line, and its environment."""
    settings = {"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m", "OPENAI_BASE_URL": base_url}
    return [sys.executable, "-m", name, "hi", *arguments], {**os.environ, **settings}


@pytest.mark.parametrize("name", ["raw", "lc"])
def test_an_interrupt_is_one_line_and_130(name: str) -> None:
    """Also in the middle of a reply that does not come."""
    stalled = replace(says("never"), sending=Sending(cut=1, ending="stall"))
    with serving(stalled) as server:
        line, environment = command(name, server.base_url, "--stream")
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as ran:
            until = time.monotonic() + 30
            while not server.exchanges and time.monotonic() < until:
                time.sleep(0.02)
            ran.send_signal(signal.SIGINT)
            output, errors = ran.communicate(timeout=30)
    assert (130, "") == (ran.returncode, output)
    assert ["interrupted"] == [one for one in errors.splitlines() if not one.startswith("[round ")]


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_an_answer_that_cannot_be_written_is_one_line_and_1(redirection: str) -> None:
    """A full disk and a closed output end without a traceback."""
    with serving(says("an answer")) as server:
        line, environment = command("raw", server.base_url)
        shell = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *line]
        ran = subprocess.run(shell, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert 1 == ran.returncode
    (told,) = [one for one in ran.stderr.splitlines() if not one.startswith("[round ")]
    assert told.startswith("the output cannot be written: ")


@pytest.mark.parametrize("name", ["raw", "lc"])
def test_with_stream_the_reply_is_asked_for_as_a_stream(name: str) -> None:
    """And is read as one."""
    with serving(says("An answer in pieces.")) as server:
        line, environment = command(name, server.base_url, "--stream")
        ran = subprocess.run(line, capture_output=True, text=True, env=environment, check=False, timeout=60)
        sent = bodies(server)
    assert (0, "An answer in pieces.\n") == (ran.returncode, ran.stdout)
    assert [True] == [body["stream"] for body in sent]


def test_a_lane_that_raises_of_itself_has_crashed() -> None:
    """Arguments that are no object break LangGraph's lane before any tool runs."""
    with serving(calls(("c1", "calculator", "[1]"))) as server:
        line, environment = command("lc", server.base_url)
        ran = subprocess.run(line, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert exit_status("crash") == ran.returncode
    assert "Traceback" not in ran.stderr
