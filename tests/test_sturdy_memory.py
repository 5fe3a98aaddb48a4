"""What a memory was given comes back exactly, in another process too, and the file grows as the conversation does."""

import asyncio
import contextlib
import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.jsonplus import EXT_CONSTRUCTOR_SINGLE_ARG, JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Interrupt, Send

from lc.sturdy.history import append
from lc.sturdy.memory import NoMemory, Serializer, apostgres, asqlite, postgres, sqlite

BIG = 2**64
ODD = "a lone \ud83d, a zero \x00, and 汉字?"
THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}

TEXTS = st.text(st.characters(codec=None), max_size=4) | st.sampled_from([ODD, "?"])
LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from([BIG, -BIG, 2**63, 2**4096]) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.integers(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3)
CALLS = st.lists(st.fixed_dictionaries({"name": TEXTS, "args": ARGUMENTS, "id": TEXTS}), max_size=2)
MESSAGES = (
    st.builds(lambda text, more: HumanMessage(text, additional_kwargs=more), TEXTS, ARGUMENTS)
    | st.builds(
        lambda text, calls, kept: AIMessage(text, tool_calls=calls, additional_kwargs=kept), TEXTS, CALLS, ARGUMENTS
    )
    | st.builds(lambda text, call_id: ToolMessage(text, tool_call_id=call_id), TEXTS, TEXTS)
)


class Kept(TypedDict):
    """A conversation of which each checkpoint holds what is new."""

    messages: Annotated[list[AnyMessage], DeltaChannel(append, snapshot_frequency=1000)]


class Copied(TypedDict):
    """A conversation of which each checkpoint holds everything: LangGraph's default."""

    messages: Annotated[list[AnyMessage], add_messages]


def conversation(rounds: int, saver: Any, state: type[Any] = Kept) -> Any:
    """A graph whose model asks for a tool in each of so many rounds, and then answers."""

    def model(state: Any) -> dict[str, Any]:
        said = sum(isinstance(message, AIMessage) for message in state["messages"])
        calls: Any = [{"name": "calculator", "args": {"n": BIG}, "id": f"c{said}"}] if said < rounds else []
        return {"messages": [AIMessage("x" * 200, tool_calls=calls, additional_kwargs={"wire": ODD})]}

    def tools(state: Any) -> dict[str, Any]:
        (call,) = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("y" * 200, tool_call_id=call["id"])]}

    graph = StateGraph(state)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def back(value: Any) -> Any:
    """The value after a way through our serializer."""
    return Serializer().loads_typed(Serializer().dumps_typed(value))


# --- the serializer


@settings(max_examples=200)
@given(VALUES | MESSAGES | st.lists(MESSAGES, max_size=3) | st.dictionaries(TEXTS, MESSAGES, max_size=2))
def test_any_text_and_any_integer_come_back(value: Any) -> None:
    """In messages, arguments, keys and plain values, whatever the text and however large the integer."""
    assert value == back(value)


@pytest.mark.parametrize(
    "value",
    [Send("tools", {"n": BIG, "message": HumanMessage(ODD)}), Interrupt({"text": ODD, "n": [BIG]}, id="1"), b"x", None],
)
def test_what_langgraph_keeps_comes_back(value: Any) -> None:
    """So do the parts of a checkpoint that hold such values: a task that was sent, a question to a person."""
    assert value == back(value)


@pytest.mark.parametrize(
    "value",
    [
        AIMessage("?", tool_calls=[{"name": "calculator", "args": {"n": 2**64 - 1}, "id": "c"}], id="1"),
        {"messages": [HumanMessage("汉字")], "set": {1}, "path": Path("a"), "pair": (1, 2)},
        Send("tools", 1),
        Interrupt("?", id="1"),
        [sys.float_info.max, float("inf"), None, True],
    ],
)
def test_ordinary_values_are_written_as_langgraph_writes_them(value: Any) -> None:
    """The bytes are the same, so threads go from its serializer to ours and back."""
    assert JsonPlusSerializer().dumps_typed(value) == Serializer().dumps_typed(value)


