"""JSON text: read as JSON has it, without NaN or anything behind the value, and written so that UTF-8 carries it."""

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


def encode_json(value: Any) -> bytes:
    """The value as compact JSON in UTF-8; with ASCII escapes where it holds text that UTF-8 cannot carry."""
    try:
        return _to_text(value).encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape and UTF-8 cannot encode
        return json.dumps(value, separators=(",", ":")).encode()


# Made once, for the same reason as the decoders.
_to_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encodable(text: str) -> bool:
    """Whether UTF-8 can carry the text: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
