"""JSON values as the judge sees them: numbers as they were spelled, keys that may be missing, and equality."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from protocol import reader


class Missing:
    """The value of a key that is not there."""

    def __repr__(self) -> str:
        return "(missing)"


MISSING = Missing()


class Spelled(float):
    """A float that remembers how it was written: 1.10 is not 1.1 on the wire, and 1e400 is no infinity there."""

    def __new__(cls, text: str) -> "Spelled":
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


parse = reader(parse_float=Spelled)
"""JSON with each number that has a point or an exponent kept as it was spelled. Raises like every reader."""


MAX_DEPTH = 100
"""Levels of arrays and objects. What is deeper is not taken, because whoever reads it recurses into it."""
BRACKET = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[][{}]', re.DOTALL)
"""A bracket, or a text, which is taken to its end also where it has none: a second look costs the square of it."""


def too_deep(text: str, limit: int = MAX_DEPTH) -> bool:
    """Whether in a JSON text more than `limit` arrays and objects stand in one another."""
    if text.count("[") + text.count("{") <= limit:
        return False
    level = 0
    for found in BRACKET.finditer(text):
        level += (found[0] in "[{") - (found[0] in "]}")
        if level > limit:
            return True
    return False


def equal(one: Any, other: Any) -> bool:
    """Equality as JSON has it: true is not 1, and numbers are equal by value, exactly."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, float) and isinstance(other, float | int):
        return same_number(str(one), other if isinstance(other, int) else str(other))
    if isinstance(other, float) and isinstance(one, int):
        return same_number(one, str(other))
    return bool(one == other)


def same_number(one: str | int, other: str | int) -> bool:
    """Whether two spellings name the same number, exactly: by their digits, not by the nearest float."""
    try:
        return one == other or Decimal(one) == Decimal(other)
    except InvalidOperation:  # an exponent beyond even Decimal's
        return False


def same(one: Any, other: Any) -> bool:
    """Equal, and all numbers in it spelled alike; the keys of an object may stand in any order."""
    # Two comparisons that C makes decide nearly all cases: what is unequal even by value, and what reads the same.
    if one != other:
        return False
    if repr(one) == repr(other):
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return str(one) == str(other)
    return type(one) is type(other) and bool(one == other)


def telling(value: Any) -> bool:
    """Whether a value says enough to be recognised under another name: null and true stand in too many places."""
    return value not in (None, True, False, "", 0) and value != [] and value != {}
