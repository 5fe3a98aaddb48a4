"""The hand-written lane, by what it sends."""

import itertools
import json
import logging
from typing import Any

import pytest

import raw
from compare.replies import Scripted, ScriptedBody, ScriptedClose
from compare.server import ModelServer
from raw.history import History
from tests.servers import bodies, broken_tool, calls, echo_tool, fails, results, says, serving, settings
from toolbox import Tool

ECHO = [echo_tool()]


def run(server: ModelServer, tools: list[Tool] | None = None, **more: Any) -> tuple[list[Any], str]:
    return raw.run("hello", ECHO if tools is None else tools, **settings(server), **more)


def sent_after(*replies: Scripted, tools: list[Tool] | None = None) -> dict[str, Any]:
    """The last request of a run through these replies and a closing one."""
    with serving(*replies, says()) as server:
        run(server, tools)
        return bodies(server)[-1]


def test_opens_with_the_system_text_and_the_prompt() -> None:
    """The first request holds the system message, the user message, the model and the tools."""
    with serving(says()) as server:
        run(server, system="be brief")
        first = bodies(server)[0]
    assert first["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
    ]
    assert first["model"] == "m"
    assert first["tools"] == [ECHO[0].schema()]


def test_sends_no_tools_key_without_tools() -> None:
    """Providers refuse an empty tools list."""
    with serving(says()) as server:
        run(server, [])
        assert "tools" not in bodies(server)[0]


def test_sends_the_assistant_message_back_as_received() -> None:
    """Fields that the protocol does not know come back at their places, values and all."""
    reply = calls(("c1", "echo", '{"text":"a"}'), reasoning_content="hm", x_vendor={"a": [1, None]})
    assert sent_after(reply)["messages"][1] == json.loads(reply.message)


def test_answers_every_call_once_in_order() -> None:
    """Each id has one tool message, in the order of the calls."""
    sent = sent_after(calls(("c1", "echo", '{"text": "a"}'), ("c2", "echo", '{"text": "b"}')))
    assert results(sent) == [("c1", {"ok": True, "result": "a"}), ("c2", {"ok": True, "result": "b"})]


@pytest.mark.parametrize(
    ("name", "arguments", "error_type"),
    [
        ("nope", "{}", "unknown_tool"),
        ("echo", '{"text": "a', "invalid_json"),
        ("echo", "[1]", "invalid_arguments"),
        ("echo", '{"text": 1}', "invalid_arguments"),
        ("echo", '{"text": "a", "more": 1}', "invalid_arguments"),
        ("broken", "{}", "KeyError"),
    ],
)
def test_tells_the_model_of_every_failure(name: str, arguments: str, error_type: str) -> None:
    """A bad call and a failing tool become observations, and the loop goes on."""
    tools = [*ECHO, broken_tool(KeyError("x"))]
    sent = sent_after(calls(("c1", name, arguments), ("c2", "echo", '{"text": "b"}')), tools=tools)
    (first, failure), (second, success) = results(sent)
    assert (first, failure["ok"], failure["error_type"]) == ("c1", False, error_type)
    assert (second, success) == ("c2", {"ok": True, "result": "b"})


def test_runs_nothing_of_a_turn_that_was_cut_off() -> None:
    """With finish_reason length no call runs, and each is answered by an error."""
    ran: list[Any] = []
    reply = calls(("c1", "echo", '{"text": "a"}'), ("c2", "echo", '{"te'), finish_reason="length")
    sent = sent_after(reply, tools=[echo_tool(ran)])
    assert ran == []
    assert [(call_id, told["error_type"]) for call_id, told in results(sent)] == [
        ("c1", "cut_off"),
        ("c2", "cut_off"),
    ]


def test_runs_calls_whatever_the_finish_reason_says() -> None:
    """Servers send stop beside calls: what counts is that there are calls."""
    for finish_reason in ("stop", "content_filter", "banana"):
        sent = sent_after(calls(("c1", "echo", '{"text": "a"}'), finish_reason=finish_reason))
        assert results(sent) == [("c1", {"ok": True, "result": "a"})]


@pytest.mark.parametrize("missing", [None, ""])
def test_makes_up_an_id_for_call_and_result(missing: str | None) -> None:
    """Calls without an id get different ones, the same in call and result."""
    sent = sent_after(calls((missing, "echo", '{"text": "a"}'), (missing, "echo", '{"text": "b"}')))
    ids = [call["id"] for call in sent["messages"][1]["tool_calls"]]
    assert ids == [call_id for call_id, _ in results(sent)]
    assert len(set(ids)) == 2
    assert all(ids)


def test_sends_arguments_that_do_not_parse_back_as_an_empty_object() -> None:
    """The history stays legal for servers that parse it, and the model is told what was wrong."""
    sent = sent_after(calls(("c1", "echo", '{"text": ')))
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert results(sent)[0][1]["error_type"] == "invalid_json"


