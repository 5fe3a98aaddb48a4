"""The generated parts of the pages in docs/: `python -m tests.docs_parts` writes them anew, a test compares them."""

import inspect
import json
import re
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import SecretStr

import lc.graph
from compare.server import ModelServer
from examples.grow import alone
from lc.sturdy import agent, effects, events, graph, history, limits, model, reply, state, tools, wire
from lc.sturdy.effects import SqliteJournal
from lc.sturdy.limits import Limits
from tests.readme_parts import PART, ROOT, diptych, fence, table
from tests.servers import calls, says, serving
from tests.sturdy import agent as sturdy_graph
from tests.sturdy import asking as question
from tests.sturdy import in_a_loop, in_thread, loop_client
from toolbox import Tool

PAGES = [ROOT / "docs" / "sturdy.md", ROOT / "docs" / "grow.md"]
LANES = "raw,lc,lc.prebuilt,lc.sturdy"

MATRIX = [
    ("arguments-not-json", "plain"),
    ("arguments-encoded-twice", "plain"),
    ("one-good-one-broken-call", "plain"),
    ("one-good-one-raising-call", "plain"),
    ("id-missing", "plain"),
    ("message-id-constant", "plain"),
    ("model-name-picks-the-endpoint", "plain"),
    ("arguments-cut-off", "stream"),
    ("index-zero-for-all-calls", "stream"),
    ("stream-ends-in-a-path", "stream"),
    ("stream-drips", "stream"),
    ("refusal", "stream"),
    ("two-choices", "stream"),
]
"""Telling scenarios, each in the mode in which it tells most."""

REPORTS = {
    "model": ("reasoning-content-lost", "plain"),
    "tools": ("one-good-one-broken-call", "plain"),
    "limits": ("stall-in-a-call", "stream"),
    "memory": ("message-id-constant", "plain"),
    "effects": ("one-good-one-raising-call", "plain"),
    "streaming": ("stream-ends-in-a-path", "stream"),
}
"""The before-and-after report of each part."""

CODE: dict[str, list[Any]] = {
    "textbook": [lc.graph.build],
    "model": [wire._encoded_one, model.SturdyChatOpenAI.body],
    "tools": [tools.Tools._guard],
    "limits": [limits.exhausted, agent.Agent._roomy],
    "memory": [state.State, history.append],
    "effects": [effects.Journal.once],
    "streaming": [reply.Reply.feed, events.events],
    "graph": [graph.build],
}
"""What is shown of the code of each part."""


def matrix_part() -> str:
    """How the scenarios end in four lanes, and how many serious findings there are."""
    compared: dict[tuple[str, str], Any] = {}
    for mode in ("plain", "stream"):
        names = [name for name, one in MATRIX if one == mode]
        told = json.loads(diptych("run", *names, f"--{mode}", "--lanes", LANES, "--json", "-"))
        compared |= {(one["name"], mode): one for one in told["comparisons"]}
    rows = []
    for name, mode in MATRIX:
        one = compared[name, mode]
        shown = f"`{name}`{' (stream)' if mode == 'stream' else ''}: {one['title']}"
        rows.append((shown, *map(cell, one["lanes"])))
    return table(("scenario", *LANES.split(",")), *rows)


def cell(lane: dict[str, Any]) -> str:
    """The stop reason as it was observed, and the number of serious findings."""
    serious = sum(finding["severity"] == "serious" for finding in lane["findings"])
    stop: str = lane["stop"]["observed"]
    return f"{stop}, {serious} serious" if serious else stop


@cache
def reports(mode: str) -> str:
    """All reports of a mode, in full."""
    names = [name for name, one in REPORTS.values() if one == mode]
    return diptych("run", *names, f"--{mode}", "--lanes", "lc,lc.sturdy", "--show", "all")


def report(name: str, mode: str) -> str:
    """The line of the overview for a scenario, and its rows: what the model said, and what each lane made of it."""
    shown = f"{name} (stream)" if mode == "stream" else name
    overview = re.search(rf"^  . {re.escape(shown)}  .*\n(?:      lc.*\n)*", reports(mode), re.MULTILINE)
    rows = re.search(rf"^── {re.escape(shown)} ─.*?(?=^Call ids|^Envelope)", reports(mode), re.MULTILINE | re.DOTALL)
    if overview is None or rows is None:
        raise LookupError(f"there is no report on {shown}")
    command = f"$ diptych run {name}{' --stream' if mode == 'stream' else ''} --lanes lc,lc.sturdy"
    return fence(f"{command}\n{overview[0]}\n{rows[0]}", "console")


def code(*objects: Any) -> str:
    """The source of these, each with the file that it is in."""
    shown = []
    for one in objects:
        path = Path(inspect.getsourcefile(one) or "").relative_to(ROOT)
        inside = f", {one.__qualname__.rpartition('.')[0]}" if "." in one.__qualname__ else ""
        shown.append(f"# {path}{inside}\n{textwrap.dedent(inspect.getsource(one)).rstrip()}")
    return fence("\n\n\n".join(shown), "python")


def program(name: str) -> str:
    """A program of examples/grow, between its imports and its last lines."""
    path = Path("examples", "grow", f"{name}.py")
    text = (ROOT / path).read_text(encoding="utf-8").split("\nif __name__ ==")[0]
    start = list(re.finditer(r"^(?:from|import) .*\n(?:\)\n)?", text, re.MULTILINE))[-1].end()
    said = text.split('"""')[1]
    return f"{said}\n\n" + fence(f"# {path}\n{text[start:].strip()}", "python")


