"""Two messages compared, key by key: what was lost, added, renamed, changed or only spelled otherwise."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
    """What a comparison found: the differences, and the names of the tolerances that it took."""

    differences: list[Difference] = field(default_factory=list)
    tolerances: dict[str, None] = field(default_factory=dict)


def diff(truth: Any, got: Any, path: str) -> Diff:
    """Compare a message that came back (`got`) with the one that was sent (`truth`), which stands at `path`."""
    result = Diff()
    result.differences.extend(differences(truth, got, path, result.tolerances))
    return result


def differences(truth: Any, got: Any, path: str, used: dict[str, None]) -> Iterator[Difference]:
    """Yield the differences of two values; tolerances that were needed are entered into `used`."""
    if isinstance(truth, Mapping) and isinstance(got, Mapping):
        yield from object_differences(truth, got, path, used)
    elif isinstance(truth, list) and isinstance(got, list):
        for index in range(max(len(truth), len(got))):
            one = truth[index] if index < len(truth) else MISSING
            other = got[index] if index < len(got) else MISSING
            yield from differences(one, other, f"{path}[{index}]", used)
    elif truth is MISSING:
        yield Difference("added-field", path, None, got)
    elif got is MISSING:
        yield Difference("lost-field", path, truth, None)
    elif path.endswith(".arguments") and isinstance(truth, str) and isinstance(got, str):
        yield from argument_differences(truth, got, path)
    elif not equal(truth, got):
        yield Difference("changed-value", path, truth, got)
    elif isinstance(truth, float | int) and str(truth) != str(got):
        yield Difference("re-serialised", path, str(truth), str(got), "number spelling")


def object_differences(
    truth: Mapping[str, Any], got: Mapping[str, Any], path: str, used: dict[str, None]
) -> Iterator[Difference]:
    """The same for two objects: tolerances first, then keys that were renamed, then key by key."""
    parted = {}
    for key in [*truth, *(key for key in got if key not in truth)]:
        one, other = truth.get(key, MISSING), got.get(key, MISSING)
        taken = [name_of(tolerance) for tolerance in TOLERANCES if one is not other and tolerance(key, one, other, truth)]
        if taken and not same(one, other):
            used.setdefault(taken[0])
        else:
            parted[key] = (one, other)
    lost = [key for key, (_, other) in parted.items() if other is MISSING]
    added = [key for key, (one, _) in parted.items() if one is MISSING]
    for old in lost:
        new = next((key for key in added if key in parted and telling(truth[old]) and equal(truth[old], got[key])), None)
        if new is not None:
            yield Difference("renamed-parameter", f"{path}.{old}", old, new)
            del parted[old], parted[new]
    for key, (one, other) in parted.items():
        yield from differences(one, other, f"{path}.{key}", used)


def argument_differences(truth: str, got: str, path: str) -> Iterator[Difference]:
    """What differs between two argument strings: nothing, their bytes, or what they say."""
    compared = compare_arguments(truth, got)
    if compared.verdict != "same":
        kind = "re-serialised" if compared.verdict == "re-serialised" else "changed-value"
        yield Difference(kind, path, truth, got, "; ".join(compared.ways), compared.offset)
