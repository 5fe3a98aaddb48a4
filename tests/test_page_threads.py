"""The threads on the page connect what they should, read from the DOM as it is laid out."""

from typing import Any

import pytest

from compare.page import render
from tests.browser import Pages, needs_chromium
from tests.page_reports import of_catalogue, of_fault

THREADS = """lane => [...document.querySelectorAll(`td[data-l="${lane}"] .h`)].slice(0, 1).map(strip => {
  const svg = strip.querySelector('svg'), box = svg.getBoundingClientRect();
  const chips = [...strip.querySelectorAll('i'),
    ...(strip.querySelector('br') ? [] : [strip.nextElementSibling.querySelector('i')])];
  const at = (x, y) => {
    const near = chips.find(one => {
      const it = one.getBoundingClientRect();
      return it.left <= x && x <= it.right && (y <= box.top + 2 ? it.bottom <= box.top + 6 : it.top >= box.bottom - 6);
    });
    return near ? near.textContent : 'nothing';
  };
  return [...svg.querySelectorAll('path')].map(path => {
    const length = path.getTotalLength(), matrix = path.getScreenCTM();
    const end = where => { const it = path.getPointAtLength(where).matrixTransform(matrix); return [it.x, it.y]; };
    const [x, y] = end(0), [to, bottom] = end(length);
    const open = path.classList.contains('open');
    return [at(x, y), open ? 'open' : at(to, bottom), getComputedStyle(path).stroke];
  });
})[0]"""


def threads(pages: Pages, data: dict[str, Any], lane: str) -> list[list[str]]:
    """Where each line begins, where it ends, and its colour."""
    found: list[list[str]] = pages.open(render(data), "#1").page.evaluate(THREADS, lane)
    return found


@needs_chromium
@pytest.mark.parametrize("lane", ["raw", "lc"])
def test_each_call_is_tied_to_its_result_in_every_column(lane: str, pages: Pages) -> None:
    """Two calls, two straight lines, two colours."""
    found = threads(pages, of_catalogue("two-calls-in-one-turn"), lane)
    assert [["①", "①"], ["②", "②"]] == [ends for *ends, _ in found]
    assert len({colour for *_, colour in found}) == 2


@needs_chromium
def test_a_single_call_is_tied_to_the_line_beneath(pages: Pages) -> None:
    """Its result's own mark is the other end."""
    assert [["①", "①"]] == [ends for *ends, _ in threads(pages, of_catalogue("one-call"), "lc")]


@needs_chromium
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("swaps_ids", [["①", "②"], ["②", "①"]]),
        ("answers_in_reverse", [["①", "①"], ["②", "②"]]),
        ("forgets_a_call", [["①", "①"], ["②", "open"]]),
        ("answers_twice", [["①", "①"], ["①", "①"]]),
    ],
)
def test_a_fault_shows_in_the_thread(fault: str, expected: list[list[str]], pages: Pages) -> None:
    """Swapped results lie under the other's mark, an unanswered call ends in the open, one answered twice has two."""
    found = threads(pages, of_fault(fault), fault)
    assert expected == [ends for *ends, _ in found]


@needs_chromium
@pytest.mark.parametrize("fault", ["swaps_ids", "answers_in_reverse"])
def test_a_swapped_pair_crosses(fault: str, pages: Pages) -> None:
    """The line that begins on the left ends on the right."""
    page = pages.open(render(of_fault(fault)), "#1").page
    ends = page.evaluate(
        """lane => [...document.querySelectorAll(`td[data-l="${lane}"] .h path`)].slice(0, 2).map(path =>
          [path.getPointAtLength(0).x, path.getPointAtLength(path.getTotalLength()).x])""",
        fault,
    )
    (left, to), (right, back) = ends
    assert left < right
    assert to > back


@needs_chromium
def test_what_is_not_a_plain_pairing_has_a_name_in_words(pages: Pages) -> None:
    """For who cannot see the lines."""
    page = pages.open(render(of_fault("swaps_ids"))).page
    names = page.evaluate("[...document.querySelectorAll('svg[role=img]')].map(one => one.getAttribute('aria-label'))")
    assert "swaps_ids: ① answered by result 2 under ②; ② answered by result 1 under ①" in names