# --- what is measured ---


def plain_model(server: ModelServer) -> ChatOpenAI:
    """ChatOpenAI as it is, on the server."""
    key = SecretStr("k")
    return ChatOpenAI(
        base_url=server.base_url, model="m", api_key=key, max_retries=0, http_async_client=loop_client()
    )  # fmt: skip


def textbook(server: ModelServer, *offered: Tool, **more: Any) -> CompiledStateGraph[MessagesState]:
    """The textbook graph, with what it is compiled with."""
    if not more:
        return lc.graph.build(plain_model(server), offered)
    made = [StructuredTool.from_function(tool.function, name=tool.name, description="A tool.") for tool in offered]
    llm = plain_model(server).bind_tools(made)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda known: {"messages": [llm.invoke(known["messages"])]})
    graph.add_node("tools", ToolNode(made))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(**more)


async def by_events(graph: Any) -> None:
    """Run it as servers for chat interfaces do."""
    async for _ in graph.astream_events(question("go"), version="v2"):
        pass


WAYS: dict[str, Callable[[Any], Any]] = {
    "`invoke`": lambda graph: graph.invoke(question("go")),
    "`batch`": lambda graph: graph.batch([question("go")]),
    "behind another runnable": lambda graph: ((lambda given: given) | graph).invoke(question("go")),
    "`astream_events`": lambda graph: in_a_loop(by_events(graph)),
}


def requests(make: Callable[[ModelServer], Any], run: Callable[[Any], Any]) -> str:
    """How many requests a run makes of a model that never stops calling, and what it ends with."""
    endless = [calls((f"c{number}", "tick", "{}")) for number in range(60)]
    with serving(*endless) as server:
        try:
            run(make(server))
            end = "round-limit"
        except Exception as error:  # noqa: BLE001 # the kind is what is shown
            end = type(error).__name__
        return f"{min(len(server.exchanges), 60)}, {end}" if len(server.exchanges) <= 60 else "no end within 60"


def tick(effect: Callable[[], Any] = lambda: 1, name: str = "tick", effects: bool = False) -> Tool:
    """A tool without arguments."""
    return Tool(name, "Tick.", {"type": "object", "properties": {}, "additionalProperties": False}, effect, effects)


def ways_part() -> str:
    """What a limit of steps counts, and what a limit of rounds counts."""
    rows = [
        (
            way,
            requests(lambda server: textbook(server, tick()), run),
            requests(lambda server: sturdy_graph(server, tick(), limits=Limits(rounds=30)), run),
        )
        for way, run in WAYS.items()
    ]
    return table(("called by", "textbook graph, no limit given", "`Limits(rounds=30)`"), *rows)


def effects_part() -> str:
    """How often an effect happens when its run breaks off, and is gone on with."""
    rows = []
    for told, breaks in BREAKS.items():
        counts = [happened(breaks, sturdy) for sturdy in (False, True)]
        rows.append((told, *(f"{count}×" for count in counts)))
    return table(("what happens, and then `invoke(None)`", "textbook graph", "`lc.sturdy` with a journal"), *rows)


class Killed(BaseException):
    """The process ends here; tests/test_sturdy_threads.py does it with kill -9."""


BREAKS: dict[str, type[BaseException]] = {
    "the call beside the effect raises an exception": ValueError,
    "the process ends behind the effect, before its result is saved": Killed,
}


def happened(breaks: type[BaseException], sturdy: bool) -> int:
    """How often the effect of one call happens."""
    counted: Counter[str] = Counter()

    def effect() -> str:
        counted["effect"] += 1
        if breaks is Killed and counted["effect"] == 1:
            raise Killed
        return "done"

    def beside() -> str:
        counted["beside"] += 1
        if counted["beside"] == 1 and breaks is ValueError:
            time.sleep(0.3)  # until the effect has happened
            raise breaks
        return "done"

    offered = tick(effect, "effect", effects=True), tick(beside, "beside")
    journal = SqliteJournal(":memory:")
    with serving(calls(("c1", "effect", "{}"), ("c2", "beside", "{}")), says()) as server:
        memory = InMemorySaver()
        if sturdy:
            made: Any = sturdy_graph(server, *offered, approve="always", journal=journal, checkpointer=memory)
        else:
            made = textbook(server, *offered, checkpointer=memory)
        try:
            made.invoke(question("go"), in_thread())
        except (ValueError, Killed):
            made.invoke(None, in_thread())
    journal.close()
    return counted["effect"]


PROGRAMS = sorted(
    path.stem for path in (ROOT / "examples" / "grow").glob("*.py") if path.stem not in ("__init__", "start", "alone")
)
ALONE = {name: getattr(alone, name) for name in vars(alone) if name.startswith("with_") or name == "listening"}

PARTS: dict[str, Callable[[], str]] = {
    "matrix": matrix_part,
    "ways": ways_part,
    "effects": effects_part,
    **{f"report_{name}": lambda one=one: report(*one) for name, one in REPORTS.items()},  # type: ignore[misc]
    **{f"code_{name}": lambda objects=objects: code(*objects) for name, objects in CODE.items()},  # type: ignore[misc]
    **{f"program_{name}": lambda name=name: program(name) for name in PROGRAMS},  # type: ignore[misc]
    **{f"alone_{name}": lambda one=one: code(one) for name, one in ALONE.items()},  # type: ignore[misc]
}


def renewed(text: str) -> str:
    """A page with all its parts made anew."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[4], text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
