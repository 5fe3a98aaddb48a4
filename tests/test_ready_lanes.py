"""The ready lanes: the same loop in other frameworks, each tried where its framework is installed."""

import importlib.util
import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from compare.backends import script
from compare.judge import Judged, judge
from compare.lanes import load_lanes
from compare.replies import Scripted
from compare.runner import Task, run_lane
from tests.servers import calls, fails, says

ROOT = Path(__file__).parent.parent
NODE = ROOT / "examples" / "lanes" / "node"
FRAMEWORKS = {
    "lanes.openai_sdk": "openai",
    "lanes.openai_agents": "agents",
    "lanes.pydantic_ai": "pydantic_ai",
    "lanes.smolagents": "smolagents",
    "lanes.llama_index": "llama_index",
}
PROGRAMS = {"vercel-ai": "ai", "langchain-js": "langchain"}
FINAL = "lanes.smolagents"
"""The lane that ends by a call of a tool of its own and sends calls and results as text."""

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # the frameworks' own


@pytest.fixture(params=[*FRAMEWORKS, *PROGRAMS])
def lane(request: pytest.FixtureRequest) -> str:
    """The word that names a ready lane; skipped where what it needs is not installed."""
    name: str = request.param
    if name in FRAMEWORKS:
        if importlib.util.find_spec(FRAMEWORKS[name]) is None:
            pytest.skip(f"{name} needs the package {FRAMEWORKS[name]}, which is not installed")
        return name
    if shutil.which("node") is None:
        pytest.skip(f"{name} needs node, which is not installed")
    if not (NODE / "node_modules" / PROGRAMS[name]).is_dir():
        pytest.skip(f"{name} needs the packages of examples/lanes/node: run npm install there")
    return f"{name}=cmd:node {shlex.quote(str(NODE / name))}.mjs"


def judged(lane: str, *replies: Scripted, **task: Any) -> Judged:
    """The lane on these replies."""
    (loaded,) = load_lanes([lane] if "=" in lane else lane)
    asked = Task("What is it?", "scripted-model", workspace={"docs/a.txt": "one\n"}, **task)
    return judge(run_lane(loaded, asked, script(replies, "scripted-model"), 30.0), len(replies))


def last_word(lane: str, text: str) -> Scripted:
    """The reply that ends this lane."""
    return calls(("c9", "final_answer", json.dumps({"answer": text}))) if lane == FINAL else says(text)


def sent(told: Judged) -> list[dict[str, Any]]:
    """The bodies of the requests."""
    return [json.loads(one.request.body.raw()) for one in told.run.exchanges]


def contents(messages: Sequence[dict[str, Any]]) -> str:
    """All that the messages hold, as text."""
    return json.dumps(messages)


@pytest.mark.parametrize("stream", [False, True])
def test_it_runs_the_tools_and_answers(lane: str, stream: bool) -> None:
    """Two calls of one turn, each answered under its id, then the answer; in the mode that was asked for."""
    two = calls(("c1", "calculator", '{"expression": "6 * 7"}'), ("c2", "read_text_file", '{"path": "docs/a.txt"}'))
    told = judged(lane, two, last_word(lane, "done"), stream=stream)
    first, second = sent(told)
    assert {"calculator", "read_text_file", "list_directory"} <= {one["function"]["name"] for one in first["tools"]}
    assert [stream, stream] == [bool(one.get("stream")) for one in (first, second)]
    if lane == FINAL:
        assert ("unanswered-calls", "answer") == (told.observed, told.run.stop)
        assert {"dropped-call", "unanswered-call"} <= {one.kind for one in told.findings}
        assert "42" in contents(second["messages"])
        return
    assert ("answer", None) == (told.observed, told.run.raised)
    results = {one["tool_call_id"]: one["content"] for one in second["messages"] if one["role"] == "tool"}
    assert ["c1", "c2"] == list(results)
    assert "42" in contents([results["c1"]])
    assert "one" in contents([results["c2"]])
    assert not [one.key for one in told.findings if one.severity == "serious"]


def test_the_system_text_opens_the_conversation(lane: str) -> None:
    """Before the prompt, whatever the framework puts around it."""
    (first,) = sent(judged(lane, last_word(lane, "done"), system="Be brief."))
    texts = [json.dumps(one["content"]) for one in first["messages"]]
    assert "Be brief." in texts[0]
    assert "What is it?" in texts[-1]


def test_it_keeps_to_the_rounds(lane: str) -> None:
    """A model that only calls is left after so many requests; one more where a framework asks for a last word."""
    again = [calls((f"c{number}", "calculator", '{"expression": "1"}')) for number in range(6)]
    told = judged(lane, *again, max_rounds=3)
    assert (4 if lane == FINAL else 3) == len(told.run.exchanges)
    assert "round-limit" == told.run.stop
    if lane != FINAL:
        assert "round-limit" == told.observed


def test_an_error_of_the_server_ends_it(lane: str) -> None:
    """It may raise; what it met is on the wire."""
    assert "http-error" == judged(lane, fails(400)).observed


def test_a_failing_tool_does_not_go_unseen(lane: str) -> None:
    """The model is told, or the run ends by it."""
    told = judged(lane, calls(("c1", "calculator", '{"expression": "1/0"}')), last_word(lane, "sorry"))
    if len(sent(told)) == 1:
        assert "tool-error" == told.observed
    else:
        assert "zero" in contents(sent(told)[1]["messages"])


@pytest.mark.parametrize("path", [*(ROOT / "src/lanes").glob("*.py"), *NODE.glob("*.mjs")], ids=lambda path: path.name)
def test_a_lane_is_short(path: Path) -> None:
    """Under 60 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
