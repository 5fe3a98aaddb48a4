"""JSON text read as JSON has it: no NaN, no infinities, nothing behind the value."""

import json
from collections.abc import Callable
from typing import Any


class NotJsonError(ValueError):
    """What Python's reader takes and JSON does not have."""


def no_constant(word: str) -> Any:
    """Refuse NaN and the infinities."""
    raise NotJsonError(f"{word} is no number of JSON")


def reader(**how: Any) -> Callable[[str], Any]:
    """A function that reads JSON text; `how` is what json.JSONDecoder takes.

    It raises ValueError for text that is no JSON, and RecursionError for a deep nest. The decoder is made once:
    json.loads makes a new one for each call that asks for more than its defaults.
    """
    decoder = json.JSONDecoder(parse_constant=no_constant, **how)

    def read(text: str) -> Any:
        try:
            value, end = decoder.raw_decode(text)
        except json.JSONDecodeError:  # perhaps only white space at the front, which the full reader takes
            return decoder.decode(text)
        # Nearly always the text ends here; white space behind it, or too much text, is left to the full reader too.
        return decoder.decode(text) if text[end:] else value

    return read


read_json = reader()


def is_json(text: str) -> bool:
    """Whether the text is JSON."""
    try:
        read_json(text)
    except (ValueError, RecursionError):
        return False
    return True
