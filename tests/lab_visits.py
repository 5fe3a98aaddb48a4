"""Pages of a lab in the browser: opening them, running them, and what stands in them."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import browser
from tests.labs import Opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

LOOP = ["sent", "came", "ran", "sent", "came", "end"]
"""The blocks of a lane that has its calls answered in the second round."""
OPEN_ALL = """async () => { for (let round = 0; round < 4; round++) {
    document.querySelectorAll('details').forEach(one => one.open = true);
    await new Promise(go => setTimeout(go, 30)); } }"""


Visit = browser.Opened
"""A page of a lab in the browser."""


class Visits:
    """Opens labs in the browser, each in a context of its own."""

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self.contexts: list[BrowserContext] = []

    def open(self, lab: Opened, place: str = "", *, width: int = 1280, dark: bool = False) -> Visit:
        """The page, when it is ready."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self.contexts.append(context)
        visit = Visit(context.new_page())
        visit.page.set_default_timeout(15_000)
        visit.page.goto(lab.address + place)
        visit.page.wait_for_selector("html.ready", state="attached")
        return visit


@pytest.fixture
def visits(chromium: "Browser") -> Iterator[Visits]:
    """Opens labs in the browser."""
    opener = Visits(chromium)
    yield opener
    for context in opener.contexts:
        context.close()


def run(visit: Visit, button: str, pace: str = "once") -> "Page":
    """Press a button and wait for the comparison."""
    visit.page.select_option("#pace", pace)
    visit.page.click(f"#{button}")
    visit.page.wait_for_selector("#outcome h2")
    visit.page.wait_for_selector("#bar", state="hidden")
    return visit.page


def until(page: "Page", expression: str) -> None:
    """Wait until an expression is true in the page. Playwright's own way needs the eval that the policy forbids."""
    end = time.monotonic() + 15
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.02)


def parts(page: "Page", lane: str) -> list[str]:
    """The blocks of a lane, in the order in which they stand."""
    blocks = page.locator(f".cell[aria-label^='{lane},'] .block")
    found: list[str] = blocks.evaluate_all("blocks => blocks.map(block => block.classList[1])")
    return found