def test_langgraph_reads_the_odd_values_too() -> None:
    """What we write for such values is a call of a builtin, which LangGraph's own serializer can make as well."""
    value = {"n": [BIG, -BIG], ODD: HumanMessage(ODD), BIG: 1}
    assert value == JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(Serializer().dumps_typed(value))


def test_langgraph_loses_them() -> None:
    """Why there is a serializer of our own: LangGraph's refuses the one and changes the other."""
    theirs = JsonPlusSerializer()
    with pytest.raises(TypeError, match="not msgpack serializable"):
        theirs.dumps_typed(HumanMessage("", additional_kwargs={"n": BIG}))
    assert HumanMessage("?") == theirs.loads_typed(theirs.dumps_typed(HumanMessage("\ud83d")))


def test_nothing_else_is_called_when_a_checkpoint_is_read(caplog: pytest.LogCaptureFixture) -> None:
    """Who can write to the file cannot make us run anything: another type is given back as data, a pickle not read."""
    call = ormsgpack.packb(("os", "getenv", "PATH"))
    planted = ormsgpack.packb(ormsgpack.Ext(EXT_CONSTRUCTOR_SINGLE_ARG, call))
    assert "PATH" == Serializer().loads_typed(("msgpack", planted))
    assert "Blocked deserialization of os.getenv" in caplog.text
    with pytest.raises(NotImplementedError):
        Serializer().loads_typed(("pickle", b""))


@dataclass
class Plan:
    """A type of someone's own state."""

    steps: list[str]


def test_a_type_of_ones_own_is_allowed_by_name() -> None:
    """A dataclass of a larger agent comes back as one when the saver was told of it."""
    with sqlite(":memory:") as saver:
        allowing = saver.with_allowlist([(Plan.__module__, Plan.__name__)])
        for one, expected in [(saver, {"steps": [ODD]}), (allowing, Plan([ODD]))]:
            assert expected == one.serde.loads_typed(one.serde.dumps_typed(Plan([ODD])))


def test_an_integer_longer_than_python_prints_comes_back() -> None:
    """Python writes no decimal integer of more than 4300 digits; one is kept all the same."""
    assert HumanMessage("", additional_kwargs={"n": 10**5000}) == back(
        HumanMessage("", additional_kwargs={"n": 10**5000})
    )


# --- SQLite


def converse(url: str, thread: str) -> None:
    """One turn on a thread that is kept in a file or a database."""
    with (postgres if url.startswith("postgresql:") else sqlite)(url) as saver:
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        conversation(2, saver).invoke({"messages": [HumanMessage("one")]}, config)


def in_another_process(url: str, thread: str) -> None:
    """The same, in a process of its own."""
    code = "import sys; from tests.test_sturdy_memory import converse; converse(*sys.argv[1:])"
    root = Path(__file__).parent.parent
    subprocess.run([sys.executable, "-c", code, url, thread], cwd=root, check=True, timeout=60)


def shown(messages: list[AnyMessage]) -> list[tuple[str, Any]]:
    """The parts of each message in which something could get lost."""
    return [
        ("ai", ([call["args"] for call in one.tool_calls], one.additional_kwargs))
        if isinstance(one, AIMessage)
        else (one.type, one.content)
        for one in messages
    ]


ASKED = ("ai", ([{"n": BIG}], {"wire": ODD}))
RESULT = ("tool", "y" * 200)
SAID: tuple[str, Any] = ("ai", ([], {"wire": ODD}))
FIRST = [("human", "one"), ASKED, RESULT, ASKED, RESULT, SAID]


def test_another_process_goes_on_with_a_thread(tmp_path: Path) -> None:
    """What one process said, another knows: every message, its id, the big integer and the odd text."""
    path = tmp_path / "memory.sqlite"
    in_another_process(str(path), "1")
    with sqlite(path) as saver:
        graph = conversation(2, saver)
        before = graph.get_state(THREAD).values["messages"]
        assert FIRST == shown(before)
        after = graph.invoke({"messages": [HumanMessage(ODD)]}, THREAD)["messages"]
    assert [*FIRST, ("human", ODD), SAID] == shown(after)
    assert before == after[:6]


