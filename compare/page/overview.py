"""The top of the page: what was run, how it came out, the matrix, what every run has in common, and the legend."""

from collections import Counter
from typing import Any

from compare.page.everyday import Everyday
from compare.page.markup import Markup, el, join
from compare.page.words import SIGNS, counted
from compare.terminal.surprises import UNEXPECTED

HELP = el(
    "p",
    {"id": "keys"},
    *(
        join(*(el("kbd", None, key) for key in keys), f" {words}  ")
        for keys, words in (
            (("j", "k"), "next, previous scenario"),
            (("n", "p"), "next, previous finding"),
            (("]", "["), "next, previous round"),
            (("o",), "overview"),
            (("/",), "filter"),
        )
    ),
)


def title_of(data: dict[str, Any]) -> str:
    """The title of the page."""
    names = list(dict.fromkeys(one["name"] for one in data["comparisons"]))
    return f"Diptych: {names[0]}" if len(names) == 1 else "Diptych: report"


def overview(data: dict[str, Any], table: Markup) -> Markup:
    """Everything above the scenarios."""
    names = dict.fromkeys(one["name"] for one in data["comparisons"])
    return el(
        "header",
        {"id": "top"},
        ring(),
        el("p", {"class": "brand"}, el("a", {"href": "#top"}, "Diptych")),
        el(
            "div", {"class": "over"}, el("h1", None, " and ".join(data["lanes"])), lead(data, len(names)), filters(data)
        ),
        el(
            "div", {"class": "over scroll", "role": "region", "tabindex": 0, "aria-label": "Matrix of scenarios"}, table
        ),
    )


def below(data: dict[str, Any], common: Everyday, packed: tuple[int, int] | None = None) -> Markup:
    """What explains the page, beneath it; of a packed one, how many raw views it holds, and how many there are."""
    parts = (everywhere(common), modes(data), legend(data), versions(data, packed))
    return el("div", {"class": "over", "id": "below"}, *parts)


def lead(data: dict[str, Any], scenarios: int) -> Markup:
    """What was run and how it came out, in a sentence."""
    it, parts = data["summary"], [counted(scenarios, "scenario"), counted(data["summary"]["comparisons"], "comparison")]
    if len(data["lanes"]) > 1:
        parts += [f"{SIGNS[name]} {count} {name}" for name, count in it["verdicts"].items() if count]
    if it["unexpected"]:
        ending = el("b", {"class": "un"}, f"{UNEXPECTED} {it['unexpected']} not as expected")
    else:
        ending = Markup("all as expected") if it["as_expected"] else Markup("nothing was expected")
    return el("p", {"class": "lead"}, " · ".join(parts), " · ", ending)


def filters(data: dict[str, Any]) -> Markup:
    """The fields that narrow the matrix; the page's script shows them, because without it they would do nothing."""
    found = Counter(it["class"] for one in data["comparisons"] for lane in one["lanes"] for it in lane["findings"])
    classes = [
        el("option", {"value": kind}, f"{kind} ({found[kind]})") for kind in data["legend"]["findings"] if found[kind]
    ]
    lanes = [el("option", {"value": number}, name) for number, name in enumerate(data["lanes"])]
    return el(
        "p",
        {"id": "filter"},
        el("label", None, "text ", el("input", {"id": "fq", "type": "search"})),
        el("label", None, "finding ", el("select", {"id": "fc"}, el("option", {"value": ""}, "any"), *classes)),
        el("label", None, "lane ", el("select", {"id": "fl"}, el("option", {"value": ""}, "any"), *lanes)),
        el("span", {"id": "fn", "role": "status"}),
    )


def everywhere(common: Everyday) -> Markup:
    """What is said once because nearly every run has it."""
    lines = [
        el("li", None, el("b", None, lane), f": {key} (info, in {counted(count, 'run')})")
        for (lane, key), count in sorted(common.findings.items())
    ]
    lines += [
        el("li", None, el("b", None, name), f" would refuse {counted(count, 'run')} of {common.runs}: {rule}")
        for (name, rule), count in sorted(common.refusals.items())
    ]
    note = el("p", None, "Said once, and left out below:")
    return (
        el("section", None, el("h2", None, "In nearly every run"), note, el("ul", None, *lines)) if lines else Markup()
    )


