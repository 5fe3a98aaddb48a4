"""Two argument strings compared: as text first, then as the JSON values that they spell."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compare.values import same_number, too_deep
from protocol import reader

STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True)
class Compared:
    """How two argument strings relate.

    `verdict` is `same` (equal text), `re-serialised` (equal value, other text) or `changed`; `ways` names what
    differs (`spacing`, `escapes`, `number spelling`, `key order`) or, for a change, says what; `offset` is the first
    differing byte.
    """

    verdict: str
    ways: tuple[str, ...] = ()
    offset: int | None = None


class Number(str):
    """A number as it was spelled."""


class Pairs(list[tuple[str, Any]]):
    """An object with all its keys in order, the repeated ones too."""


def compare_arguments(truth: str, got: str) -> Compared:
    """How the text that came back relates to the text that the model wrote."""
    if truth == got:
        return Compared("same")
    offset = first_difference(truth, got)
    if too_deep(truth) or too_deep(got):
        return Compared("changed", ("nested too deeply to be compared",), offset)
    try:
        left = lossless(truth)
    except ValueError:
        return Compared("changed", ("the model's text is not JSON, and other text came back",), offset)
    try:
        right = lossless(got)
    except ValueError:
        return Compared("changed", ("what came back is not JSON",), offset)
    ways: dict[str, None] = {}
    changes = list(changed(left, right, "$", ways))
    if changes:
        return Compared("changed", tuple(changes), offset)
    if sorted(STRING.findall(truth)) != sorted(STRING.findall(got)):
        ways.setdefault("escapes")
    reordered = "key order" in ways
    if sorted(blanks(truth)) != sorted(blanks(got)) or (not reordered and skeleton(truth) != skeleton(got)):
        ways.setdefault("spacing")
    return Compared("re-serialised", tuple(sorted(ways)), offset)


def lossless(text: str) -> Any:
    """The JSON value with nothing lost: numbers as spelled, repeated keys kept. Raises ValueError.

    A control character inside a string is let through: models write raw newlines, and some hosts accept them.
    """
    if too_deep(text):
        raise ValueError("nested too deeply")
    return _lossless(text)


_lossless = reader(parse_int=Number, parse_float=Number, object_pairs_hook=Pairs, strict=False)


def changed(left: Any, right: Any, path: str, ways: dict[str, None]) -> Iterator[str]:
    """Yield what differs in value, as text; enter into `ways` what differs in spelling only."""
    if isinstance(left, Pairs) and isinstance(right, Pairs):
        yield from changed_object(left, right, path, ways)
    elif isinstance(left, Number) and isinstance(right, Number):
        if left != right:
            if same_number(left, right):
                ways.setdefault("number spelling")
            else:
                yield f"{path}: {left} became {right}"
    elif type(left) is list and type(right) is list:
        if len(left) != len(right):
            yield f"{path}: {len(left)} entries became {len(right)}"
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            yield from changed(one, other, f"{path}[{index}]", ways)
    elif type(left) is not type(right) or left != right:
        yield f"{path}: {shown(left)} became {shown(right)}"


def changed_object(left: Pairs, right: Pairs, path: str, ways: dict[str, None]) -> Iterator[str]:
    """The same for two objects; each value of a repeated key counts, as some parsers keep the first."""
    before, after = by_key(left), by_key(right)
    for key in before.keys() - after.keys():
        yield f"{path}.{key}: lost"
    for key in after.keys() - before.keys():
        yield f"{path}.{key}: added"
    for key, values in before.items():
        others = after.get(key, values)
        if len(others) != len(values):
            yield f"{path}: {len(values)} times the key {key!r} became {len(others)} times"
        else:
            for one, other in zip(values, others, strict=True):
                yield from changed(one, other, f"{path}.{key}", ways)
    if [key for key, _ in left] != [key for key, _ in right]:
        ways.setdefault("key order")


def by_key(pairs: Pairs) -> dict[str, list[Any]]:
    """The values of each key, in order."""
    values: dict[str, list[Any]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def shown(value: Any) -> str:
    """A parsed value, shortly."""
    if isinstance(value, Pairs):
        value = dict(value)
    text = value if isinstance(value, Number) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def blanks(text: str) -> list[str]:
    """The runs of white space between the tokens of a JSON text."""
    return re.findall(r"\s+", STRING.sub('""', text))


def skeleton(text: str) -> str:
    """A JSON text with its strings emptied and its numbers alike: what is left is structure and white space."""
    return re.sub(r"-?\d[\d.eE+-]*", "0", STRING.sub('""', text))


def first_difference(one: str, other: str) -> int:
    """The number of bytes that two texts share in front."""
    left, right = one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass")
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))
