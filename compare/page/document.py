"""The whole page, from the data of a report alone: overview, scenarios, raw views, and the policy that guards it."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from compare.findings import SEVERITIES
from compare.page.everyday import Everyday, everyday
from compare.page.markup import Markup, el, join, source
from compare.page.matrix import matrix
from compare.page.overview import HELP, below, overview, title_of
from compare.page.pack import pack
from compare.page.scenario import Wires, section, views_of
from compare.page.wire import wire

LIMIT = 400_000
"""Bytes of a page. Raw views that would lead beyond them are packed, and those that do not fit are left out."""
MOST_COLUMNS = 4
"""Lanes from which on style.css makes the columns narrow."""
Key = tuple[str, str]


def render(data: dict[str, Any], full: bool = False) -> str:
    """The report as one page of HTML; with `full`, every raw view stands in it as text, however long that is.

    `data` must have the form that report.schema.json describes. The same data gives the same bytes.
    """
    common = everyday(data)
    page = document(data, common, wires_of(data, light=True))
    if full or len(page.encode()) <= LIMIT:
        return page
    return small(data, common, wires_of(data, light=False))


def document(data: dict[str, Any], common: Everyday, wires: Mapping[Key, Markup]) -> str:
    """The page with every raw view in its place."""

    def closed(ones: list[dict[str, Any]]) -> Markup:
        parts = (wires[one["name"], one["mode"]] for one in ones)
        return el("details", {"class": "wire"}, el("summary", None, "The wire"), *parts)

    return whole(data, body_of(data, common, closed, joined=False), below(data, common))


def small(data: dict[str, Any], common: Everyday, wires: Mapping[Key, Markup]) -> str:
    """The page with lanes joined that did the same, and raw views packed: those that fit, gravest findings first."""
    order: list[Markup] = []
    ranks: list[int] = []

    def held(ones: list[dict[str, Any]]) -> Markup:
        order.append(join(*(wires[one["name"], one["mode"]] for one in ones)))
        ranks.append(max(rank(one, common) for one in ones))
        return Markup()

    body = body_of(data, common, held, joined=True)
    first = sorted(range(len(order)), key=lambda number: (-ranks[number], number))

    def page(count: int) -> str:
        taken = set(first[:count])
        packed = pack([part if number in taken else None for number, part in enumerate(order)])
        return whole(data, body, below(data, common, (count, len(order))), packed)

    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(page(middle).encode()) <= LIMIT else (low, middle - 1)
    return page(low)


def rank(one: dict[str, Any], common: Everyday) -> int:
    """How grave the gravest finding of a comparison is; -1 without any."""
    found = [it for lane in one["lanes"] for it in lane["findings"] if (lane["name"], it["key"]) not in common.findings]
    return max((SEVERITIES.index(it["severity"]) for it in found), default=-1)


def body_of(data: dict[str, Any], common: Everyday, wires: Wires, joined: bool) -> Markup:
    """The overview and the scenarios."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in data["comparisons"]:
        groups.setdefault(one["name"], []).append(one)
    views = {name: views_of(ones, str(number)) for number, (name, ones) in enumerate(groups.items(), start=1)}
    anchors = {(name, one["mode"]): view.anchor for name, own in views.items() for view in own for one in view.modes}
    sections = [section(name, found, wires, common, data["legend"], joined) for name, found in views.items()]
    modes = list(dict.fromkeys(one["mode"] for one in data["comparisons"]))
    return join(
        overview(data, matrix(groups, data["lanes"], modes, anchors, common)),
        el("main", None, *sections),
    )


def whole(data: dict[str, Any], *parts: str) -> str:
    """Head and body. The policy lets nothing load, and only our own style and script be applied."""
    style, script = asset("style.css"), asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = el(
        "head",
        None,
        el("meta", {"charset": "utf-8"}),
        el("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        el("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        el("meta", {"name": "color-scheme", "content": "light dark"}),
        el("title", None, title_of(data)),
        source("style", style),
    )
    scenarios = len({one["name"] for one in data["comparisons"]})
    kind = f"n{min(len(data['lanes']), MOST_COLUMNS)} {'one' if scenarios == 1 else 'many'}"
    body = el("body", {"class": kind}, *parts, HELP, source("script", script))
    return f"<!doctype html>\n{el('html', {'lang': 'en'}, head, body)}\n"


def wires_of(data: dict[str, Any], light: bool) -> dict[Key, Markup]:
    """The raw view of each comparison, by name and mode."""
    runs: dict[Key, list[dict[str, Any]]] = {}
    for run in data["volatile"]["runs"]:
        runs.setdefault((run["comparison"], run["mode"]), []).append(run)
    keys = {(one["name"], one["mode"]): one for one in data["comparisons"]}
    return {key: wire(one, matching(one, runs[key]), light) for key, one in keys.items()}


def matching(one: dict[str, Any], runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs of a comparison in the order of its lanes."""
    by_lane = {run["lane"]: run for run in runs}
    return [by_lane[lane["name"]] for lane in one["lanes"]]


def asset(name: str) -> str:
    """A file of the page's own, beside this module, without its indentation."""
    lines = (files("compare.page") / name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip() for line in lines)


def digest(text: str) -> str:
    """How a policy names a style or a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
