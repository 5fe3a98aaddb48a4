"""The pages in docs/ say what is so, and each part of lc.sturdy can be used alone, as docs/sturdy.md shows it."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import SecretStr

from compare.scenario import find
from examples.grow import alone
from lc.sturdy.agent import Agent
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.events import events
from lc.sturdy.limits import Limits
from lc.sturdy.memory import sqlite
from lc.sturdy.tools import Tools
from tests.docs_parts import PAGES, PARTS
from tests.readme_parts import PART, ROOT
from tests.servers import bodies, calls, echo_tool, results, says, serving
from tests.sturdy import agent, asking, in_thread, sturdy_model
from toolbox import Tool

TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
WHOLE = "".join(TEXTS.values())


# --- the pages ---


def test_every_part_is_shown_once() -> None:
    """A part that is made and nowhere shown would not be checked."""
    assert sorted(PARTS) == sorted(part[1] for part in PART.findall(WHOLE))


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_generated_part_is_up_to_date(name: str) -> None:
    """`python -m tests.docs_parts` writes them anew."""
    shown = {part[1]: part[2] for part in PART.findall(WHOLE)}
    assert shown[name] == PARTS[name]()


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    """Each relative link names a file, beside the page or above it."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXTS[page]):
        assert (ROOT / "docs" / target).exists(), target


def test_what_is_named_is_there() -> None:
    """The scenarios and the test files that are to prove a part."""
    proofs = re.findall(r"^Scenarios: (.*?)\n\n", TEXTS["sturdy.md"], re.MULTILINE | re.DOTALL)
    assert 6 == len(proofs)
    for name in re.findall(r"`([\w./-]+)`", " ".join(proofs)):
        assert (ROOT / name).exists() if name.startswith("tests/") else [name] == [one.name for one in find(name)]
    for name in re.findall(r"`(tests/[\w.]+)`|-m (examples[\w.]+)", WHOLE):
        assert (ROOT / (name[0] or f"{name[1].replace('.', '/')}.py")).exists(), name


# --- the parts alone ---


@tool
def add(one: int, other: int) -> int:
    """Add two numbers."""
    return one + other


ADD = '{"one":1, "other":2}'


def plain_model(server: Any, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key=SecretStr("k"), model="m", max_retries=0, **more)


def test_the_model_alone_sends_back_what_it_received() -> None:
    """In the textbook graph: the text of the arguments, and the reasoning."""
    with serving(calls(("c1", "add", ADD), reasoning_content="hm"), says()) as server:
        alone.with_model(sturdy_model(server), [add]).invoke(asking("1+2?"))
        said, result = bodies(server)[1]["messages"][1:]
    assert (ADD, "hm", "3") == (
        said["tool_calls"][0]["function"]["arguments"],
        said["reasoning_content"],
        result["content"],
    )


def test_the_tools_alone_answer_every_call_of_any_model() -> None:
    """Also those that ChatOpenAI calls invalid; and nothing is run on broken arguments."""
    log: list[Any] = []
    run = Tools([echo_tool(log), Tool("tick", "Tick.", {"type": "object", "properties": {}}, lambda: log.append("t"))])
    asked = calls(("c1", "echo", '{"text": "a"}'), ("c2", "tick", '{"x": '), ("c3", "nobody", "{}"))
    with serving(asked, says()) as server:
        end = alone.with_tools(plain_model(server), run).invoke(asking("go"))
        told = {call_id: result.get("error_type", "ok") for call_id, result in results(bodies(server)[1])}
    assert {"c1": "ok", "c3": "unknown_tool", "c2": "invalid_json"} == told
    assert (["a"], "done") == (log, end["messages"][-1].text)


@pytest.mark.parametrize(
    ("limits", "stop", "requests"),
    [(Limits(rounds=3), "round-limit", 3), (Limits(tokens=4), "token-limit", 2), (Limits(), "answer", 4)],
)
def test_the_limits_alone_end_a_loop(limits: Limits, stop: str, requests: int) -> None:
    """Each with its own stop reason, and by `batch` too."""
    with serving(*[says("more")] * 3, says("DONE")) as server:
        graph = Agent.of(alone.with_limits(sturdy_model(server), limits), limits)
        (end,) = graph.batch([asking("go")])
        assert (stop, requests) == (end["stop"], len(server.exchanges))


def test_the_memory_alone_heals_a_thread(tmp_path: Path) -> None:
    """A history with an open call, written by another program, goes on."""
    open_call = AIMessage("", tool_calls=[{"name": "add", "args": {}, "id": "c1", "type": "tool_call"}], id="same")
    with serving(says(id="same"), says(id="same")) as server, sqlite(tmp_path / "memory.db") as memory:
        chat = alone.with_memory(sturdy_model(server), memory)
        chat.invoke({"messages": [HumanMessage("a"), open_call, HumanMessage("b")]}, in_thread())
        end = chat.invoke(asking("c"), in_thread())
        sent = bodies(server)[-1]["messages"]
    assert ["user", "assistant", "tool", "user", "assistant", "user"] == [message["role"] for message in sent]
    assert 7 == len(end["messages"])


