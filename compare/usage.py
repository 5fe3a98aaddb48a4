"""What a reply says that it cost: the `usage` of a plain body, or of the last event of a stream that has one."""

from typing import Any

from compare.values import parse
from protocol import SseReader

KEY = '"usage"'


def usage(body: bytes) -> dict[str, Any] | None:
    """The reply's own count of tokens, as it came; None where it holds none that can be read."""
    reader = SseReader()  # takes a plain body for one event
    texts = [*reader.feed(body), *reader.end()]
    for text in reversed(texts):
        found = usage_in(text) if KEY in text else None
        if found is not None:
            return found
    return None


def usage_in(text: str) -> dict[str, Any] | None:
    """The same for the text of one event."""
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    found = value.get("usage") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None
