"""A real browser for the tests of pages: Debian's Chromium, driven by Playwright, which fetches nothing."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # so that tests without a browser do not wait for it
    from playwright.sync_api import Browser, Dialog, Page

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
needs_chromium = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="there is no chromium to open the page with")


@dataclass
class Opened:
    """A page in the browser, with what it said on its console, asked for, or popped up."""

    page: "Page"
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen from the start."""
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self.dismissed)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def dismissed(self, dialog: "Dialog") -> None:
        """Take away a dialog that popped up, and keep what it said."""
        self.said.append(dialog.message)
        dialog.dismiss()


class Pages:
    """Opens files, each in a context of its own."""

    def __init__(self, browser: "Browser", folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self._count = 0

    def open(self, html: str, place: str = "", *, width: int = 1280, dark: bool = False, script: bool = True) -> Opened:
        """The page from disk, at a place in it. Requests of its own are in `asked`."""
        self._count += 1
        path = self._folder / f"page-{self._count}.html"
        path.write_text(html, encoding="utf-8")
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        opened = Opened(context.new_page())
        own = path.as_uri()
        opened.page.goto(own + place)
        opened.asked = [url for url in opened.asked if url.partition("#")[0] != own]
        opened.page.on("framenavigated", lambda frame: opened.asked.append(frame.url) if own not in frame.url else None)
        return opened

    def close(self) -> None:
        """Close every page."""
        for context in self._browser.contexts:
            context.close()


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    """One browser for a file of tests. Not for all: its event loop runs in this thread for as long as it lives."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def pages(chromium: "Browser", tmp_path: Path) -> Iterator[Pages]:
    """Opens pages from disk."""
    opener = Pages(chromium, tmp_path)
    yield opener
    opener.close()
