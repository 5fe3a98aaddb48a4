"""The matrix on top of the page: a line for each scenario, a cell for each lane in each mode."""

from collections.abc import Mapping
from typing import Any

from compare.page.everyday import Everyday
from compare.page.markup import Markup, el, join
from compare.page.words import SIGNS

RANKS = {"serious": "b", "notice": "u", "info": "i"}
"""The elements that hold the classes of findings, the gravest first; style.css gives each a sign."""
Anchors = Mapping[tuple[str, str], str]
"""The address of each comparison, by name and mode."""


def matrix(
    groups: dict[str, list[dict[str, Any]]], lanes: list[str], modes: list[str], anchors: Anchors, common: Everyday
) -> Markup:
    """The table."""
    columns = [el("th", {"scope": "col", "colspan": len(modes)}, lane) for lane in lanes]
    head = [el("tr", None, el("th", {"scope": "col", "rowspan": 2 if len(modes) > 1 else 1}, "scenario"), *columns)]
    if len(modes) > 1:
        head.append(el("tr", None, *(el("th", {"scope": "col"}, mode) for _ in lanes for mode in modes)))
    body = [line(name, ones, lanes, modes, anchors, common) for name, ones in groups.items()]
    return el("table", {"id": "matrix"}, el("thead", None, *head), el("tbody", None, *body))


def line(
    name: str, ones: list[dict[str, Any]], lanes: list[str], modes: list[str], anchors: Anchors, common: Everyday
) -> Markup:
    """One scenario."""
    signs = "".join(dict.fromkeys(SIGNS.get(one["verdict"], "?") for one in ones)) if len(lanes) > 1 else ""
    surprised = el("b", {"class": "un"}, "✗") if any(one["as_expected"] is False for one in ones) else Markup()
    verdict = f" {signs}" if signs else ""
    first = el("a", {"href": f"#{anchors[name, ones[0]['mode']]}"}, name)
    head = el("th", None, first, verdict, surprised)
    cells = []
    for lane in lanes:
        by_mode = {one["mode"]: cell(one, lane, anchors, common) for one in ones}
        if 1 < len(modes) == len(by_mode) and len(set(by_mode.values())) == 1:
            cells.append(el("td", {"colspan": len(modes)}, by_mode[modes[0]]))
        else:
            cells += [el("td", None, by_mode.get(mode, Markup("–"))) for mode in modes]
    return el("tr", None, head, *cells)


def cell(one: dict[str, Any], lane_name: str, anchors: Anchors, common: Everyday) -> Markup:
    """A lane's ending, as a link, and the classes of what was found."""
    lane = next(it for it in one["lanes"] if it["name"] == lane_name)
    stop = lane["stop"]
    claim = f", claims {stop['claimed']}" if stop["claimed"] not in (None, stop["observed"]) else ""
    words = stop["observed"] + (", raised" if lane["raised"] else "") + claim
    link = el("a", {"href": f"#{anchors[one['name'], one['mode']]}"}, words)
    found = [it for it in lane["findings"] if (lane_name, it["key"]) not in common.findings]
    classes = []
    for severity, tag in RANKS.items():
        names = dict.fromkeys(it["class"] for it in found if it["severity"] == severity)
        classes += [el(tag, None, kind) for kind in names]
    return join(link, " ", *classes) if classes else link
