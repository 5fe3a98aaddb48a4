"""Two messages compared, key by key: what was lost, added, renamed, changed or only spelled otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from compare.arguments import compare_arguments
from compare.tolerances import TOLERANCES, name_of
from compare.values import MISSING, equal, same, telling


@dataclass(frozen=True)
class Difference:
    """One place where two messages part; `kind` is a class of findings."""

    kind: str
    path: str
    expected: Any
    found: Any
    note: str = ""
    offset: int | None = None


@dataclass
class Diff:
    """What a comparison found: the differences, and the names of the tolerances that it took.

    `both_ways` is set where neither side is the truth: then a tolerance holds in either direction.
    """

    differences: list[Difference] = field(default_factory=list)
    tolerances: dict[str, None] = field(default_factory=dict)
    both_ways: bool = False


INSIDE = {
    ("message", "tool_calls"): "call",
    ("call", "function"): "function",
    ("function", "arguments"): "arguments",
}
"""What stands under a key of a message, a call or a function; anything else is the affair of whoever put it there."""


def diff(truth: Any, got: Any, path: str, where: str = "message", *, both_ways: bool = False) -> Diff:
    """Compare what came back (`got`) with what was sent (`truth`), which stands at `path`.

    `where` is `message` for a message, whose tolerances then hold, and empty for any other value.
    """
    result = Diff(both_ways=both_ways)
    result.differences.extend(differences(truth, got, path, where, result))
    return result


def differences(truth: Any, got: Any, path: str, where: str, into: Diff) -> Iterator[Difference]:
    """Yield the differences of two values; tolerances that were needed are entered into `into`."""
    if isinstance(truth, Mapping) and isinstance(got, Mapping):
        yield from object_differences(truth, got, path, where, into)
    elif isinstance(truth, list) and isinstance(got, list):
        for index in range(max(len(truth), len(got))):
            one = truth[index] if index < len(truth) else MISSING
            other = got[index] if index < len(got) else MISSING
            if not same(one, other):
                yield from differences(one, other, f"{path}[{index}]", where, into)
    elif truth is MISSING:
        yield Difference("added-field", path, None, got)
    elif got is MISSING:
        yield Difference("lost-field", path, truth, None)
    elif where == "arguments" and isinstance(truth, str) and isinstance(got, str):
        yield from argument_differences(truth, got, path)
    elif not equal(truth, got):
        yield Difference("changed-value", path, truth, got)
    elif not same(truth, got):
        yield Difference("re-serialised", path, str(truth), str(got), "number spelling")


def object_differences(
    truth: Mapping[str, Any], got: Mapping[str, Any], path: str, where: str, into: Diff
) -> Iterator[Difference]:
    """The same for two objects: tolerances first, then keys that were renamed, then key by key."""
    parted = {}
    for key in [*truth, *(key for key in got if key not in truth)]:
        one, other = truth.get(key, MISSING), got.get(key, MISSING)
        if one is other or same(one, other):
            continue
        taken = tolerance_for(key, (truth, one), (got, other), where, into.both_ways)
        if taken:
            into.tolerances.setdefault(taken)
        else:
            parted[key] = (one, other)
    lost = [key for key, (_, other) in parted.items() if other is MISSING]
    added = [key for key, (one, _) in parted.items() if one is MISSING]
    for old in lost:
        names = (key for key in added if key in parted and telling(truth[old]) and equal(truth[old], got[key]))
        if (new := next(names, None)) is not None:
            yield Difference("renamed-parameter", f"{path}.{old}", old, new)
            del parted[old], parted[new]
    for key, (one, other) in parted.items():
        yield from differences(one, other, f"{path}.{key}", INSIDE.get((where, key), ""), into)


Side = tuple[Mapping[str, Any], Any]
"""An object, and the value of the key in question."""


def tolerance_for(key: str, one: Side, other: Side, where: str, both_ways: bool) -> str:
    """The name of the first tolerance that forgives the difference under a key, or nothing."""
    for tolerance in TOLERANCES.get(where, ()):
        if tolerance(key, one[1], other[1], one[0]) or (both_ways and tolerance(key, other[1], one[1], other[0])):
            return name_of(tolerance)
    return ""


def message_differences(truth: Sequence[Any], got: Sequence[Any], start: int = 0) -> Iterator[Difference]:
    """The differences of two stretches of a conversation that begin at index `start`.

    What they share in front and behind is left out first, so that one message more or less is one difference.
    """
    front = shared(truth, got)
    rest, others = truth[front:], got[front:]
    behind = shared(rest[::-1], others[::-1])
    rest, others = rest[: len(rest) - behind], others[: len(others) - behind]
    for index, (one, other) in enumerate(zip_longest(rest, others, fillvalue=MISSING), start + front):
        yield from differences(one, other, f"messages[{index}]", "", Diff())


def shared(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many entries two lists have in common in front."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if not same(left, right):
            break
        count += 1
    return count


def argument_differences(truth: str, got: str, path: str) -> Iterator[Difference]:
    """What differs between two argument strings: nothing, their bytes, or what they say."""
    compared = compare_arguments(truth, got)
    if compared.verdict != "same":
        kind = "re-serialised" if compared.verdict == "re-serialised" else "changed-value"
        yield Difference(kind, path, truth, got, "; ".join(compared.ways), compared.offset)
