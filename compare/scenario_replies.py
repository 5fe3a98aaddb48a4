"""The forms that a scripted reply has in a scenario file, and how each is read."""

import re
from typing import Any

from compare.replies import (
    AT_ONCE,
    DEFAULT_USAGE,
    Scripted,
    ScriptedBody,
    ScriptedClose,
    ScriptedMessage,
    ScriptedStream,
    Sending,
    check_json,
    compact,
)
from compare.scenario_streams import SENDING_KEYS, read_items, read_sending
from compare.toml_table import Table
from compare.values import MAX_DEPTH, too_deep

# Each form of a reply: the keys that tell it apart, and the keys that may stand beside them.
_FORMS = (
    (("content", "tool_calls"), ("finish_reason", "usage", "stream", *SENDING_KEYS)),
    (("message",), ("finish_reason", "usage", "stream", *SENDING_KEYS)),
    (("status",), ("headers", "body", "stream", *SENDING_KEYS)),
    (("close",), ()),
    (("stream",), SENDING_KEYS),
)
_REPLY_KEYS = tuple(dict.fromkeys(key for form in _FORMS for keys in form for key in keys))
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_FRAMING = ("content-length", "transfer-encoding", "connection")


def read_replies(top: Table) -> tuple[Scripted, ...]:
    """The `[[reply]]`s of a scenario file, in order. Raises `ScenarioError`."""
    tables = top.tables("reply", "reply")
    if not tables:
        raise top.wrong('there is no reply; add [[reply]] with content = "..."')
    return tuple(_reply(table) for table in tables)


def _reply(table: Table) -> Scripted:
    table.only(_REPLY_KEYS)
    forms = [(marks, beside) for marks, beside in _FORMS if any(key in table.values for key in marks)]
    if not forms:
        raise table.wrong("says nothing; give it content or tool_calls, message, status, or close = true; or a stream")
    marks, beside = forms[0]
    for key in table.values:
        if key not in marks + beside:
            mark = next(mark for mark in marks if mark in table.values)
            raise table.wrong(f"{key!r} does not go with {mark!r}; a reply has one form: keep one of the two")
    if "close" in marks:
        if table.need("close", bool):
            return ScriptedClose()
        raise table.wrong("close is false; leave it out, or write close = true")
    sending = read_sending(table)
    if "stream" not in table.values:
        return _plain(table, marks, sending)
    plain = None if "stream" in marks else _plain(table, marks, AT_ONCE)
    return ScriptedStream(read_items(table), plain, sending)


def _plain(table: Table, marks: tuple[str, ...], sending: Sending) -> ScriptedMessage | ScriptedBody:
    if "status" in marks:
        return _body(table, sending)
    message, default = _exact_message(table) if "message" in marks else _composed_message(table)
    finish_reason = table.get("finish_reason", str)
    return ScriptedMessage(message, default if finish_reason is None else finish_reason, _usage(table), sending)


def _composed_message(table: Table) -> tuple[str, str]:
    """The JSON text of a message given by its parts, and the finish reason that goes with it."""
    message: dict[str, Any] = {"role": "assistant", "content": table.get("content", str)}
    if "tool_calls" in table.values:
        message["tool_calls"] = [_tool_call(call) for call in table.tables("tool_calls", "tool call")]
    return compact(message), "tool_calls" if message.get("tool_calls") else "stop"


def _tool_call(call: Table) -> dict[str, Any]:
    call.only(("id", "name", "arguments"), "for any other key or type, write the reply as 'message'")
    if type(call.values.get("arguments")) is dict:
        raise call.wrong("'arguments' is a table, but must be the exact string that the model wrote: '{...}'")
    call_id = call.get("id", str)
    function = {"name": call.need("name", str), "arguments": call.need("arguments", str)}
    return ({} if call_id is None else {"id": call_id}) | {"type": "function", "function": function}


def _exact_message(table: Table) -> tuple[str, str]:
    text = table.need("message", str)
    try:
        value = check_json(text)
    except ValueError as error:
        raise table.wrong(f"'message' is not JSON: {error}; for other text use status and body") from error
    except RecursionError as error:
        raise table.wrong("'message' is nested too deeply to be read") from error
    if too_deep(text):
        raise table.wrong(f"'message' is nested more than {MAX_DEPTH} levels deep, and no request may be")
    if not isinstance(value, dict):
        raise table.wrong("'message' is not a JSON object; for any other value use status and body")
    return text, "tool_calls" if value.get("tool_calls") else "stop"


def _usage(table: Table) -> dict[str, Any]:
    usage = table.get("usage", dict)
    for value in (usage or {}).values():
        details = value.values() if type(value) is dict else [value]
        if any(type(number) is not int for number in details):
            raise table.wrong("'usage' must hold integers: usage = { prompt_tokens = 10, completion_tokens = 5 }")
    return DEFAULT_USAGE if usage is None else usage


def _body(table: Table, sending: Sending) -> ScriptedBody:
    status, body = table.need("status", int), table.get("body", str) or ""
    if not 200 <= status <= 599:
        raise table.wrong(f"status is {status}; a final HTTP status is a number from 200 to 599")
    if body and status in (204, 304):
        raise table.wrong(f"status {status} has no body; leave 'body' out")
    headers = table.get("headers", dict) or {}
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise table.wrong(f"headers: {name!r} is not the name of a header field")
        if name.lower() in _FRAMING:
            raise table.wrong(f"headers: {name!r} is the server's to send; leave it out")
        if name.lower() == "location" and not str(value).startswith("/"):
            raise table.wrong("headers: 'Location' must be a path on this server, such as \"/v1/elsewhere\"")
        if type(value) is not str or not _HEADER_VALUE.fullmatch(value):
            raise table.wrong(f'headers: {name!r} must be a string of printable ASCII: {name} = "..."')
    return ScriptedBody(status, tuple(headers.items()), body, sending)
