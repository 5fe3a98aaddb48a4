"""The lab in a real browser: its three buttons, stop and step, explanations, both widths, dark, and what is said."""

from collections.abc import Iterator

import pytest

from compare.lab.server import PROMPT
from tests.browser import needs_chromium
from tests.lab_visits import LOOP, OPEN_ALL, Visits, parts, run, until, visits
from tests.labs import Opened, open_lab

__all__ = ["visits"]  # a fixture
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def lab(loopback: None) -> Iterator[Opened]:
    """A lab with both lanes and a few scenarios."""
    with open_lab(scenarios=["arguments-cut-off", "one-call", "delta-null"]) as opened:
        yield opened


def test_the_trace_shows_both_lanes_message_by_message(lab: Opened, visits: Visits) -> None:
    """With the document search and the sum, and the log that shows why nothing left the machine."""
    visit = visits.open(lab)
    page = run(visit, "trace")
    assert [LOOP, LOOP] == [parts(page, lane) for lane in ("raw", "lc")]
    assert 2 == page.locator(".ran", has_text="108").count()
    assert 2 == page.locator(".ran", has_text="Tool call ids").count()
    assert "Request log: 4 requests, all on this machine. Nothing was sent to a provider." == page.inner_text(
        "#log-summary"
    )
    page.click("#log-summary")
    assert 4 == page.locator("#log-rows tr", has_text="127.0.0.1:").count()
    assert "≈ equivalent" in page.inner_text("#outcome")
    assert ([], set()) == (visit.said, {url for url in visit.asked if not url.startswith(lab.address)})


def test_the_browser_loop_stands_beside_the_others(lab: Opened, visits: Visits) -> None:
    """Its tools ran in the page, and what it sent is judged as theirs is: nothing is found."""
    visit = visits.open(lab)
    page = run(visit, "browser")
    assert [LOOP] * 3 == [parts(page, lane) for lane in ("raw", "lc", "browser")]
    assert "18 * (4 + 2) = 108" in page.locator(".cell[aria-label='browser, round 2'] .came").inner_text()
    assert ["browser", "answer", "2", "none"] == page.locator("#outcome tbody tr").nth(2).inner_text().split("\t")[:4]
    assert [] == visit.said


def test_the_tools_of_the_page_do_what_those_of_the_lanes_do(lab: Opened, visits: Visits) -> None:
    """The same results for the same questions."""
    from toolbox import calculator
    from toolbox.documents import search_docs

    page = visits.open(lab).page
    sums = ["18 * (4 + 2)", "-2**2", "2**3**2", "7 // 2", "-7 // 2", "-7 % 3", "7/2", "1.5e3 - .5", "2*-3", "((1))"]
    script = "async sums => { const it = await import('./tools.js'); return sums.map(it.calculate); }"
    assert [calculator(one) for one in sums] == page.evaluate(script, sums)
    script = """async sums => { const it = await import('./tools.js');
        return sums.map(one => { try { it.calculate(one); } catch (error) { return error.message; } }); }"""
    wrong = ["1/0", "1 +", "(1", "alert(1)", "1 2", "9**999", "(" * 99]
    assert [True] * len(wrong) == [isinstance(one, str) for one in page.evaluate(script, wrong)]
    queries = ["call ids", "a", "history", "zebra", "NULL content"]
    script = """async queries => { const it = await import('./tools.js');
        const {documents} = await (await fetch('setup.json')).json();
        return queries.map(one => it.search(documents, one)); }"""
    assert [search_docs(one) for one in queries] == page.evaluate(script, queries)


def test_run_live_without_a_key_says_so(lab: Opened, visits: Visits) -> None:
    """And shows where a key is typed in, with what it costs and exposes."""
    visit = visits.open(lab)
    visit.page.click("#live")
    until(visit.page, "document.querySelector('#trouble').textContent")
    assert "there is no key: set OPENAI_API_KEY before the lab starts, or type one in" == visit.page.inner_text(
        "#trouble"
    )
    assert visit.page.is_visible("#key")
    assert ["Cost.", "Exposure."] == visit.page.locator("#live-settings p b").all_inner_texts()


def test_a_scenario_is_picked_and_watched(lab: Opened, visits: Visits) -> None:
    """Its prompt stands in the prompt's place, what it teaches below, and only the modes that it has can be chosen."""
    visit = visits.open(lab)
    visit.page.fill("#scenario", "arguments-cut-off")
    assert ("What is 12*3456?", True) == (visit.page.input_value("#prompt"), visit.page.is_disabled("#prompt"))
    assert "Arguments cut off by the token limit." in visit.page.inner_text("#teaches")
    page = run(visit, "trace")
    assert 2 == page.locator("#outcome td", has_text="as expected").count()
    assert page.locator(".finding.serious", has_text="unanswered-call").count()
    page.fill("#scenario", "delta-null")
    assert ("stream", True) == (page.input_value("#mode"), page.locator("#mode option").first.is_disabled())


