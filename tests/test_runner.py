"""A run is all evidence of one lane: its exchanges, the tools that ran, and what it returned or raised."""

import asyncio
import inspect
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from compare.backends import script
from compare.lanes import Lane
from compare.replies import Reply, ScriptedMessage
from compare.runner import API_KEY, Execution, Run, Task, run_lane
from compare.server import Backend, Request
from toolbox import Tool, standard_tools

TASK = Task("What is 2 + 3?", "scripted-model", "Be short.", 5, {"docs/a.txt": "one\r\ntwo\n", "b.txt": ""})
BODY = b'{"messages":[{"role":"user","content":"hi"}]}'
Tools = Sequence[Tool]


def backend(count: int = 3) -> Backend:
    """A script of so many answers."""
    return script([ScriptedMessage('{"role":"assistant","content":"5"}', "stop", {})] * count, "m")


def run(function: Callable[..., Any], task: Task = TASK, deadline: float = 10.0) -> Run:
    """One run of a lane that is this function."""
    return run_lane(Lane("mine", function), task, backend(), deadline)


def with_tools(use: Callable[[dict[str, Callable[..., Any]]], Any], task: Task = TASK) -> list[Execution]:
    """What is recorded of a lane that does this with its tools."""

    def lane(prompt: str, tools: Tools, **_: Any) -> tuple[list[Any], str]:
        use({tool.name: tool.function for tool in tools})
        return [], "answer"

    told = run(lane, task)
    assert told.raised is None
    return told.executions


def post(base_url: str) -> None:
    """One request for the model."""
    httpx.post(f"{base_url}/chat/completions", content=BODY)


# --- the contract ---


def test_a_lane_is_called_by_its_contract() -> None:
    """The prompt, the tools, and by name whatever else a lane needs to know."""
    seen: dict[str, Any] = {}

    def lane(*values: Any, **named: Any) -> tuple[list[Any], str]:
        seen["values"], seen["named"] = values, named
        return [{"role": "user"}], "answer"

    told = run(lane)
    prompt, tools = seen["values"]
    assert ("What is 2 + 3?", told.tools) == (prompt, [tool.schema() for tool in tools])
    assert {
        "base_url": f"http://127.0.0.1:{told.port}/v1",
        "model": "scripted-model",
        "api_key": API_KEY,
        "system": "Be short.",
        "max_rounds": 5,
        "timeout": 60.0,
    } == seen["named"]
    assert ([{"role": "user"}], "answer", None, False) == (told.messages, told.stop, told.raised, told.timed_out)
    assert ("mine", TASK) == (told.lane, told.task)


def test_the_lane_gets_the_standard_tools() -> None:
    """By name and schema those that the toolbox makes."""
    told = run(lambda *_, **__: ([], "answer"))
    assert [tool.schema() for tool in standard_tools(".")] == told.tools