def modes(data: dict[str, Any]) -> Markup:
    """The lanes that came out otherwise when the same replies were streamed."""
    differing = [it for it in data["modes"] if it["differs"]]
    if not differing:
        return Markup()
    lines = []
    for it in differing:
        sides = [
            f"{mode}: {it[mode]['stop']}, ran {', '.join(it[mode]['ran']) or 'nothing'}" for mode in ("plain", "stream")
        ]
        lines.append(el("li", None, el("b", None, it["lane"]), f" {it['name']} · {' · '.join(sides)}"))
    head = el("h2", None, "The same lane, plain and streamed")
    return el(
        "section", None, head, el("details", None, el("summary", None, f"{len(lines)} differ"), el("ul", None, *lines))
    )


def legend(data: dict[str, Any]) -> Markup:
    """What the signs and words mean."""
    it = data["legend"]
    found = {one["class"] for each in data["comparisons"] for lane in each["lanes"] for one in lane["findings"]}
    stops = {lane["stop"]["observed"] for each in data["comparisons"] for lane in each["lanes"]}
    rows = [row for each in data["comparisons"] for row in each["rows"]]
    taken = {name for row in rows for part in (row, *row["cells"]) for name in part["tolerances"]}
    read = {name for row in rows for name in row["deviations"]}
    parts = {
        "Verdicts": {f"{SIGNS.get(name, '?')} {name}": words for name, words in it["verdicts"].items()},
        "Findings": {
            name: f"{kind['severity']}: {kind['consequence']}" for name, kind in it["findings"].items() if name in found
        },
        "Tolerances (≈)": {name: words for name, words in it["tolerances"].items() if name in taken},
        "Streams": {name: words for name, words in it["deviations"].items() if name in read},
        "Stop reasons": {name: words for name, words in it["stops"].items() if name in stops},
    }
    blocks = [
        el("details", {"open": ""} if title == "Verdicts" else None, el("summary", None, title), words_list(words))
        for title, words in parts.items()
        if words
    ]
    return el("section", {"id": "legend"}, el("h2", None, "Legend"), *blocks, el("p", None, READING))


READING = (
    "A thread leads from the mark of each call to the message that answers it; a dashed one that ends in a ring has no "
    "other end. Struck out: what the model said and the lane did not send back. Underlined: what nobody said. On the "
    "wire, what a request repeats of the one before is set back, and the texts that a plain reply and the next request "
    "have in common byte for byte are lit in both."
)


def words_list(words: dict[str, str]) -> Markup:
    """Names with their meanings."""
    return el(
        "dl",
        None,
        *(part for name, meaning in words.items() for part in (el("dt", None, name), el("dd", None, meaning))),
    )


def versions(data: dict[str, Any], packed: tuple[int, int] | None) -> Markup:
    """What was installed, and what was done to keep the page small."""
    named = " · ".join(f"{name} {number}" for name, number in data["versions"].items() if number)
    note = [el("p", None, smallness(*packed))] if packed else []
    return el("section", {"class": "ver"}, el("p", None, named), *note)


def smallness(held: int, all_of_them: int) -> str:
    """How a page is kept small, in words."""
    words = "So that this page stays small, lanes that did the same share a cell, and the wire is packed: to see each "
    words += "request and reply byte for byte (The wire, beneath a conversation) needs JavaScript."
    if held < all_of_them:
        words += f" Of {all_of_them} conversations, {held} have it here: those with the gravest findings."
    return words + " A page made with --html-full, or on fewer scenarios, holds all of it as text."


def ring() -> Markup:
    """The ring at the end of every thread that ends in the open; style.css refers to it."""
    circle = el("path", {"d": "M1,4a3,3,0,1,0,6,0a3,3,0,1,0,-6,0"})
    shape: dict[str, str | int] = {
        "id": "ring",
        "viewBox": "0 0 8 8",
        "refX": 1,
        "refY": 4,
        "markerWidth": 8,
        "markerHeight": 8,
    }
    return el(
        "svg",
        {"class": "defs", "aria-hidden": "true"},
        el("marker", {**shape, "markerUnits": "userSpaceOnUse", "orient": "auto"}, circle),
    )