def test_runs_arguments_that_came_as_an_object() -> None:
    """An object in the place of text is run, and goes back as text."""
    sent = sent_after(calls(("c1", "echo", {"text": "ä"})))
    assert results(sent) == [("c1", {"ok": True, "result": "ä"})]
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"text": "ä"}'


def test_survives_a_lone_surrogate() -> None:
    """Half a surrogate pair in arguments and content goes out as the escape that it came as."""
    sent = sent_after(calls(("c1", "echo", '{"text": "\\ud83d"}'), note="\ud83d"))
    assert results(sent) == [("c1", {"ok": True, "result": "\ud83d"})]
    assert sent["messages"][1]["note"] == "\ud83d"


def test_stops_at_the_round_limit_with_every_call_answered() -> None:
    """N rounds are N requests, and the history that is returned can be gone on from."""
    replies = [calls((f"c{n}", "echo", '{"text": "a"}')) for n in range(3)]
    with serving(*replies) as server:
        messages, stop = run(server, max_rounds=3)
        assert len(server.exchanges) == 3
    assert stop == "round-limit"
    assert [call_id for call_id, _ in results(messages)] == ["c0", "c1", "c2"]
    assert messages[-1]["role"] == "tool"


@pytest.mark.parametrize(
    ("reply", "stop"),
    [
        (says("hi"), "answer"),
        (says(""), "empty-answer"),
        (says(None), "empty-answer"),
        (says("hi", "length"), "cut-off"),
        (says("hi", "content_filter"), "filtered"),
        (says(None, refusal="no"), "filtered"),
        (fails(400), "http-error"),
        (fails(500), "http-error"),
        (ScriptedClose(), "connection-error"),
        (ScriptedBody(200, (), "<html>"), "bad-reply"),
        (ScriptedBody(200, (), '{"error": {"message": "x"}}'), "bad-reply"),
        (ScriptedBody(200, (), '{"choices": []}'), "bad-reply"),
        (ScriptedBody(200, (), "[" * 100_000), "bad-reply"),
    ],
)
def test_names_why_it_stopped(reply: Scripted, stop: str) -> None:
    """Each ending has its own word, and none raises."""
    with serving(reply) as server:
        assert run(server)[1] == stop


def test_an_error_loses_nothing_of_the_history() -> None:
    """What was said before the error is returned."""
    with serving(calls(("c1", "echo", '{"text": "a"}')), fails(500)) as server:
        messages, stop = run(server)
    assert stop == "http-error"
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]


def test_the_returned_history_can_be_sent() -> None:
    """Empty tool_calls and null content, which providers refuse, are repaired in what is returned."""
    with serving(says(None, tool_calls=[])) as server:
        assert run(server)[0][-1] == {"role": "assistant", "content": ""}


def test_does_not_retry_unless_asked() -> None:
    """One request by default; with max_retries that many more, and the same bytes each time."""
    with serving(fails(500), says()) as server:
        run(server)
        assert len(server.exchanges) == 1
    with serving(fails(429, retry_after="0"), fails(503, retry_after="0"), says()) as server:
        assert run(server, max_retries=2)[1] == "answer"
        assert len({exchange.request.body.raw() for exchange in server.exchanges}) == 1


def test_does_not_retry_what_will_not_get_better() -> None:
    """A 400 is final, and so is a wait that the server wants longer than a minute."""
    for reply in (fails(400), fails(429, retry_after="61")):
        with serving(reply, says()) as server:
            assert run(server, max_retries=2)[1] == "http-error"
            assert len(server.exchanges) == 1


def test_each_request_is_the_one_before_with_more_at_the_end() -> None:
    """The bytes of the history never change, so that a prefix cache holds."""
    replies = [calls((f"c{n}", "echo", '{"text":"ä"}')) for n in range(3)]
    with serving(*replies, says()) as server:
        run(server)
        sent = [exchange.request.body.raw() for exchange in server.exchanges]
    for before, after in itertools.pairwise(sent):
        assert after.startswith(before.removesuffix(b"]}"))


def test_encodes_each_message_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over n rounds the history encodes as many messages as it holds."""
    encoded: list[Any] = []
    monkeypatch.setattr("raw.history.encode_json", lambda value: encoded.append(value) or json.dumps(value).encode())  # type: ignore[func-returns-value]
    history = History("m", [], [{"role": "user", "content": "a"}])
    for number in range(5):
        history.add({"role": "assistant", "content": str(number)})
        assert json.loads(history.request())["messages"] == history.messages
    assert len(encoded) == 1 + 6


def test_logs_its_progress(caplog: pytest.LogCaptureFixture) -> None:
    """Rounds, calls, results and errors are logged at level INFO."""
    with (
        caplog.at_level(logging.INFO, "raw"),
        serving(calls(("c1", "echo", '{"text":"a"}')), fails(401, "bad key")) as server,
    ):
        run(server)
    assert caplog.messages == [
        "[round 1]",
        '[tool] echo({"text":"a"})',
        '[result] {"ok": true, "result": "a"}',
        "[round 2]",
        "[error] HTTP 401: bad key",
    ]