def test_the_exchanges_of_a_run_are_its_own() -> None:
    """Two runs of one lane: each begins at request 1."""

    def lane(prompt: str, tools: Tools, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        post(base_url)
        post(base_url)
        return [], "answer"

    first, second = run(lane), run(lane)
    assert [[1, 2], [1, 2]] == [[one.request.number for one in told.exchanges] for told in (first, second)]
    assert 0 < first.exchanges[-1].answered - first.exchanges[0].received < first.seconds


def test_a_lane_that_asks_nothing_is_a_result() -> None:
    """It has no exchanges and no executions, and what it claims is kept."""
    told = run(lambda *_, **__: ([], "answer"))
    assert ([], [], [], "answer") == (told.exchanges, told.executions, told.messages, told.stop)


# --- lanes that go wrong ---


@pytest.mark.parametrize(
    "error",
    [ValueError("wrong"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), RecursionError("deep"), MemoryError()],
)
def test_a_lane_that_raises_is_a_result(error: BaseException, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever it raises; what it did before is kept, and nothing is printed or ended."""

    def lane(prompt: str, tools: Tools, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        post(base_url)
        raise error

    told = run(lane)
    assert (error, None, None, 1, False) == (
        told.raised,
        told.messages,
        told.stop,
        len(told.exchanges),
        told.timed_out,
    )
    assert ("", "") == capfd.readouterr()


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (None, "NoneType"),
        ("ab", "str"),
        (5, "int"),
        ({"messages": [], "stop": "answer"}, "dict"),
        ((), "()"),
        (([],), "(list)"),
        (([], "answer", 1), "(list, str, int)"),
        (([], None), "(list, NoneType)"),
        (("answer", []), "(str, list)"),
        (((), "answer"), "(tuple, str)"),
    ],
)
def test_a_lane_that_returns_other_types_is_a_result(returned: Any, found: str) -> None:
    """The error says what the contract is and what came instead."""
    told = run(lambda *_, **__: returned)
    expected = f"a lane returns (list of messages, stop reason), but mine returned {found}"
    assert (TypeError, expected, None) == (type(told.raised), str(told.raised), told.stop)


def test_a_lane_that_is_asynchronous_is_a_result() -> None:
    """Its coroutine is not awaited, and Python has nothing to warn of."""

    async def lane(*_: Any, **__: Any) -> tuple[list[Any], str]:
        return [], "answer"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(run(lane).raised).endswith("but mine returned coroutine")


def test_a_lane_may_run_an_event_loop_of_its_own() -> None:
    """As one does that wraps an asynchronous agent."""

    async def work() -> tuple[list[Any], str]:
        return [], "answer"

    assert run(lambda *_, **__: asyncio.run(work())).stop == "answer"


def test_a_lane_that_takes_other_arguments_is_a_result() -> None:
    """A function that knows nothing of the contract cannot be called by it."""
    told = run(lambda prompt: ([], "answer"))
    assert TypeError is type(told.raised)
    assert "unexpected keyword argument" in str(told.raised)


def test_a_lane_that_hangs_is_a_result() -> None:
    """At the deadline the run ends; what the lane still does in its thread does not change the evidence."""
    go_on, ended = threading.Event(), threading.Event()

    def lane(prompt: str, tools: Tools, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        post(base_url)
        go_on.wait(10)
        try:
            tools[0].function("1 + 1")
            post(base_url)
        finally:
            ended.set()
        return [], "answer"

    started = time.perf_counter()
    told = run(lane, deadline=0.2)
    assert 0.19 < told.seconds <= time.perf_counter() - started < 2
    go_on.set()
    assert ended.wait(5)
    assert (TimeoutError, True) == (type(told.raised), told.timed_out)
    assert "the lane did not end within 0.2 seconds" == str(told.raised)
    assert (1, [], None) == (len(told.exchanges), told.executions, told.stop)


def test_a_lane_that_hangs_in_a_request_is_ended_with_its_connection() -> None:
    """The server closes under it, so that it leaves no socket behind."""
    ended = threading.Event()

    def lane(prompt: str, tools: Tools, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        with httpx.Client(timeout=None) as client:  # noqa: S113 # this lane has no patience limit, on purpose
            try:
                client.post(f"{base_url}/chat/completions", content=slow())
            except httpx.TransportError:
                ended.set()
        return [], "answer"

    def slow() -> Any:
        yield b'{"messages":'
        time.sleep(0.4)
        yield b"[]"
        time.sleep(0.2)
        yield b"}"

    assert run(lane, deadline=0.1).timed_out
    assert ended.wait(5)


def test_a_backend_that_raises_is_a_fault_of_ours() -> None:
    """No run comes of it, because the lane would be judged by what no model said."""

    def broken(request: Request) -> Reply:
        raise ZeroDivisionError

    def lane(prompt: str, tools: Tools, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        post(base_url)
        return [], "answer"

    with pytest.raises(RuntimeError, match="backend failed"):
        run_lane(Lane("mine", lane), TASK, broken)


# --- the tools that ran ---


def test_each_use_of_a_tool_is_recorded_with_its_result() -> None:
    """Name, arguments, result and time, in order, as often as it ran."""
    uses = with_tools(lambda tools: [tools["calculator"](expression=text) for text in ("2+3", "2+3", "7*6")])
    expected = [("2+3", 5), ("2+3", 5), ("7*6", 42)]
    assert expected == [(use.arguments["expression"], use.result) for use in uses]
    assert {("calculator", None)} == {(use.name, use.error) for use in uses}
    assert all(0 <= use.seconds < 1 for use in uses)


def test_arguments_may_come_by_position_or_by_name() -> None:
    """The record has their names either way, and says which of them are defaults."""

    def use(tools: dict[str, Callable[..., Any]]) -> None:
        tools["search_text"]("one")
        tools["search_text"]("one", "docs")
        tools["search_text"](path="docs", query="one")

    first, second, third = with_tools(use)
    assert ({"query": "one", "path": "."}, {"path": "."}) == (first.arguments, first.defaults)
    assert {"query": "one", "path": "docs"} == second.arguments == third.arguments


def test_what_a_tool_raises_is_recorded_and_reaches_the_lane() -> None:
    """The very same exception."""
    caught = []

    def use(tools: dict[str, Callable[..., Any]]) -> None:
        try:
            tools["calculator"]("1/0")
        except ZeroDivisionError as error:
            caught.append(error)

    (execution,) = with_tools(use)
    assert ([execution.error], None) == (caught, execution.result)


def test_a_use_that_does_not_fit_the_tool_is_none() -> None:
    """Nothing was executed, and the lane hears what Python says of such a call."""

    def use(tools: dict[str, Callable[..., Any]]) -> None:
        for wrong in ({}, {"expression": "1", "more": 2}):
            with pytest.raises(TypeError):
                tools["calculator"](**wrong)

    assert [] == with_tools(use)


def test_a_use_is_placed_behind_the_exchange_that_it_follows() -> None:
    """Before the first request 0, behind the first 1, and so on."""

    def lane(prompt: str, tools: Tools, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        for _number in range(3):
            tools[0].function("1")
            post(base_url)
        tools[0].function("1")
        return [], "answer"

    assert [0, 1, 2, 3] == [use.after for use in run(lane).executions]


def test_tools_may_be_used_in_several_threads() -> None:
    """A framework runs the calls of one turn side by side; none is lost."""

    def use(tools: dict[str, Callable[..., Any]]) -> None:
        threads = [threading.Thread(target=tools["calculator"], args=(f"{number} * 2",)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(range(0, 40, 2)) == sorted(use.result for use in with_tools(use))


def test_a_recorded_tool_looks_like_the_tool() -> None:
    """Frameworks build a schema from the function: its name, signature, annotations and docstring stay."""
    seen: list[Tool] = []

    def lane(prompt: str, tools: Tools, **_: Any) -> tuple[list[Any], str]:
        seen.extend(tools)
        return [], "answer"

    run(lane)
    for plain, recorded in zip(standard_tools("."), seen, strict=True):
        assert (plain.name, plain.description, plain.parameters) == (
            recorded.name,
            recorded.description,
            recorded.parameters,
        )
        assert inspect.signature(plain.function) == inspect.signature(recorded.function)
        assert inspect.get_annotations(plain.function) == inspect.get_annotations(recorded.function)
        assert (plain.function.__name__, plain.function.__doc__) == (
            recorded.function.__name__,
            recorded.function.__doc__,
        )


# --- the workspace ---


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made, empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_tools_see_the_workspace_which_is_removed_behind_the_run(temporary: Path) -> None:
    """Its files stand in a folder of their own, byte for byte as the scenario has them."""
    found = {}

    def lane(prompt: str, tools: Tools, **_: Any) -> tuple[list[Any], str]:
        (folder,) = temporary.iterdir()
        found.update({str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.txt")})
        named = {tool.name: tool.function for tool in tools}
        return [named["read_text_file"]("docs/a.txt")], "answer"

    told = run(lane)
    assert {"docs/a.txt": b"one\r\ntwo\n", "b.txt": b""} == found
    assert ["one\r\ntwo\n"] == told.messages
    assert [] == list(temporary.iterdir())


@pytest.mark.parametrize("deadline", [0.0, 10.0])
def test_the_workspace_is_removed_however_the_run_ends(temporary: Path, deadline: float) -> None:
    """Also behind a lane that raises, and under one that hangs."""
    go_on = threading.Event()

    def lane(*_: Any, **__: Any) -> tuple[list[Any], str]:
        if deadline == 0:
            go_on.wait(10)
        raise SystemExit

    told = run(lane, deadline=deadline)
    go_on.set()
    assert (deadline == 0) == told.timed_out
    assert [] == list(temporary.iterdir())


def test_with_a_root_the_tools_see_that_folder(tmp_path: Path) -> None:
    """As `diptych ask` wants it; nothing in it is written or removed."""
    (tmp_path / "mine.txt").write_text("my text")
    uses = with_tools(lambda tools: tools["read_text_file"]("mine.txt"), Task("x", "m", root=tmp_path))
    assert ["my text"] == [use.result for use in uses]
    assert ["mine.txt"] == [path.name for path in tmp_path.iterdir()]