def test_an_explanation_opens_at_every_step(lab: Opened, visits: Visits) -> None:
    """Each request and each reply has one, and it fits what stands there."""
    page = run(visits.open(lab), "trace")
    assert 8 == page.locator(".sent > .why, .came > .why").count()
    reply = page.locator(".cell[aria-label='raw, round 1'] .came")
    reply.locator("summary[aria-label='explain this reply']").click()
    reply.locator("dt").first.wait_for()
    questions = reply.locator("dt").all_inner_texts()
    assert {"Why is content null here?", "What does this id do?"} <= set(questions)
    assert "tool_call_id" in reply.locator("dd").nth(1).inner_text()


def test_steps_are_taken_by_the_keyboard(lab: Opened, visits: Visits) -> None:
    """The button for the next step has the focus; each press brings the next reply of every lane."""
    page = visits.open(lab).page
    page.select_option("#pace", "step")
    page.focus("#trace")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.sent').length === 2")
    assert ("step", 0) == (page.evaluate("document.activeElement.id"), page.locator(".came").count())
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.sent').length === 4")
    assert 2 == page.locator(".came").count()
    page.keyboard.press("Enter")
    page.wait_for_selector("#outcome h2")
    page.wait_for_selector("#bar", state="hidden")
    assert "trace" == page.evaluate("document.activeElement.id")


@pytest.mark.parametrize("button", ["trace", "browser"])
def test_stop_stops(lab: Opened, visits: Visits, button: str) -> None:
    """Nothing comes any more, in no lane, and the page can be used again."""
    visit = visits.open(lab)
    visit.page.select_option("#pace", "step")
    visit.page.click(f"#{button}")
    until(visit.page, "document.querySelectorAll('.sent').length >= 2")
    visit.page.click("#stop")
    visit.page.wait_for_selector("#bar", state="hidden")
    assert "Stopped. Nothing more is asked for." == visit.page.inner_text("#trouble")
    assert lab.lab.shows[-1].over.is_set()
    assert (0, "") == (visit.page.locator(".came").count(), visit.page.inner_text("#outcome"))
    assert 2 == len(parts(run(visit, "trace"), "raw")) / 3
    assert [] == visit.said


def test_leaving_the_page_stops_the_run(lab: Opened, visits: Visits) -> None:
    """A page that nobody looks at goes on with nothing."""
    page = visits.open(lab).page
    page.select_option("#pace", "step")
    page.click("#trace")
    until(page, "document.querySelectorAll('.sent').length === 2")
    page.goto("about:blank")
    assert lab.lab.shows[-1].over.wait(10)


CONTRAST = """() => {
  const parse = color => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = node => { for (; node; node = node.parentElement) {
    const c = parse(getComputedStyle(node).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const left = ':disabled, .unseen, noscript, datalist, option';
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest(left)) continue;
    const [one, other] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a);
    if ((one + .05) / (other + .05) < 4.5) poor.push(node.outerHTML.slice(0, 120));
  }
  return poor;
}"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_can_be_read_at_both_widths_by_day_and_by_night(lab: Opened, visits: Visits, width: int, dark: bool) -> None:
    """Nothing stands out to the side, and every text has the contrast of WCAG AA; with all that folds opened."""
    visit = visits.open(lab, width=width, dark=dark)
    visit.page.fill("#scenario", "arguments-cut-off")
    page = run(visit, "trace")
    page.evaluate(OPEN_ALL)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [] == page.evaluate(CONTRAST)
    assert [] == visit.said


def test_it_speaks_to_who_does_not_see(lab: Opened, visits: Visits) -> None:
    """Every field has a name; what arrives is said in a few sentences, and not piece by piece."""
    visit = visits.open(lab)
    fields = visit.page.locator("input, select, textarea, button")
    nameless = "all => all.filter(one => !(one.labels?.length || one.textContent.trim())).map(one => one.id)"
    assert [] == fields.evaluate_all(nameless)
    visit.page.evaluate(
        "window.spoken = []; new MutationObserver(() => spoken.push(document.querySelector('#said').textContent))"
        ".observe(document.querySelector('#said'), {childList: true})"
    )
    page = run(visit, "trace")
    until(page, "spoken.join(' ').includes('The comparison is there: the lanes are equivalent.')")
    assert page.evaluate("spoken.length") <= 4
    assert "raw, round 1" == page.locator(".cell").first.get_attribute("aria-label")
    assert PROMPT == page.input_value("#prompt")
