"""What the page says of time and tokens, and how it looks on paper."""

import re
from typing import Any

from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.page import render
from compare.page.timeline import scale_of, timeline
from compare.report import report
from compare.scenario import find
from tests.browser import Pages, needs_chromium
from tests.page_reports import of_catalogue

TIMES: dict[str, Any] = {
    "seconds": 2.0,
    "requests": [[0.0, 0.5], [0.5, 1.0], [1.5, 2.0]],
    "chunks": [[], [], [[10, 1.75], [20, 2.0]]],
    "tools": [0.25, 0.25],
    "tools_after": [2, 2],
}


def bars(picture: str) -> list[tuple[str, int, int]]:
    """The kind, place and width of each bar."""
    found = re.findall(r'<rect class="?(\w+)"? x="?(\d+)"? width="?(\d+)"?', picture)
    return [(kind, int(x), int(width)) for kind, x, width in found]


def test_a_time_line_has_a_bar_for_each_request_retry_and_tool() -> None:
    """On the scale of the longest run, which is twice as long here; and the same stands there in words."""
    lane = {"name": "lc", "exchanges": [{"turn": 1}, {"turn": 1}, {"turn": 2}]}
    times = {**TIMES, "chunks": [[], [], [1.75, 2.0]]}
    shown = str(timeline(lane, times, 4.0))
    assert [
        ("model", 0, 30),
        ("retry", 30, 30),
        ("model", 90, 30),
        ("tool", 60, 15),
        ("tool", 75, 15),
    ] == bars(shown)
    assert "lc: 2.00 s in all, model 1.50 s (2 requests, 1 retry), tools 500 ms (2)" in shown


def test_all_lanes_are_drawn_on_the_scale_of_the_longest() -> None:
    """Else the quick lane would look as slow as the other."""
    quick = {**TIMES, "seconds": 1.0, "requests": [[0.0, 1.0]], "chunks": []}
    assert 2.0 == scale_of([quick, {**TIMES, "chunks": []}])


def test_a_reply_says_what_it_cost_in_tokens() -> None:
    """As its own usage has it."""
    (scenario,) = find("one-call")
    page = render(report([compare_scenario(scenario, load_lanes("raw"), "plain")]))
    assert "1: request 1 · HTTP 200 · 10 tokens in · 5 tokens out" in page


@needs_chromium
def test_on_paper_there_are_no_controls(pages: Pages) -> None:
    """The filter, the keys and the buttons are gone, and the scenario is there."""
    page = pages.open(render(of_catalogue()), "#1").page
    page.emulate_media(media="print")
    assert page.locator("main > section").first.is_visible()
    assert [] == [name for name in ("#filter", "#keys", "button") if page.locator(name).first.is_visible()]
    assert "rgb(255, 255, 255)" == page.evaluate("getComputedStyle(document.body).backgroundColor")
