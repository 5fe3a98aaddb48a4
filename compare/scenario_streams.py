"""How a scenario file gives a stream chunk by chunk, and says how the bytes of a reply go out."""

import base64
import json

from compare.replies import ENDINGS, STALL_LIMIT, Delta, Piece, Sending, check_json
from compare.streams import event
from compare.toml_table import Table, either

SENDING_KEYS = ("split", "cut", "drip", "ending", "stall_limit")
_FORMS = ("delta", "chunk", "data", "text", "base64")
_ITEM_KEYS = (*_FORMS, "finish_reason", "pause")
_MOST_SECONDS = 600.0


def read_items(reply: Table) -> tuple[Piece | Delta, ...]:
    """The items of a reply's `stream`, in order. Raises `ScenarioError`."""
    return tuple(_item(item) for item in reply.tables("stream", "stream item"))


def _item(item: Table) -> Piece | Delta:
    item.only(_ITEM_KEYS)
    forms = [form for form in (*_FORMS, "finish_reason") if form in item.values]
    if not forms:
        raise item.wrong("says nothing; give it one of delta, finish_reason, chunk, data, text, base64")
    if len(forms) > 1 and forms != ["delta", "finish_reason"]:
        raise item.wrong(f"{forms[1]!r} does not go with {forms[0]!r}; an item has one form: keep one of the two")
    pause = seconds(item, "pause") or 0.0
    match forms[0]:
        case "chunk":
            return event(_json_text(item), pause)
        case "data":
            return Piece(f"data: {item.need('data', str)}\n\n".encode(), pause)
        case "text":
            return Piece(item.need("text", str).encode(), pause)
        case "base64":
            return Piece(_bytes(item), pause)
    return Delta(_delta(item), item.get("finish_reason", str), pause)


def _delta(item: Table) -> str:
    delta = item.get("delta", dict) or {}
    try:
        return json.dumps(delta, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:  # a date; inf or nan
        raise item.wrong("'delta' holds a value that JSON does not have; write it as 'chunk' or 'data'") from error


def _json_text(item: Table) -> str:
    text = item.need("chunk", str)
    try:
        check_json(text)
    except ValueError as error:
        raise item.wrong(f"'chunk' is not JSON: {error}; for other text use 'data'") from error
    except RecursionError as error:
        raise item.wrong("'chunk' is nested too deeply to be read; for such text use 'data'") from error
    return text


def _bytes(item: Table) -> bytes:
    text = item.need("base64", str)
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise item.wrong(f"'base64' cannot be read: {error}") from error


def read_sending(reply: Table) -> Sending:
    """How the bytes of a reply go out; a `cut` alone ends by closing the connection. Raises `ScenarioError`."""
    split, cut, drip = reply.get("split", int), reply.get("cut", int), seconds(reply, "drip") or 0.0
    if split is not None and split < 1:
        raise reply.wrong(f"split is {split}; a piece has at least 1 byte")
    if cut is not None and cut < 0:
        raise reply.wrong(f"cut is {cut}; it is the number of bytes after which the body ends, 0 for none")
    ending = reply.get("ending", str)
    if ending is not None and ending not in ENDINGS:
        raise reply.wrong(f"ending is {ending!r}; it is one of {either(list(ENDINGS))}")
    limit = seconds(reply, "stall_limit")
    if limit is not None and ending != "stall":
        raise reply.wrong("'stall_limit' is only for ending = \"stall\"")
    default = "whole" if cut is None else "cut"
    return Sending(split, cut, drip, ending or default, STALL_LIMIT if limit is None else limit)


def seconds(table: Table, key: str) -> float | None:
    """A time in seconds, written as an integer or a float; None where the key is missing. Raises `ScenarioError`."""
    whole = type(table.values.get(key)) is int
    value = table.get(key, int) if whole else table.get(key, float)
    if value is not None and not 0 <= value <= _MOST_SECONDS:
        raise table.wrong(f"{key} is {value}; it is a time in seconds, from 0 to {_MOST_SECONDS:g}")
    return None if value is None else float(value)