@pytest.mark.parametrize(
    ("answer", "outcome", "paid"),
    [
        ("approve", "paid", ['{"euros": 5}']),
        ({"type": "edit", "edited_action": {"name": "pay", "args": {"euros": 4}}}, "paid", ['{"euros": 4}']),
        ({"type": "reject", "message": "too dear"}, "too dear", []),
    ],
)
def test_approval_and_journal_alone_pay_once(answer: Any, outcome: str, paid: list[str]) -> None:
    """The same order on another thread is the same effect: the key says so."""
    done: list[str] = []

    def pay(arguments: str) -> str:
        done.append(arguments)
        return "paid"

    journal = SqliteJournal(":memory:")
    graph = alone.with_approval(pay, journal, InMemorySaver())
    for thread in ("one", "two"):
        graph.invoke({"order": "o1", "arguments": '{"euros": 5}'}, in_thread(thread))
        assert outcome == graph.invoke(Command(resume=answer), in_thread(thread))["outcome"]
    journal.close()
    assert paid == done


def test_events_alone_come_from_any_graph() -> None:
    """The textbook graph tells tokens and messages."""
    with serving(calls(("c1", "add", ADD)), says("three")) as server:
        graph = alone.with_model(sturdy_model(server, streaming=True), [add])
        told = list(alone.listening(graph, asking("1+2?")))
    assert ["message", "message"] == [event["type"] for event in told if event["type"] != "token"]
    assert "three" == "".join(event["text"] for event in told if event["type"] == "token")


# --- what stays as it is ---


def test_the_sdk_tells_the_server_about_the_machine_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its headers, and the names of organisation and project."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    with serving(says()) as server:
        agent(server).invoke(asking("hi"))
        headers = {name.lower(): value for name, value in dict(server.exchanges[0].request.headers).items()}
    assert {"x-stainless-os", "x-stainless-runtime"} < set(headers)
    assert ("org", "project") == (headers["openai-organization"], headers["openai-project"])
    assert headers["user-agent"].startswith("OpenAI/Python")


def test_tool_calls_come_to_the_user_whole() -> None:
    """Text comes in pieces; of the calls only how many there are, when the message is whole."""
    with serving(calls(("c1", "echo", '{"text": "a"}')), says("some words here")) as server:
        graph = agent(server)
        told = [event for event in events(graph, asking("go")) if event["type"] in ("token", "message")]
    assert {"type": "message", "text": "", "calls": 1} == told[0]
    assert "some words here" == "".join(event["text"] for event in told if event["type"] == "token")


def test_a_tool_that_hangs_goes_on_in_another_thread() -> None:
    """It is answered for, and still at work; the thread was never the caller's."""
    seen: list[threading.Thread] = []
    go = threading.Event()

    def hang() -> None:
        seen.append(threading.current_thread())
        go.wait(10)

    hanging = Tool("hang", "Hang.", {"type": "object", "properties": {}}, hang)
    with serving(calls(("c1", "hang", "{}")), says()) as server:
        agent(server, hanging, tool_timeout=0.1).invoke(asking("go"))
        ((_, told),) = results(bodies(server)[1])
    (thread,) = seen
    assert ("timeout", True, True) == (told["error_type"], thread.is_alive(), thread.daemon)
    assert threading.current_thread() is not thread
    go.set()
    thread.join(10)


def test_a_tool_that_interrupts_makes_the_calls_beside_it_run_again_but_no_effect() -> None:
    """The node begins anew when it is resumed."""
    log: list[Any] = []

    def sure() -> Any:
        return interrupt("sure?")

    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    read = Tool("read", "Read.", nothing, lambda: log.append("read"))
    write = Tool("write", "Write.", nothing, lambda: log.append("write"), effects=True)

    @tool
    def confirm() -> str:
        """Ask."""
        return str(sure())

    journal = SqliteJournal(":memory:")
    asked = calls(("c1", "read", "{}"), ("c2", "write", "{}"), ("c3", "confirm", "{}"))
    with serving(asked, says()) as server:
        more: dict[str, Any] = {"approve": "always", "journal": journal, "checkpointer": InMemorySaver()}
        graph = agent(server, read, write, confirm, **more)
        graph.invoke(asking("go"), in_thread())
        graph.invoke(Command(resume="yes"), in_thread())
        assert ("c3", "yes") == results(bodies(server)[1])[-1]
    journal.close()
    assert ["read", "write", "read"] == log


def test_broken_arguments_go_back_as_an_empty_object() -> None:
    """And the model is told what was wrong."""
    with serving(calls(("c1", "echo", '{"text": ')), says()) as server:
        agent(server).invoke(asking("go"))
        said, told = bodies(server)[1]["messages"][1:]
    assert "{}" == said["tool_calls"][0]["function"]["arguments"]
    assert "invalid_json" in told["content"]


def test_a_tool_of_langchains_shows_its_own_schema_and_is_checked_more_strictly() -> None:
    """An unknown argument is refused, though the schema does not say so."""
    with serving(calls(("c1", "add", '{"one": 1, "other": 2, "third": 3}')), says()) as server:
        agent(server, add).invoke(asking("go"))
        assert "additionalProperties" not in bodies(server)[0]["tools"][0]["function"]["parameters"]
        ((_, told),) = results(bodies(server)[1])
    assert "invalid_arguments" == told["error_type"]
