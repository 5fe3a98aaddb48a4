"""The report on a drill as data: everything that the terminal shows, and the form that drill.schema.json describes."""

import hashlib
from collections.abc import Sequence
from typing import Any

from compare.broken_replies import WAYS
from compare.drill import SIGNS, Attempt, Strip
from compare.folder_state import Change, hash_of
from compare.scenario import Scenario

FORMAT, VERSION = "diptych-drill", 1


def drill_report(scenario: Scenario, by: str, every: int, strips: Sequence[Strip], seconds: float) -> dict[str, Any]:
    """The report; `seconds` is how long the drill took."""
    early = sum(attempt.ran_from_a_part for strip in strips for attempt in strip.attempts)
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": {"name": scenario.name, "title": scenario.title, "prompt": scenario.prompt},
        "by": by,
        "every": every,
        "lanes": list(dict.fromkeys(strip.lane for strip in strips)),
        "legend": {
            "signs": SIGNS,
            "ways": [{"mode": mode, "ending": ending, "means": words} for (mode, ending), words in WAYS.items()],
        },
        "bodies": {strip.kind.mode: text_of(strip.kind.reply.body) for strip in strips},
        "summary": {
            "runs": sum(len(strip.attempts) for strip in strips),
            "ran_from_a_part": early,
        },
        "strips": [strip_data(strip) for strip in strips],
        "volatile": {"seconds": round(seconds, 3)},
    }


def strip_data(strip: Strip) -> dict[str, Any]:
    """One lane and one way of breaking off."""
    over = [attempt.place.offset for attempt in strip.attempts if attempt.place.over]
    return {
        "lane": strip.lane,
        "mode": strip.kind.mode,
        "ending": strip.kind.ending,
        "bytes": len(strip.kind.reply.body),
        "over_from": min(over, default=None),
        "whole": outcome_data(strip.whole),
        "offsets": [attempt.place.offset for attempt in strip.attempts],
        "signs": "".join(map(strip.sign, strip.attempts)),
        "outcomes": outcomes(strip),
    }


def outcomes(strip: Strip) -> list[dict[str, Any]]:
    """The different things that happened, in the order of their first places, each with the places in ranges."""
    found: dict[tuple[object, ...], list[int]] = {}
    for index, attempt in enumerate(strip.attempts):
        key = (strip.sign(attempt), *attempt.effect, attempt.stop, attempt.raised)
        found.setdefault(key, []).append(index)
    return [
        {
            "sign": strip.sign(strip.attempts[indexes[0]]),
            "ran_from_a_part": any(strip.attempts[index].ran_from_a_part for index in indexes),
            **outcome_data(strip.attempts[indexes[0]]),
            "places": len(indexes),
            "ranges": [[strip.attempts[at].place.offset for at in pair] for pair in ranges(indexes)],
        }
        for indexes in found.values()
    ]


def ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Rising numbers as runs without a gap, first and last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def outcome_data(attempt: Attempt) -> dict[str, Any]:
    """What one run did."""
    return {
        "ran": [{"name": name, "arguments": arguments} for name, arguments in attempt.ran],
        "changed": [change_data(change) for change in attempt.changed],
        "workspace": hash_of(attempt.after),
        "stop": attempt.stop,
        "raised": attempt.raised,
    }


def change_data(change: Change) -> dict[str, Any]:
    """A file that is no longer as it was; a removed one has no bytes."""
    gone = change.change == "removed"
    return {
        "path": change.path,
        "change": change.change,
        "sha256": None if gone else hashlib.sha256(change.data).hexdigest(),
        "text": None if gone else text_of(change.data),
    }


def text_of(data: bytes) -> str:
    """The bytes as text; what is not UTF-8 stands as an escape."""
    return data.decode(errors="backslashreplace")
