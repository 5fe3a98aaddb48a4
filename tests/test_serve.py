"""A scenario served to any client: it is told where, and when interrupted comes the report on what the client did."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from compare.replies import ScriptedMessage
from compare.scenario import CATALOGUE_FOLDER, ScenarioError, load
from compare.serve import one_of, tools_called, tools_line
from compare.server import ModelServer

HELLO = """\
title = "Hello"
teaches = "A greeting is answered."
prompt = "Hello"
[[reply]]
content = "Hello, too."
[expect]
stop = "answer"
"""


@contextmanager
def served(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`python -m compare serve` with these arguments, in a process of its own."""
    command = [sys.executable, "-m", "compare", "serve", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "", "NO_COLOR": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def told(process: "subprocess.Popen[str]") -> dict[str, str]:
    """What the process says to point a client at, once it has said all of it."""
    said: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Point your client there"):
            return said
        name, sign, value = line.rstrip("\n").partition("=")
        if sign:
            said[name] = value
    raise AssertionError(process.stderr and process.stderr.read())


def serve_to(
    client: Callable[[Callable[[list[Any]], Any]], object], name: str, report: Path, stop: int = signal.SIGINT
) -> tuple[int, Any]:
    """The exit code and the one comparison of the report, behind what this client did; it can ask the model."""
    with served(name, "--json", str(report)) as process:
        said = told(process)
        key = {"Authorization": f"Bearer {said['OPENAI_API_KEY']}"}
        with httpx.Client(base_url=said["OPENAI_BASE_URL"], headers=key) as http:

            def ask(messages: list[Any]) -> Any:
                response = http.post("chat/completions", json={"model": said["OPENAI_MODEL"], "messages": messages})
                return response.json().get("choices", [{"message": None}])[0]["message"]

            client(ask)
            process.send_signal(stop)
            _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors
    (comparison,) = json.loads(report.read_text())["comparisons"]
    return process.returncode, comparison


def faithful(ask: Callable[[list[Any]], Any]) -> None:
    """Answer the call of the scenario one-call as its workspace demands, and ask again."""
    messages: list[Any] = [{"role": "user", "content": "计算 (17 * 23) + 9"}]
    message = ask(messages)
    (call,) = message["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": '{"ok": true, "result": 400}'}
    assert ask([*messages, message, result])["content"]


def loses_the_call(ask: Callable[[list[Any]], Any]) -> None:
    """Send the conversation back without the call that the result answers."""
    messages: list[Any] = [{"role": "user", "content": "计算 (17 * 23) + 9"}]
    message = ask(messages)
    (call,) = message.pop("tool_calls")
    ask([*messages, message, {"role": "tool", "tool_call_id": call["id"], "content": "400"}])


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_faithful_client_is_reported_as_expected(tmp_path: Path, stop: signal.Signals) -> None:
    """Two requests, the call answered, nothing found; the interrupt is no failure."""
    code, comparison = serve_to(faithful, "one-call", tmp_path / "report.json", stop)
    (lane,) = comparison["lanes"]
    assert (0, True, 2) == (code, comparison["as_expected"], lane["requests"])
    assert ("one-call", "answer", []) == (comparison["name"], lane["stop"]["observed"], lane["surprises"])
    assert [["messages[2]"]] == [call["answered_by"] for call in lane["calls"]]


def test_a_client_that_loses_a_call_is_found_out(tmp_path: Path) -> None:
    """The report names what is lost, and the exit code says that it is not as expected."""
    code, comparison = serve_to(loses_the_call, "one-call", tmp_path / "report.json")
    (lane,) = comparison["lanes"]
    assert (1, False) == (code, comparison["as_expected"])
    assert {"serious"} <= {finding["severity"] for finding in lane["findings"]}
    assert any("messages[1]" in finding["path"] for finding in lane["findings"])


def test_a_client_that_never_comes_leaves_the_replies_unused(tmp_path: Path) -> None:
    """There is a report all the same."""
    code, comparison = serve_to(lambda ask: None, "one-call", tmp_path / "report.json")
    (lane,) = comparison["lanes"]
    assert (1, 0) == (code, lane["requests"])
    assert ["unused-reply"] * 2 == [finding["class"] for finding in lane["findings"]]


def test_a_request_beyond_the_script_is_a_finding(tmp_path: Path) -> None:
    """The client gets an error, and the report the request."""
    (tmp_path / "hello.toml").write_text(HELLO)

    def greets_twice(ask: Callable[[list[Any]], Any]) -> None:
        messages: list[Any] = [{"role": "user", "content": "Hello"}]
        message = ask(messages)
        assert message["content"] == "Hello, too."
        assert ask([*messages, message, *messages]) is None

    code, comparison = serve_to(greets_twice, str(tmp_path / "hello.toml"), tmp_path / "report.json")
    assert 1 == code
    assert "beyond-script" in [finding["class"] for finding in comparison["lanes"][0]["findings"]]


def test_the_demo_model_is_served(tmp_path: Path) -> None:
    """It answers any prompt, and there is nothing that it expects."""

    def chats(ask: Callable[[list[Any]], Any]) -> None:
        assert ask([{"role": "user", "content": "Hello"}])["content"]

    code, comparison = serve_to(chats, "demo", tmp_path / "report.json")
    assert (0, "demo", 1) == (code, comparison["name"], comparison["lanes"][0]["requests"])


@pytest.mark.parametrize("port", ["taken", "wrong"])
def test_a_port_that_is_not_to_be_had_is_one_line(port: str) -> None:
    """On standard error, with exit code 2 and no report."""

    def nobody(request: object) -> Any:
        raise AssertionError("nobody asks")

    with ModelServer(nobody) as server:
        number = str(server.port) if port == "taken" else "70000"
        with served("one-call", "--port", number) as process:
            output, errors = process.communicate(timeout=20)
    assert (2, "") == (process.returncode, output)
    if port == "taken":
        assert 1 == len(errors.splitlines())
        assert f"port {number} is not to be had: Address already in use; choose another" in errors


def test_a_scenario_that_is_not_there_is_refused() -> None:
    """In the same way as everywhere."""
    with served("no-such-scenario") as process:
        output, errors = process.communicate(timeout=20)
    assert (2, "", 1) == (process.returncode, output, len(errors.splitlines()))
    assert "no scenario of the catalogue" in errors


def test_one_scenario_is_served_at_a_time(tmp_path: Path) -> None:
    """A folder with one will do; a folder with several is refused, naming some."""
    (tmp_path / "hello.toml").write_text(HELLO)
    assert load(tmp_path / "hello.toml") == one_of(str(tmp_path))
    assert isinstance(one_of(str(tmp_path)).replies[0], ScriptedMessage)
    (tmp_path / "again.toml").write_text(HELLO)
    with pytest.raises(ScenarioError, match="holds 2 scenarios, but one is served at a time; name one: again, hello"):
        one_of(str(tmp_path))


def test_conversations_are_judged_as_lanes_side_by_side(tmp_path: Path) -> None:
    """Each has the whole script for itself, and is measured by what is expected of any client."""

    def one_good_one_bad(ask: Callable[[list[Any]], Any]) -> None:
        faithful(ask)
        loses_the_call(ask)

    code, comparison = serve_to(one_good_one_bad, "one-call", tmp_path / "report.json")
    good, bad = comparison["lanes"]
    assert (1, ["client", "client 2"]) == (code, [good["name"], bad["name"]])
    assert ([], 2, 2) == (good["surprises"], good["requests"], bad["requests"])
    assert "serious" in {finding["severity"] for finding in bad["findings"]}


def test_what_is_to_be_offered_is_said_first_and_each_request_while_it_comes(tmp_path: Path) -> None:
    """The tools before anything is asked; a line on each request, also on those that were not for the model."""
    (tmp_path / "hello.toml").write_text(HELLO)
    for name, tools in (("one-call", "so your client must offer them: calculator"), (str(tmp_path), "call none")):
        with served(name) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            said = [process.stdout.readline().rstrip("\n") for _ in range(5)]
            assert tools in said[4]
            address, message = said[0].partition("=")[2], {"role": "user", "content": "Hello"}
            with httpx.Client(base_url=address) as http:
                for path in ("models", *["chat/completions"] * 2):
                    http.post(path, json={"model": "m", "messages": [message]})
            total = 2 if name == "one-call" else 1
            expected = [
                "POST /v1/models: HTTP 404",
                f"POST /v1/chat/completions: reply 1 of {total}",
                f"POST /v1/chat/completions: reply 1 of {total} (client 2)",
            ]
            assert expected == [process.stderr.readline().rstrip("\n") for _ in expected]


def test_tools_of_nobody_known_are_named_apart() -> None:
    """A scenario may call one that does not exist, on purpose."""
    called = tools_called(load(CATALOGUE_FOLDER / "unknown-tool.toml"))
    assert 1 == len(called)
    assert f"{called[0]}: only if you have it" in tools_line(called)
    assert ["calculator"] == tools_called(load(CATALOGUE_FOLDER / "one-call.toml"))
