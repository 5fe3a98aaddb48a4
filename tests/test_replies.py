"""A scripted reply becomes the same bytes each time, and the text of a message is never touched."""

import json
from typing import Any

import pytest

from compare.replies import Reply, Scripted, ScriptedBody, ScriptedClose, ScriptedMessage, to_reply

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def message(text: str, finish_reason: str = "stop", usage: dict[str, Any] | None = None) -> ScriptedMessage:
    """A scripted message with small defaults."""
    return ScriptedMessage(text, finish_reason, USAGE if usage is None else usage)


def body_of(scripted: Scripted) -> bytes:
    """The body of the reply that comes first in a script."""
    return to_reply(scripted, 1, "m").body


def test_a_message_becomes_a_whole_chat_completion() -> None:
    """Every key of the envelope is there, in OpenAI's order, in compact JSON."""
    expected = (
        b'{"id":"chatcmpl-3","object":"chat.completion","created":0,"model":"some-model","choices":[{"index":0,'
        b'"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}'
    )
    reply = to_reply(message('{"role":"assistant","content":"hi"}'), 3, "some-model")
    assert Reply(200, (("Content-Type", "application/json"),), expected) == reply


def test_the_same_script_gives_the_same_bytes() -> None:
    """No clock and no random id goes into a reply."""
    scripted = message('{"content":"hi"}')
    assert to_reply(scripted, 1, "m") == to_reply(scripted, 1, "m")


@pytest.mark.parametrize(
    "text",
    [
        '{"content":"\\ud83d"}',
        '{"content":"首周 \\u9996"}',
        '{"a":1,"a":2}',
        '{ "content" :  1.10 , "big":1e400, "long":12345678901234567890123}',
        '{"content":"a/b \\/ \\u0000"}',
        "{}",
    ],
)
def test_the_text_of_a_message_is_spliced_in_byte_for_byte(text: str) -> None:
    """Escapes, spacing, repeated keys and numbers stand in the body as they stand in the script."""
    assert f'"message":{text},"finish_reason"'.encode() in body_of(message(text))


def test_non_ascii_text_goes_out_as_itself() -> None:
    """The envelope is UTF-8 without escapes, as OpenAI sends it."""
    reply = to_reply(message('{"content":"七"}', finish_reason="好"), 1, "模型")
    assert '"model":"模型"' in reply.body.decode()
    assert '"finish_reason":"好"' in reply.body.decode()


def test_an_odd_model_name_cannot_break_the_json() -> None:
    """What the script names is encoded, so quotes in it stay text."""
    reply = to_reply(message('{"content":"hi"}', finish_reason='a"b'), 1, 'm"},"x":{"')
    parsed = json.loads(reply.body)
    assert [parsed["model"], parsed["choices"][0]["finish_reason"]] == ['m"},"x":{"', 'a"b']


def test_usage_is_sent_as_scripted() -> None:
    """A usage of the script's own replaces the small fixed one."""
    usage = {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 2}}
    assert usage == json.loads(body_of(message("{}", usage=usage)))["usage"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"error":{}}', "application/json"),
        ("[1, 2]", "application/json"),
        ("<html></html>", "text/html"),
        ('{"choices":[', "text/html"),
        ("NaN", "text/html"),
        ("[" * 100_000, "text/html"),
        ("", "text/html"),
    ],
)
def test_the_content_type_follows_the_body(body: str, content_type: str) -> None:
    """A body that is JSON is labelled so, and anything else is taken for a page."""
    reply = to_reply(ScriptedBody(502, (), body), 1, "m")
    assert Reply(502, (("Content-Type", content_type),), body.encode()) == reply


@pytest.mark.parametrize("name", ["Content-Type", "content-type", "CONTENT-TYPE"])
def test_a_scripted_content_type_stands(name: str) -> None:
    """The script's own header wins, however it is spelled, and no second one is added."""
    headers = ((name, "application/json"), ("Retry-After", "1"))
    assert headers == to_reply(ScriptedBody(200, headers, '{"cut'), 1, "m").headers


def test_a_scripted_body_is_sent_byte_for_byte() -> None:
    """Nothing is parsed, trimmed or ended with a line break."""
    body = ' {"a":1.10,  "a":"七"}\r\n'
    assert body.encode() == body_of(ScriptedBody(200, (), body))


def test_a_close_sends_nothing() -> None:
    """A closed connection has no status, no header and no body."""
    assert Reply(0, (), b"", close=True) == to_reply(ScriptedClose(), 1, "m")