def test_async_and_sync_share_a_file(tmp_path: Path) -> None:
    """`asqlite` opens the same file, for ainvoke."""
    path = tmp_path / "memory.sqlite"

    async def turn() -> list[AnyMessage]:
        async with asqlite(path) as saver:
            state = await conversation(2, saver).ainvoke({"messages": [HumanMessage("one")]}, THREAD)
            return list(state["messages"])

    said = asyncio.run(turn())
    assert FIRST == shown(said)
    with sqlite(path) as saver:
        assert said == conversation(2, saver).get_state(THREAD).values["messages"]


def test_threads_share_a_memory(tmp_path: Path) -> None:
    """Several conversations at once, each in a thread of its own, do not disturb each other."""
    with sqlite(tmp_path / "memory.sqlite") as saver:
        graph = conversation(2, saver)
        configs: list[RunnableConfig] = [{"configurable": {"thread_id": str(number)}} for number in range(8)]
        graph.batch([{"messages": [HumanMessage("one")]}] * 8, configs)
        assert [FIRST] * 8 == [shown(graph.get_state(config).values["messages"]) for config in configs]


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Two processes that open a new file at once both keep their conversation in it."""
    path = str(tmp_path / "memory.sqlite")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(in_another_process, [path, path], ["a", "b"]))
    with sqlite(path) as saver:
        for thread in "ab":
            config: RunnableConfig = {"configurable": {"thread_id": thread}}
            assert FIRST == shown(conversation(2, saver).get_state(config).values["messages"])


def test_the_file_is_in_wal_mode_and_is_left_closed(tmp_path: Path) -> None:
    """Readers do not wait for a writer, and no file is left beside it at the end."""
    path = tmp_path / "memory.sqlite"
    with sqlite(path) as saver:
        assert ("wal",) == saver.conn.execute("PRAGMA journal_mode").fetchone()
    assert [path] == list(tmp_path.iterdir())


def test_memory_without_a_file() -> None:
    """`:memory:` needs none."""
    with sqlite(":memory:") as saver:
        assert FIRST == shown(conversation(2, saver).invoke({"messages": [HumanMessage("one")]}, THREAD)["messages"])


@pytest.mark.parametrize("opened", [sqlite, asqlite])
def test_says_what_is_wrong_with_a_file(opened: Any, tmp_path: Path) -> None:
    """One line names the file, what is wrong and the mend."""
    text = tmp_path / "notes.txt"
    text.write_text("This is no database, and it is long enough to be seen as none.")
    missing = tmp_path / "none" / "memory.sqlite"
    for path, why in [
        (missing, f"there is no folder {missing.parent}; make it first: mkdir -p {missing.parent}"),
        (text, "cannot be opened: file is not a database"),
        (tmp_path, "cannot be opened: unable to open database file"),
    ]:
        with pytest.raises(NoMemory, match=re.escape(f"{path}: {why}")):
            enter(opened(path))


def enter(memory: Any) -> None:
    """Open a memory, sync or async."""
    if hasattr(memory, "__aenter__"):
        asyncio.run(memory.__aenter__())
    else:
        memory.__enter__()


def test_an_error_of_the_graph_is_not_renamed(tmp_path: Path) -> None:
    """What goes wrong inside the block is no matter of opening."""
    with pytest.raises(sqlite3.Error, match="mine"), sqlite(tmp_path / "memory.sqlite"):
        raise sqlite3.OperationalError("mine")


# --- growth


def grown(path: Path, rounds: int, state: type[Any] = Kept) -> tuple[int, int]:
    """The bytes of the file after a conversation, and the bytes of memory that it takes to load the thread."""
    with sqlite(path) as saver:
        conversation(rounds, saver, state).invoke({"messages": [HumanMessage("q")]}, THREAD)
    with sqlite(path) as saver:
        tracemalloc.start()
        messages = conversation(rounds, saver, state).get_state(THREAD).values["messages"]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 2 * rounds + 2 == len(messages)
    return path.stat().st_size, peak


def test_file_and_memory_grow_with_the_conversation(tmp_path: Path) -> None:
    """Four times the rounds take about four times the bytes: measured 0.42 and 1.6 MB at 100 and 400 rounds."""
    short, long = (grown(tmp_path / f"{rounds}.sqlite", rounds) for rounds in (100, 400))
    assert 3 < long[0] / short[0] < 5
    assert long[1] / short[1] < 5


def test_without_the_delta_channel_the_file_grows_with_the_square(tmp_path: Path) -> None:
    """Why `messages` is a DeltaChannel: else each checkpoint holds all messages: 9 and 137 MB at 100 and 400 rounds."""
    short, long = (grown(tmp_path / f"{rounds}.sqlite", rounds, Copied)[0] for rounds in (25, 100))
    assert long / short > 8


# --- PostgreSQL


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A PostgreSQL server of our own in a temporary folder: its address."""
    # Debian keeps the server's programs out of the PATH.
    places = os.pathsep.join([os.environ["PATH"], *glob.glob("/usr/lib/postgresql/*/bin")])
    initdb, program = (shutil.which(name, path=places) for name in ("initdb", "postgres"))
    if initdb is None or program is None:
        pytest.skip("PostgreSQL's initdb and postgres are not on this machine")
    with tempfile.TemporaryDirectory() as folder:
        # PostgreSQL refuses to run as root.
        other: dict[str, Any] = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
        if other:
            shutil.chown(folder, "nobody")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **other}
        data = f"{folder}/data"
        subprocess.run([initdb, "-D", data, "-A", "trust", "-U", "me", "-E", "UTF8", "--no-sync"], check=True, **quiet)
        process = subprocess.Popen([program, "-D", data, "-k", folder, "-c", "listen_addresses=", "-F"], **quiet)
        try:
            yield ready(f"postgresql:///postgres?host={folder}&user=me")
        finally:
            process.send_signal(signal.SIGINT)  # PostgreSQL's word for a fast shutdown
            process.wait(30)


