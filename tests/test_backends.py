"""A script answers in order and says where it ends; the demo model answers in the form of a model."""

import json
from typing import Any

import pytest

from compare.backends import demo_model, script
from compare.body import read_whole
from compare.replies import Reply, ScriptedBody, ScriptedClose, ScriptedMessage, to_reply
from compare.server import Request

HELLO = ScriptedMessage('{"role":"assistant","content":"hello"}', "stop", {})
PAGE = ScriptedBody(502, (), "<html>")


def request(number: int = 1, **envelope: Any) -> Request:
    """A request for the model with this envelope, one message of a user where it has none."""
    body = {"model": "m", "messages": [{"role": "user", "content": "2 + 3"}], **envelope}
    return Request(number, "POST", "/v1/chat/completions", (), b"", read_whole(json.dumps(body).encode()))


def error_text(reply: Reply) -> Any:
    """What an error reply says."""
    return json.loads(reply.body)["error"]["message"]


def test_a_script_gives_each_reply_once_in_order() -> None:
    """Whatever is asked, the second reply comes second, and its bytes are those that the scenario makes."""
    answer = script([HELLO, PAGE, ScriptedClose(), HELLO], "m")
    given = [answer(request(number)) for number in (5, 6, 7, 8)]
    expected = [to_reply(HELLO, 1, "m"), to_reply(PAGE, 2, "m"), to_reply(ScriptedClose(), 3, "m")]
    assert [*expected, to_reply(HELLO, 4, "m")] == given


def test_behind_the_last_reply_the_script_says_that_it_ended() -> None:
    """Each request too many is counted, and none is answered with a reply given before."""
    answer = script([HELLO, HELLO], "m")
    replies = [answer(request()) for _ in range(4)]
    assert [200, 200, 400, 400] == [reply.status for reply in replies]
    expected = ["request 3, but the script ends after 2", "request 4, but the script ends after 2"]
    assert expected == [error_text(reply) for reply in replies[2:]]


def test_a_script_without_replies_has_ended_at_once() -> None:
    """There is nothing to fall back to."""
    assert error_text(script([], "m")(request())) == "request 1, but the script ends after 0"


def test_two_scripts_of_the_same_replies_count_for_themselves() -> None:
    """Each run makes its own, and begins at the first reply."""
    replies = [HELLO]
    first, second = script(replies, "m"), script(replies, "m")
    assert [200, 400, 200] == [first(request()).status, first(request()).status, second(request()).status]


def test_the_demo_model_answers_as_a_chat_completion() -> None:
    """The id goes by the request, the model is the one that was asked for, and there is one choice."""
    reply = demo_model(request(7, model="some-model"))
    completion = json.loads(reply.body)
    assert (200, "chatcmpl-7", "some-model") == (reply.status, completion["id"], completion["model"])
    assert [(0, "assistant")] == [(one["index"], one["message"]["role"]) for one in completion["choices"]]


def test_the_demo_model_hears_all_messages_and_the_tools() -> None:
    """A sum is put to the calculator where there is one."""
    tool = {"type": "function", "function": {"name": "calculator", "parameters": {"type": "object"}}}
    message = json.loads(demo_model(request(tools=[tool])).body)["choices"][0]["message"]
    assert ["calculator"] == [call["function"]["name"] for call in message["tool_calls"]]


def test_the_same_request_gives_the_same_bytes() -> None:
    """The demo model has no clock and no chance in it."""
    assert demo_model(request()) == demo_model(request())


@pytest.mark.parametrize("text", ["read \ud83d.txt", "\ud83d", "what is \ud83d?"])
def test_the_demo_model_answers_text_that_utf_8_cannot_carry(text: str) -> None:
    """A prompt may hold a lone surrogate, as an escape; the answer may repeat it, as an escape."""
    reply = demo_model(request(model="\ud83d", messages=[{"role": "user", "content": text}]))
    assert json.loads(reply.body)["model"] == "\ud83d"


@pytest.mark.parametrize("messages", [[], [1], [None], [{}], [{"role": 5, "content": [1]}], [{"role": "tool"}]])
def test_the_demo_model_answers_messages_of_any_form(messages: list[Any]) -> None:
    """A client in the making may send anything; that is no fault of the server."""
    assert demo_model(request(messages=messages, tools=5)).status == 200
