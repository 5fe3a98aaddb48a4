"""The LangGraph lane, by what it sends: the framework's defaults, shown and not repaired."""

import inspect
import logging
from typing import Any

import pytest

import lc
import raw
from compare.replies import Scripted, ScriptedClose
from compare.server import ModelServer
from tests.servers import bodies, broken_tool, calls, echo_tool, fails, results, says, serving, settings
from toolbox import Tool

FAST = {"retry_after_ms": "1"}


def run(server: ModelServer, *tools: Tool, **more: Any) -> tuple[list[Any], str]:
    return lc.run("hello", list(tools or [echo_tool()]), **settings(server), **more)


def test_both_lanes_have_one_signature_and_one_docstring() -> None:
    """A diff of the two files shows only the idea; the one other default is the framework's own."""
    left, right = inspect.signature(raw.run), inspect.signature(lc.run)
    assert list(left.parameters) == list(right.parameters)
    parted = [name for name in left.parameters if left.parameters[name] != right.parameters[name]]
    assert parted == ["max_retries"]
    assert raw.run.__doc__ == lc.run.__doc__


def test_sends_system_prompt_and_results() -> None:
    """The graph opens with the same messages as the loop by hand, and answers a call with the bare result."""
    with serving(calls(("c1", "echo", '{"text": "a"}')), says("b")) as server:
        messages, stop = run(server, system="be brief")
        sent = bodies(server)[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert results(sent) == [("c1", "a")]
    assert (messages[-1]["content"], stop) == ("b", "answer")


def test_stops_at_the_round_limit_after_as_many_requests() -> None:
    """N rounds are N requests here too, and the history up to there is returned."""
    with serving(*[calls((f"c{n}", "echo", '{"text": "a"}')) for n in range(4)]) as server:
        messages, stop = run(server, max_rounds=3)
        assert len(server.exchanges) == 3
    assert stop == "round-limit"
    assert [call_id for call_id, _ in results(messages)] == ["c0", "c1", "c2"]


@pytest.mark.parametrize(
    ("reply", "stop"),
    [(fails(400), "http-error"), (fails(500, **FAST), "http-error"), (ScriptedClose(), "connection-error")],
)
def test_names_an_error_of_the_server(reply: Scripted, stop: str) -> None:
    """What the client library raises becomes the stop reason, and the history is kept."""
    with serving(reply) as server:
        messages, named = run(server, max_retries=0)
    assert (named, messages) == (stop, [{"role": "user", "content": "hello"}])


def test_retries_as_the_framework_does() -> None:
    """By default a request goes out three times."""
    with serving(*[fails(500, **FAST)] * 3) as server:
        run(server)
        assert len(server.exchanges) == 3


def test_lets_a_tools_exception_escape() -> None:
    """ToolNode's default: the exception ends the run."""
    with serving(calls(("c1", "broken", "{}"))) as server, pytest.raises(KeyError, match="x"):
        run(server, broken_tool(KeyError("x")))


def test_ends_in_silence_on_arguments_that_are_no_json() -> None:
    """The call is neither run nor answered, and nothing is raised."""
    ran: list[Any] = []
    with serving(calls(("c1", "echo", '{"text": '))) as server:
        _, stop = run(server, echo_tool(ran))
        assert (len(server.exchanges), ran, stop) == (1, [], "empty-answer")


def test_logs_its_progress(caplog: pytest.LogCaptureFixture) -> None:
    """Rounds, calls, results and errors are logged like those of the loop by hand."""
    replies = (calls(("c1", "echo", '{"text": "a"}')), fails(401, "bad key"))
    with caplog.at_level(logging.INFO, "lc"), serving(*replies) as server:
        run(server)
    ours = [record.getMessage() for record in caplog.records if record.name == "lc"]
    assert ours[:3] == ["[round 1]", '[tool] echo({"text": "a"})', "[result] a"]
    assert "401" in ours[3]
