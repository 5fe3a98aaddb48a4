"""The threads of a round: from each call of the model a line to the message that answers it, drawn in SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.page.markup import Markup, el, join
from compare.page.words import chip, coloured

SLOT = 36
"""Pixels from one call's mark to the next; style.css has the same number."""
HEIGHT = 30
OPEN_END = 11
"""Pixels that the line of an unanswered call goes down before it ends in the open."""


@dataclass(frozen=True)
class Answer:
    """One tool message of a round: whose result it holds, and under whose mark it was sent; empty for nobody's."""

    source: str
    label: str


def thread(signs: Sequence[str], answers: Sequence[Answer], lane: str) -> Markup:
    """The calls' marks in the order of the calls, the lines, and, where there are several, the marks of the answers."""
    if not signs and not answers:
        return Markup()
    lines = []
    for place, sign in enumerate(signs):
        ends = [end for end, answer in enumerate(answers) if answer.source == sign]
        lines += [line(sign, place, end) for end in ends] or [in_the_open(sign, place)]
    lines += [out_of_nowhere(answer, end) for end, answer in enumerate(answers) if answer.source not in signs]
    slots = max(len(signs), len(answers))
    top = join(*(chip(sign) for sign in signs))
    if len(signs) == 1 and list(answers) in ([], [Answer(signs[0], signs[0])]):
        return el("p", {"class": "h"}, top, el("svg", None, *lines))  # the line beneath says the same in words
    size: dict[str, str | int] = {"width": slots * SLOT}
    if list(answers) != [Answer(sign, sign) for sign in signs]:
        said = "; ".join(sentence(sign, answers) for sign in signs) or "a result that answers no call"
        size |= {"role": "img", "aria-label": f"{lane}: {said}"}
    bottom = [el("br"), *(chip(answer.label or "?") for answer in answers)] if answers else []
    return el("p", {"class": "h"}, top, el("br"), el("svg", size, *lines), *bottom)


def centre(place: int) -> int:
    """Where a mark's middle is, in pixels."""
    return place * SLOT + SLOT // 2


def line(sign: str, place: int, end: int) -> Markup:
    """The line from a call to its result."""
    a, b, half = centre(place), centre(end), HEIGHT // 2
    way = f"M{a},0V{HEIGHT}" if a == b else f"M{a},0C{a},{half},{b},{half},{b},{HEIGHT}"
    return el("path", {**coloured(sign), "d": way})


def in_the_open(sign: str, place: int) -> Markup:
    """The line of a call that nothing answers: dashed, with the ring that style.css puts at the end of an open one."""
    return el("path", {**coloured(sign, "open"), "d": f"M{centre(place)},0V{OPEN_END}"})


def out_of_nowhere(answer: Answer, end: int) -> Markup:
    """The line of a result that no call asked for: a ring at its beginning."""
    return el("path", {**coloured("?", "open"), "d": f"M{centre(end)},{HEIGHT}V{HEIGHT - OPEN_END}"})


def sentence(sign: str, answers: Sequence[Answer]) -> str:
    """What became of a call, for who cannot see the line."""
    found = [(end, answer) for end, answer in enumerate(answers, start=1) if answer.source == sign]
    if not found:
        return f"{sign} unanswered"
    places = ", ".join(f"result {end}" + ("" if a.label == sign else f" under {a.label or '?'}") for end, a in found)
    return f"{sign} answered by {places}"


def answers_of(
    rows: Sequence[tuple[str, dict[str, Any]]], calls: dict[str, dict[str, Any]], lane: dict[str, Any]
) -> list[Answer]:
    """The answers of a round in the order in which they were sent.

    `rows` has the mark of the call that each tool message was sent under, and its cell; `calls` the round's calls by
    their marks. Where the judge found that a result stands under another call's id, its source is that call.
    """
    notes = {one["path"]: one["note"] for one in lane["findings"] if one["class"] == "swapped-results"}
    sent = sorted(((cell["index"], sign) for sign, cell in rows if cell["state"] == "sent"), key=lambda one: one[0])
    out = []
    for index, sign in sent:
        note = notes.get(f"messages[{index}].content")
        sources = [mark for mark, call in calls.items() if note == f"this is the result of {call['id']!r}"]
        out.append(Answer(sources[0] if sources else sign if sign in calls else "", sign))
    return out
