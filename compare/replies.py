"""What a scripted reply of the model is, and the bytes that it becomes on the wire."""

import json
from dataclasses import dataclass
from typing import Any

from protocol import is_json, reader

DEFAULT_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True)
class ScriptedMessage:
    """A Chat Completions reply with one choice: the exact JSON text of its message, and what is beside it."""

    message: str
    finish_reason: str
    usage: dict[str, Any]


@dataclass(frozen=True)
class ScriptedBody:
    """An HTTP reply given whole: status, header fields and the exact text of the body (sent as UTF-8)."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


@dataclass(frozen=True)
class ScriptedClose:
    """No reply: the server reads the request and closes the connection."""


Scripted = ScriptedMessage | ScriptedBody | ScriptedClose


@dataclass(frozen=True)
class Reply:
    """What the model server sends: status, header fields and body, or nothing at all when `close` is set.

    Content-Length and Connection are the server's to add: `headers` lacks them. With `close`, `status` is 0.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    close: bool = False


def to_reply(scripted: Scripted, number: int, model: str) -> Reply:
    """What the `number`-th entry of a script (from 1) becomes: the same arguments always give the same bytes.

    The text of a message is spliced in byte for byte, because parsing it would lose duplicate keys, `1.10`,
    `1e400` and the escape of a lone surrogate.
    """
    if isinstance(scripted, ScriptedClose):
        return Reply(0, (), b"", close=True)
    if isinstance(scripted, ScriptedBody):
        return Reply(scripted.status, _with_content_type(scripted), scripted.body.encode())
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": model}
    choice = f'{{"index":0,"message":{scripted.message},"finish_reason":{compact(scripted.finish_reason)}}}'
    body = f'{compact(head)[:-1]},"choices":[{choice}],"usage":{compact(scripted.usage)}}}'
    return Reply(200, (("Content-Type", "application/json"),), body.encode())


def compact(value: object) -> str:
    """JSON text without spaces and with non-ASCII characters as themselves: how OpenAI writes a reply."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


check_json = reader(parse_int=str, parse_float=str)
"""The value of a JSON text, its numbers left as text; ValueError with the position, or RecursionError, for no JSON."""


def _with_content_type(scripted: ScriptedBody) -> tuple[tuple[str, str], ...]:
    if any(name.lower() == "content-type" for name, _ in scripted.headers):
        return scripted.headers
    return (
        ("Content-Type", "application/json" if is_json(scripted.body) else "text/html"),
        *scripted.headers,
    )
