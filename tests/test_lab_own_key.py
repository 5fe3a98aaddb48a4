"""A key in the page: where it goes, what CORS has to do with it, and what the page cannot reach."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from compare import demo
from tests.browser import needs_chromium
from tests.lab_visits import LOOP, OPEN_ALL, Visits, parts, run, until, visits
from tests.labs import Opened, open_lab

__all__ = ["visits"]  # a fixture
pytestmark = needs_chromium
KEY = "sk-canary-0123456789"


@pytest.fixture(scope="module")
def lab(loopback: None) -> Iterator[Opened]:
    """A lab with one lane."""
    with open_lab("raw") as opened:
        yield opened


@contextmanager
def endpoint(allows: bool) -> Iterator[tuple[str, list[str]]]:
    """A server of somebody else's, with or without CORS: its address, and the keys that it was sent."""
    keys: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def reply(self, body: bytes) -> None:
            self.send_response(200)
            if allows:
                self.send_header("Access-Control-Allow-Origin", self.headers["Origin"])
                self.send_header("Access-Control-Allow-Headers", "authorization, content-type")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_OPTIONS(self) -> None:
            self.reply(b"")

        def do_POST(self) -> None:
            keys.append(self.headers["Authorization"])
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.reply(json.dumps({"choices": [demo.answer(request)]}).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", keys
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_key_of_the_readers_own_goes_from_the_page_to_the_endpoint_only(lab: Opened, visits: Visits) -> None:
    """Its loop stands beside the lanes that were there; the key is in no text and no field afterwards."""
    with endpoint(allows=True) as (url, keys):
        visit = visits.open(lab)
        visit.page.click("#own-settings summary")
        visit.page.fill("#door-url", url)
        visit.page.click("#open-door")
        visit.page.wait_for_selector("#own-key")
        run(visit, "trace")
        visit.page.fill("#own-key", KEY)
        visit.page.fill("#own-model", "some-model")
        visit.page.click("#own-run")
        visit.page.wait_for_selector(".cell[aria-label='browser, round 2'] .end")
        page = visit.page
        assert [LOOP, LOOP] == [parts(page, lane) for lane in ("raw", "browser")]
        assert "18 * (4 + 2) = 108" in page.locator(".cell[aria-label='browser, round 2'] .came").inner_text()
        page.evaluate(OPEN_ALL)
        assert (False, "") == (KEY in page.content(), page.input_value("#own-key"))
        assert [f"Bearer {KEY}"] * 2 == keys
        asked = {u for u in visit.asked if not u.startswith(lab.address)}
        assert {f"{url}/chat/completions"} == asked
        assert [] == visit.said


def test_an_endpoint_that_does_not_allow_the_page_is_explained(lab: Opened, visits: Visits) -> None:
    """The browser keeps the answer back, and the page says why."""
    with endpoint(allows=False) as (url, keys):
        visit = visits.open(lab, f"?endpoint={url}")
        visit.page.fill("#own-key", KEY)
        visit.page.fill("#own-model", "some-model")
        visit.page.click("#own-run")
        until(visit.page, "document.querySelector('#trouble').textContent.includes('CORS')")
        assert [] == keys


def test_the_page_that_speaks_to_the_lab_only_cannot_reach_an_endpoint(lab: Opened, visits: Visits) -> None:
    """The policy forbids it, whatever a script wants."""
    with endpoint(allows=True) as (url, keys):
        page = visits.open(lab).page
        tried = f"fetch('{url}/chat/completions', {{method: 'POST', body: '{{}}'}}).then(() => 'sent', () => 'kept')"
        assert ("kept", []) == (page.evaluate(tried), keys)
