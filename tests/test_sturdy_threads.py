"""A conversation that is kept: what an earlier turn left behind never makes the next request illegal."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import SecretStr

from bench.lanes import TOOL
from bench.model import model
from compare.replies import ScriptedClose, ScriptedMessage
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.graph import start
from lc.sturdy.memory import sqlite
from lc.sturdy.model import SturdyChatOpenAI
from lc.sturdy.trim import trimmed
from protocol.profile import profile
from protocol.rules import check
from tests.servers import bodies, calls, echo_tool, fails, results, says, serving
from tests.sturdy import Run, agent, asking, in_thread
from toolbox import Tool

ECHO = calls(("c1", "echo", '{"text": "a"}'))
ODD = '{"text": "\\ud83d", "n": 123456789012345678901234567890, "x": 1.10}'


def legal(body: dict[str, Any]) -> bool:
    """Whether OpenAI's endpoint would take the request."""
    return not check(body["messages"], profile("openai").rules, 0, body, [])


@pytest.mark.parametrize("broken", [fails(400), fails(500), ScriptedClose(), ScriptedMessage("null", "stop", {})])
def test_a_thread_goes_on_after_a_request_that_failed(run_graph: Run, broken: Any) -> None:
    """The calls of the turn that failed keep their results, and the next question is answered."""
    with serving(ECHO, broken, says("later")) as server:
        graph = agent(server, checkpointer=InMemorySaver())
        failed = run_graph(graph, asking("go"), in_thread())
        end = run_graph(graph, asking("again"), in_thread())
        sent = bodies(server)[-1]
    assert failed["stop"] in ("http-error", "connection-error", "bad-reply")
    assert ("answer", ["c1"]) == (end["stop"], [call_id for call_id, _ in results(sent)])
    assert legal(sent)


def test_a_failed_request_can_be_sent_again_without_a_new_question() -> None:
    """An empty input goes on where the run ended: the results of its tools are not lost, and no tool runs again."""
    ran: list[str] = []
    with serving(ECHO, fails(500), says("done")) as server:
        graph = agent(server, echo_tool(ran), checkpointer=InMemorySaver())
        graph.invoke(asking("go"), in_thread())
        end = graph.invoke(start([]), in_thread())
        sent = bodies(server)
    assert ("answer", ["a"], sent[1]["messages"]) == (end["stop"], ran, sent[2]["messages"])


def test_a_question_that_is_asked_again_is_a_new_one() -> None:
    """LangGraph takes the same message object for a correction of the old one, which the model then never sees."""
    question = HumanMessage("what is new?", id="q")
    with serving(says("one"), says("two")) as server:
        graph = agent(server, checkpointer=InMemorySaver())
        for _ in range(2):
            graph.invoke(start([question]), in_thread())
        assert ["user", "assistant", "user"] == [message["role"] for message in bodies(server)[-1]["messages"]]


def test_odd_values_survive_the_file(tmp_path: Path) -> None:
    """Big integers, half a surrogate pair, a number's spelling: the thread sends them as the model wrote them."""
    asked = calls(("c1", "echo", ODD), reasoning_content="\ud83d", vendor={"n": 2**70})
    with serving(asked, says(), says()) as server:
        for _ in range(2):
            with sqlite(tmp_path / "memory.db") as memory:
                graph = agent(server, checkpointer=memory)
                graph.invoke(asking("half: \ud83d"), in_thread())
        first, second = bodies(server)[1], bodies(server)[2]
    assert first["messages"] == second["messages"][:3]
    assert json.loads(asked.message) == second["messages"][1]
    assert "half: \ud83d" == second["messages"][0]["content"]


def test_the_system_text_is_in_front_of_each_request_and_not_stored() -> None:
    """So it can be changed between two turns of a thread."""
    memory = InMemorySaver()
    with serving(says(), says()) as server:
        agent(server, system="old", checkpointer=memory).invoke(asking("a"), in_thread())
        agent(server, system="new", checkpointer=memory).invoke(asking("b"), in_thread())
        sent = bodies(server)[-1]["messages"]
    assert ["system", "user", "assistant", "user"] == [message["role"] for message in sent]
    assert "new" == sent[0]["content"]


# --- kill -9 ---


def run_again(graph: Agent, how: str) -> Any:
    """Go on with the thread of a process that was killed."""
    given: Any = asking("and?") if how == "asked-anew" else None
    return graph.invoke(given, in_thread())


MOMENTS = {"in-the-effect": "outcome_unknown", "before-it-is-noted": "outcome_unknown", "before-the-checkpoint": None}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("how", ["resumed", "asked-anew"])
def test_an_effect_happens_once_though_the_process_was_killed(tmp_path: Path, moment: str, how: str) -> None:
    """What is on disk decides: a kept result is told, and where none was kept the model hears that it is not known."""
    memory, effects = tmp_path / "memory.db", tmp_path / "effects.txt"
    with serving(calls(("c1", "effect", '{"text": "a"}')), says()) as server:
        command = [sys.executable, "-m", "tests.killed", server.base_url, str(memory), str(effects), moment]
        assert -signal.SIGKILL == subprocess.run(command, check=False).returncode
        assert "a\n" == effects.read_text()

        def repeat(text: str) -> None:
            effects.write_text("twice")

        effect = Tool("effect", "Write.", echo_tool().parameters, repeat, effects=True)
        with sqlite(memory) as checkpointer:
            journal = SqliteJournal(memory)
            graph = agent(server, effect, approve="always", journal=journal, checkpointer=checkpointer)
            end = run_again(graph, how)
            journal.close()
        sent = bodies(server)[-1]
    assert ("a\n", "answer") == (effects.read_text(), end["stop"])
    ((call_id, told),) = results(sent)
    assert ("c1", MOMENTS[moment]) == (call_id, told.get("error_type"))
    assert legal(sent)


def test_a_process_killed_while_it_waits_for_a_person_goes_on(tmp_path: Path) -> None:
    """The question is in the file: another process answers it, and the effect happens once."""
    log: list[str] = []
    effect = Tool("effect", "Write.", echo_tool().parameters, lambda text: log.append(text), effects=True)
    with serving(calls(("c1", "effect", '{"text": "a"}')), says()) as server:
        given: Any
        for given in (asking("go"), Command(resume="approve")):
            with sqlite(tmp_path / "memory.db") as memory:
                end = agent(server, effect, checkpointer=memory).invoke(given, in_thread())
    assert ("answer", ["a"]) == (end["stop"], log)


# --- long threads ---


def held() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not tell a process its memory")
def test_a_thousand_turns_on_one_thread_stay_bounded(tmp_path: Path) -> None:
    """With a trimmed history, the last turns cost no more memory than the first, and the file grows by the turn."""
    path = tmp_path / "memory.db"
    with model() as url, sqlite(path) as memory:
        llm = SturdyChatOpenAI(base_url=url, model="rounds-1", api_key=SecretStr("k"), max_retries=0)
        graph = build(llm, [TOOL], checkpointer=memory, trim=lambda messages: trimmed(messages, 20))
        sizes = []
        for number in range(1, 1001):
            graph.invoke(asking(f"question {number}"), in_thread())
            if number in (200, 600, 1000):
                sizes.append((held(), path.stat().st_size))
        kept = graph.get_state(in_thread()).values["messages"]
    (memory_200, file_200), (_, file_600), (memory_1000, file_1000) = sizes
    assert len(kept) <= 24
    assert memory_1000 - memory_200 < 8 * 1024 * 1024
    assert (file_1000 - file_600) < 1.2 * (file_600 - file_200)
