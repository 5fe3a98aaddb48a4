"""How JSON of any shape is read: what is not of the shape looked for counts as not there."""

import json
from typing import Any

from compare.replies import compact


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in dicts(content) if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def sendable(text: str) -> str:
    """The text with each half of a surrogate pair replaced, so that it can be sent as UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parsed(text: str) -> Any:
    """The value of a JSON text, numbers as they were written; None for what is no JSON."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def shown(value: Any) -> str:
    """A string as it is, any other value as JSON."""
    try:
        return value if isinstance(value, str) else compact(value)
    except RecursionError:  # the writer of JSON gives up some levels before its reader does
        return "[…]"
