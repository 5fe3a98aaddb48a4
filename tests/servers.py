"""What tests share: a model server that gives scripted replies, and what it was sent."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compare.backends import script
from compare.replies import Scripted, ScriptedBody, ScriptedMessage
from compare.server import Backend, ModelServer
from toolbox import Tool

USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def says(content: str | None = "done", finish_reason: str = "stop", **more: Any) -> ScriptedMessage:
    """A reply without tool calls."""
    return ScriptedMessage(json.dumps({"role": "assistant", "content": content, **more}), finish_reason, USAGE)


def calls(*calls: tuple[Any, str, Any], finish_reason: str = "tool_calls", **more: Any) -> ScriptedMessage:
    """A reply with tool calls, each as (id, name, arguments)."""
    entries = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    return says(None, finish_reason, tool_calls=entries, **more)


def fails(status: int, text: str = "no", **headers: str) -> ScriptedBody:
    """An HTTP error with the sentence in OpenAI's form."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return ScriptedBody(status, named, json.dumps({"error": {"message": text}}))


def replies(count: int) -> list[Scripted]:
    """So many plain answers, each of its own text."""
    return [says(str(number)) for number in range(count)]


def backend(*scripted: Scripted) -> Backend:
    """A script with these replies; one plain answer where none is given."""
    return script(scripted or replies(1), "m")


@contextmanager
def serving(*replies: Scripted) -> Iterator[ModelServer]:
    """A model server that gives these replies in order."""
    with ModelServer(script(replies, "m")) as server:
        yield server


def bodies(server: ModelServer) -> list[dict[str, Any]]:
    """The parsed bodies of all requests so far."""
    return [json.loads(exchange.request.body.raw()) for exchange in server.exchanges]


def settings(server: ModelServer) -> dict[str, Any]:
    """The keyword arguments by which a lane reaches the server."""
    return {"base_url": server.base_url, "model": "m", "api_key": "k"}


def echo_tool(log: list[Any] | None = None) -> Tool:
    """A tool `echo(text)` that returns its argument, and enters it into the log."""

    def echo(text: str) -> str:
        if log is not None:
            log.append(text)
        return text

    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    return Tool("echo", "Give the text back.", schema, echo)


def broken_tool(error: Exception) -> Tool:
    """A tool `broken()` that raises the error."""

    def broken() -> str:
        raise error

    return Tool("broken", "Fail.", {"type": "object", "properties": {}, "additionalProperties": False}, broken)


def results(body: dict[str, Any] | Sequence[Any]) -> list[tuple[Any, Any]]:
    """The (id, observation) pairs of a request's tool messages, observations parsed where they are JSON objects."""
    messages = body["messages"] if isinstance(body, dict) else body
    pairs = []
    for message in messages:
        if message["role"] == "tool":
            content = message["content"]
            pairs.append((message["tool_call_id"], json.loads(content) if content.startswith("{") else content))
    return pairs
