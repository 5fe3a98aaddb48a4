"""LangGraph's own development server starts the graph by langgraph.json, and drives it over its HTTP API."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from compare.backends import script
from compare.replies import Scripted
from compare.server import ModelServer
from lc.sturdy.limits import Limits
from tests.servers import bodies, calls, results, says

CONFIG = Path(__file__).parent.parent / "langgraph.json"
PATIENCE = 120.0
WRITE = '{"path": "a.txt", "text": "new"}'
STREAM_MODES = ["messages-tuple", "custom", "updates"]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("langgraph_api") is None,
    reason="the development server is not installed: pip install 'langgraph-cli[inmem]'",
)


@dataclass
class Running:
    """The development server, and the folder that its tools see."""

    client: httpx.Client
    root: Path
    replies: list[Scripted]
    model: ModelServer

    def thread(self, *replies: Scripted) -> str:
        """A new thread; the model will give these replies."""
        self.replies.extend(replies)
        made = self.client.post("/threads", json={})
        return str(made.raise_for_status().json()["thread_id"])

    def wait(self, thread: str, **body: Any) -> Any:
        """Run to the end; the state."""
        answer = self.client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "sturdy", **body})
        return answer.raise_for_status().json()

    def stream(self, thread: str, **body: Any) -> list[tuple[str, Any]]:
        """Run to the end; the events as they came, each with its data."""
        body = {"assistant_id": "sturdy", "stream_mode": STREAM_MODES, **body}
        answer = self.client.post(f"/threads/{thread}/runs/stream", json=body)
        events = [dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
                  for block in answer.raise_for_status().text.replace("\r\n", "\n").split("\n\n")]  # fmt: skip
        return [(event["event"], json.loads(event["data"])) for event in events if "data" in event]


def asking(text: str) -> dict[str, Any]:
    """The part of a run's body that begins a turn."""
    return {"input": {"messages": [{"role": "user", "content": text}]}}


def environment(model: ModelServer, root: Path, journal: Path) -> dict[str, str]:
    """The settings of the graph; and of the server those that keep it from calling home."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "LANG", "DIPTYCH_"))}
    graph = {"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m", "OPENAI_BASE_URL": model.base_url}
    graph |= {"DIPTYCH_ROOT": str(root), "DIPTYCH_JOURNAL": str(journal)}
    quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
    return clean | graph | quiet


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until_ready(client: httpx.Client, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return when the server answers."""
    end = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < end, log.read_text(encoding="utf-8")
        try:
            client.get("/ok").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The server, started once: it takes seconds. It keeps its own files in the folder where it is started."""
    home = tmp_path_factory.mktemp("server")
    root = home / "root"
    root.mkdir()
    replies: list[Scripted] = []
    port, log = free_port(), home / "log"
    start = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(CONFIG)]
    quietly = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    with (
        ModelServer(script(replies, "m")) as model,
        log.open("wb") as out,
        closing(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)) as client,
    ):
        process = subprocess.Popen(
            [*start, *quietly], env=environment(model, root, home / "journal.sqlite"), stdout=out, stderr=out, cwd=home
        )
        try:
            wait_until_ready(client, process, log)
            yield Running(client, root, replies, model)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            finally:
                process.kill()
                process.wait()


def test_the_server_offers_the_graph(running: Running) -> None:
    """It is listed under the name that langgraph.json gives it, with the channels of its state."""
    (found,) = running.client.post("/assistants/search", json={}).raise_for_status().json()
    assert found["graph_id"] == "sturdy"
    schemas = running.client.get(f"/assistants/{found['assistant_id']}/schemas").raise_for_status().json()
    assert {"messages", "used", "stop"} <= set(schemas["state_schema"]["properties"])


def test_a_thread_of_the_server_is_a_conversation(running: Running) -> None:
    """The server's own memory carries the history from run to run, as the model sent it."""
    thread = running.thread(says("one", reasoning_content="hm"), says("two"))
    first = running.wait(thread, **asking("a"))
    second = running.wait(thread, **asking("b"))
    assert ("answer", "answer") == (first["stop"], second["stop"])
    assert [message["content"] for message in second["messages"]] == ["a", "one", "b", "two"]
    assert bodies(running.model)[-1]["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "one", "reasoning_content": "hm"},
        {"role": "user", "content": "b"},
    ]


def test_words_and_tools_are_streamed(running: Running) -> None:
    """The messages mode has the words, the custom mode the tools, and the updates the stop reason."""
    thread = running.thread(calls(("c1", "calculator", '{"expression": "6*7"}')), says("It is 42."))
    heard = running.stream(thread, **asking("6*7?"))
    words = [
        message for event, data in heard if event == "messages" for message in [data[0]] if message["type"] != "tool"
    ]
    assert "".join(message["content"] for message in words) == "It is 42."
    custom = [data for event, data in heard if event == "custom"]
    assert [(one["type"], one["id"]) for one in custom] == [("tool-start", "c1"), ("tool-end", "c1")]
    assert json.loads(custom[1]["result"]) == {"ok": True, "result": 42}
    assert [data["model"]["stop"] for event, data in heard if event == "updates" and "model" in data] == ["", "answer"]


def test_a_call_with_effects_waits_until_a_person_answers(running: Running) -> None:
    """The run ends with an interrupt; its resume runs the call once, as the journal knows it."""
    thread = running.thread(calls(("c1", "write_text_file", WRITE)), says("written"))
    heard = running.stream(thread, **asking("write"))
    (asked,) = heard[-1][1]["__interrupt__"]
    assert asked["value"]["action_requests"][0]["arguments"] == WRITE
    state = running.client.get(f"/threads/{thread}").raise_for_status().json()
    assert (state["status"], (running.root / "a.txt").exists()) == ("interrupted", False)

    resumed = running.stream(thread, command={"resume": {"decisions": [{"type": "approve"}]}})
    assert [data["type"] for event, data in resumed if event == "custom"] == ["tool-start", "tool-end"]
    assert (running.root / "a.txt").read_text(encoding="utf-8") == "new"
    assert results(bodies(running.model)[-1])[0][1]["ok"] is True
    assert (running.root.parent / "journal.sqlite").exists()


def test_a_limit_ends_the_run_and_the_next_goes_on(running: Running) -> None:
    """The graph's own limit counts, not the server's; the history is legal."""
    rounds = Limits().rounds
    asks = [calls((f"c{n}", "calculator", '{"expression": "1"}')) for n in range(rounds)]
    thread = running.thread(*asks, says("enough"))
    limited = running.wait(thread, **asking("on and on"))
    assert ("round-limit", rounds) == (limited["stop"], limited["used"]["rounds"])
    assert running.wait(thread, **asking("stop"))["stop"] == "answer"
    assert len(results(bodies(running.model)[-1])) == rounds


def test_runs_side_by_side_share_the_graph(running: Running) -> None:
    """One graph serves all threads; none gets another's words."""
    threads = [running.thread(), running.thread(says("same"), says("same"))]
    started = [
        running.client.post(f"/threads/{thread}/runs", json={"assistant_id": "sturdy", **asking(name)})
        for thread, name in zip(threads, "ab", strict=True)
    ]
    ended = [
        running.client.get(f"/threads/{thread}/runs/{run.raise_for_status().json()['run_id']}/join").json()
        for thread, run in zip(threads, started, strict=True)
    ]
    assert [[message["content"] for message in end["messages"]] for end in ended] == [["a", "same"], ["b", "same"]]
