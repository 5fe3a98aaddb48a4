"""What a lane does otherwise in another environment: how it ended, and the findings that came and went."""

from collections.abc import Iterator, Sequence
from typing import Any


def changes(environments: Sequence[dict[str, Any]], cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each cell of a later environment that differs from the first one's, where both have it."""
    first = environments[0]["name"]
    known = {place(one): one for one in cells if one["environment"] == first}
    pairs = [(known.get(place(one)), one) for one in cells if one["environment"] != first]
    return [change for before, after in pairs if before for change in difference(before, after)]


def place(cell: dict[str, Any]) -> tuple[str, str, str]:
    """What the cell is about, in whatever environment."""
    return cell["scenario"], cell["mode"], cell["lane"]


def difference(before: dict[str, Any], after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The change from one cell to another, if there is one."""
    new = [one for one in after["findings"] if one not in before["findings"]]
    gone = [one for one in before["findings"] if one not in after["findings"]]
    if new or gone or before["stop"] != after["stop"]:
        where = {key: after[key] for key in ("environment", "scenario", "mode", "lane")}
        yield {**where, "stop": [before["stop"], after["stop"]], "new": new, "gone": gone}


def gathered(changed: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, list[str]]]:
    """By environment and lane, and there by what changed in words, the runs in which it did."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in changed:
        run = f"{one['scenario']} ({one['mode']})"
        lines = found.setdefault((one["environment"], one["lane"]), {})
        for words in in_words(one):
            lines.setdefault(words, []).append(run)
    return found


def in_words(change: dict[str, Any]) -> list[str]:
    """What changed in one run, a line each."""
    before, after = change["stop"]
    stop = [f"stop {before} → {after}"] if before != after else []
    return [*stop, *(f"new: {one}" for one in change["new"]), *(f"gone: {one}" for one in change["gone"])]
