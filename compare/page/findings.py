"""A finding on the page, and the place in a comparison where it stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.page.everyday import Everyday, rule_of
from compare.page.markup import Markup, el, join
from compare.page.words import difference, folded

LETTERS = {"serious": "fs", "notice": "fn", "info": "fi"}
MESSAGE = re.compile(r"(?:executed )?messages\[(\d+)\]")
ROUND = re.compile(r"(?:round|request) (\d+)")
NOTE = 200
"""Characters of a note that are shown at once."""
OPENING, ENDING = 0, -1
"""Rounds that are none: what a lane was given, and how it ended."""


@dataclass(frozen=True)
class Placed:
    """A finding (or a refusal) as it is shown, and the round that it belongs to."""

    round: int
    html: Markup


def findings_of(
    lane: dict[str, Any], view: "Places", common: Everyday, rules: dict[str, Any], told: set[str], note: str = ""
) -> list[Placed]:
    """What was found in a lane, each at its place, but for what every run has; `note` says in which mode.

    `told` are the consequences that the page has named for this scenario already; the new ones are entered.
    """
    shown = gathered([one for one in lane["findings"] if (lane["name"], one["key"]) not in common.findings])
    placed = []
    for one in shown:
        words = {**one, "consequence": "" if one["consequence"] in told else one["consequence"]}
        if one["class"] == "unused-reply":
            words |= {"note": ""}  # it counts the replies, and the paths name them
        if view.shows(lane, one):
            words |= {"expected": None, "found": None}
        placed.append(Placed(view.round_of(lane, one), finding(words, note)))
        told.add(one["consequence"])
    for name, where in lane["refused_by"].items():
        if (name, rule_of(where)) not in common.refusals:
            number = view.round_of(lane, {"path": where.partition(" at ")[2], "request": None})
            placed.append(Placed(number, refusal(name, where, rules, note, told)))
    return placed


def gathered(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings that say the same of neighbouring places as one, with all their paths."""
    out: list[dict[str, Any]] = []
    for one in findings:
        last = out[-1] if out else {}
        if one["class"] == last.get("class") == "unused-reply":
            out[-1] = {**last, "path": f"{last['path']}, {one['path']}"}
        else:
            out.append(one)
    return out


class Places:
    """Which message of a lane belongs to which round."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rounds: dict[tuple[str, int], int] = {
            (cell["lane"], cell["index"]): row["round"]
            for row in rows
            for cell in row["cells"]
            if cell["index"] is not None
        }
        self.told = {
            (cell["lane"], cell["index"])
            for row in rows
            for cell in row["cells"]
            if row["said"] is not None and cell["state"] == "sent"
        }
        self.last = max((int(row["round"]) for row in rows), default=0)

    def shows(self, lane: dict[str, Any], one: dict[str, Any]) -> bool:
        """Whether the values of a finding stand in sight anyway: in the message, the thread or the ending."""
        if one["path"] == "stop" or one["class"] == "unanswered-call":
            return True
        found = MESSAGE.match(one["path"])
        return found is not None and one["path"][0] == "m" and (lane["name"], int(found[1])) in self.told

    def round_of(self, lane: dict[str, Any], one: dict[str, Any]) -> int:
        """The round of a finding: that of its message, else that of its request, else the ending."""
        if found := MESSAGE.match(one["path"]):
            number = self.rounds.get((lane["name"], int(found[1])))
            return ENDING if number is None else number
        if one["path"].startswith(("stop", "reply ")):
            return ENDING
        if found := ROUND.match(one["path"]):
            return min(int(found[1]) - int(one["path"].startswith("request")), self.last)
        return OPENING if one["request"] == 1 else min(int(one["request"] or 0) - 1, self.last)


def finding(one: dict[str, Any], mode: str) -> Markup:
    """One finding: its class, the place, the two values, and what it leads to."""
    values = Markup()
    if one["expected"] is not None or one["found"] is not None:
        values = join(" ", difference(one["expected"], one["found"]))
    said = [join(" · ", folded(one["note"], NOTE)) if one["note"] else ""]
    if one["offset"] is not None:
        said.append(f" · from byte {one['offset']}")
    return el(
        "p",
        {"class": LETTERS.get(one["severity"], "fn")},
        el("b", None, one["class"]),
        f" {one['path']}" if one["path"] != "stop" else "",
        mode,
        values,
        *said,
        *([el("i", None, one["consequence"])] if one["consequence"] else []),
    )


def refusal(name: str, where: str, rules: dict[str, Any], mode: str, told: set[str]) -> Markup:
    """What another provider would have said."""
    rule = rule_of(where)
    known = rules.get(f"{name}:{rule}")
    status = f" would answer {known['status']}" if known else " would refuse it"
    meaning = el("i", None, known["demands"]) if known and known["demands"] not in told else Markup()
    told |= {known["demands"]} if known else set()
    return el("p", {"class": "fr"}, el("b", None, name), f"{status}{mode}: {where}", meaning)