def ready(url: str) -> str:
    """The address, once the server answers."""
    for _ in range(200):
        with contextlib.suppress(NoMemory), postgres(url):
            return url
        time.sleep(0.1)
    raise AssertionError("the PostgreSQL server did not start")


def test_another_process_goes_on_with_a_thread_in_postgres(server: str) -> None:
    """A thread in a database is the same as one in a file, sync and async."""
    in_another_process(server, "1")

    async def turn() -> list[AnyMessage]:
        async with apostgres(server) as saver:
            state = await conversation(2, saver).ainvoke({"messages": [HumanMessage(ODD)]}, THREAD)
            return list(state["messages"])

    said = asyncio.run(turn())
    assert [*FIRST, ("human", ODD), SAID] == shown(said)
    with postgres(server) as saver:
        assert said == conversation(2, saver).get_state(THREAD).values["messages"]


@pytest.mark.parametrize("opened", [postgres, apostgres])
def test_says_what_is_wrong_with_a_database(opened: Any, tmp_path: Path) -> None:
    """One line says that nobody answers, or that the address is none, and never shows the password."""
    with pytest.raises(NoMemory, match=r"^PostgreSQL: cannot be opened: .*No such file.*$"):
        enter(opened(f"postgresql:///x?host={tmp_path}"))
    with pytest.raises(NoMemory, match="the address of the PostgreSQL database cannot be read; it is like") as caught:
        enter(opened("postgres//me:secret@host/x"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("opened", [postgres, apostgres])
def test_names_the_extra_that_is_missing(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, the line says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NoMemory, match=r"pip install 'diptych\[postgres\]'"):
        enter(opened("postgresql:///x"))
