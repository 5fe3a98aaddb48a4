"""One scenario on the page: what it teaches, the prompt, and a view for each mode, or one where both came out alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compare.page.conversation import Conversation, Found
from compare.page.everyday import Everyday
from compare.page.findings import Places, findings_of
from compare.page.markup import Markup, el, join
from compare.page.words import SIGNS, folded

Wires = Callable[[list[dict[str, Any]]], Markup]
"""What gives the raw view of some comparisons, closed."""
REPEATED = 120
"""Characters of a line from which on a second view only points to it, where brevity is asked for."""
SHOWN_ALIKE = ("profile", "system", "prompt")
"""Parts of a comparison that two modes must have in common to be shown as one."""


@dataclass(frozen=True)
class View:
    """One or both modes of a scenario, which came out alike, and the address of the view."""

    modes: list[dict[str, Any]]
    anchor: str


def views_of(ones: list[dict[str, Any]], anchor: str) -> list[View]:
    """The views of a scenario. A mode that came out like one before is shown with it."""
    views: list[View] = []
    for one in ones:
        alike = next((view for view in views if shown(view.modes[0]) == shown(one)), None)
        if alike:
            alike.modes.append(one)
        else:
            views.append(View([one], f"{anchor}{one['mode'][0]}" if views else anchor))
    return views


def shown(one: dict[str, Any]) -> list[Any]:
    """What of a comparison is shown, but for what was found and the wire."""
    lanes = [[lane["stop"], lane["problem"], lane["raised"], lane["calls"], lane["surprises"]] for lane in one["lanes"]]
    rows = [{key: value for key, value in row.items() if key != "deviations"} for row in one["rows"]]
    return [*(one[key] for key in SHOWN_ALIKE), lanes, rows]


def section(
    name: str, views: list[View], wires: Wires, common: Everyday, legend: dict[str, Any], joined: bool
) -> Markup:
    """The whole scenario."""
    one = views[0].modes[0]
    head = [el("h2", None, one["title"] if one["title"] != one["prompt"] else name, " ", el("small", None, name))]
    if one["teaches"]:
        head.append(el("p", {"class": "t"}, one["teaches"]))
    for label in ("system", "prompt"):
        if one[label]:
            head.append(el("p", {"class": label[0]}, folded(one[label])))
    told: set[str] = set()
    above: dict[tuple[str, Markup], View] = {}
    shown_views = [view_shown(view, told, above, views, wires, common, legend, joined) for view in views]
    return el("section", {"id": views[0].anchor}, *head, *shown_views)


def view_shown(
    view: View,
    told: set[str],
    above: dict[tuple[str, Markup], View],
    views: list[View],
    wires: Wires,
    common: Everyday,
    legend: dict[str, Any],
    joined: bool,
) -> Markup:
    """One view: its modes and verdict, the conversation, the wire of each mode."""
    one = view.modes[0]
    modes = " and ".join(it["mode"] for it in view.modes)
    # Two modes with other verdicts (by what was found) and the same conversation are still one view.
    verdicts = dict.fromkeys(f"{SIGNS.get(it['verdict'], '?')} {it['verdict']}" for it in view.modes)
    words = [modes, *(verdicts if len(one["lanes"]) > 1 else ())]
    if one["profile"]:
        words.append(f"served as {one['profile']} would: a request that breaks one of its rules is refused")
    title = el("h3", {} if view is views[0] else {"id": view.anchor}, " · ".join(words))
    talk = Conversation(one, found_in(view, told, common, legend["rules"]), joined)
    lines, first = talk.lines(), views[0].modes[0]["mode"]
    if joined:
        for name, line in lines.items():
            if len(line) > REPEATED and above.setdefault((name, line), view) is not view:
                lines[name] = talk.as_in(name, first)
    return join(title, el("table", {"class": "g"}, *lines.values()), wires(view.modes))


def found_in(view: View, told: set[str], common: Everyday, rules: dict[str, Any]) -> Found:
    """What was found in each lane in the view's modes; what only one of several modes has says so."""
    found: Found = {}
    names = [lane["name"] for lane in view.modes[0]["lanes"]]
    for place, name in enumerate(names):
        before = set(told)
        own_lanes = [one["lanes"][place] for one in view.modes]
        keys = [([it["key"] for it in lane["findings"]], lane["refused_by"]) for lane in own_lanes]
        notes = [f" ({one['mode']} only)" for one in view.modes] if any(it != keys[0] for it in keys) else [""]
        own = [
            findings_of(one["lanes"][place], Places(one["rows"]), common, rules, set(before) if at else told, note)
            for at, (one, note) in enumerate(zip(view.modes, notes, strict=False))
        ]
        if len(notes) == 1:
            found[name] = own[0]
            continue
        bare = [findings_of(one["lanes"][place], Places(one["rows"]), common, rules, set(before)) for one in view.modes]
        found[name] = [it for it in bare[0] if all(it in other for other in bare)]
        for noted, plain in zip(own, bare, strict=True):
            found[name] += [said for it, said in zip(plain, noted, strict=True) if it not in found[name]]
    return found
