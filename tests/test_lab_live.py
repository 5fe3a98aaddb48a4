"""Live runs in the lab: what goes to the endpoint and what does not, where the key is not, and that stop stops."""

import http.client
import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compare.backends import demo_model
from compare.lab.endpoint import Endpoint
from compare.lab.server import PROMPT
from compare.replies import Piece, Reply
from compare.server import Backend, ModelServer, Request
from compare.wire import error_reply
from tests.browser import needs_chromium
from tests.lab_visits import LOOP, OPEN_ALL, Visits, parts, visits
from tests.labs import PATIENCE, Opened, open_lab

__all__ = ["visits"]  # a fixture

KEY = "sk-canary-0123456789"


@contextmanager
def endpoint(backend: Backend = demo_model) -> Iterator[ModelServer]:
    """An endpoint on this machine."""
    with ModelServer(backend, "some-model") as server:
        yield server


def live(lab: Opened, server: ModelServer, **more: Any) -> int:
    """Start a live show with a key that was typed in; returns its number."""
    typed = {"source": "typed", "base_url": server.base_url, "key": KEY, "model": "some-model", "max_requests": 9}
    return lab.start(what="live", prompt=PROMPT, **{"lanes": list(lab.lab.lanes), **typed, **more})


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_one_reply_serves_both_lanes_and_all_of_it_is_told_in_order(mode: str) -> None:
    """The endpoint is asked as often as the first lane needs, and each reply is told before what it leads to."""
    with endpoint() as server, open_lab() as lab:
        events = lab.events(live(lab, server, mode=mode))
    for lane in ("raw", "lc"):
        kinds = [event["kind"] for event in events if event.get("lane") == lane and event["kind"] != "finding"]
        assert ["lane", "request", "reply", "tool", "tool", "request", "reply", "ended"] == kinds
    told = events[-1]["comparison"]["live"]
    assert (2, 2, 2) == (len(server.exchanges), told["requests"], told["lanes"][1]["shared"])
    assert "18 * (4 + 2) = 108" in events[-3]["message"]["content"]


def test_the_key_goes_to_the_endpoint_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    """It is in no event, also where the endpoint tells it back, in no log, and not in the lab afterwards."""
    caplog.set_level(logging.DEBUG)
    with endpoint(lambda request: error_reply(401, f"wrong key {KEY}")) as server, open_lab("raw") as lab:
        events = lab.events(live(lab, server))
        kept = repr([vars(lab.lab), [show.since(0) for show in lab.lab.shows]])
    assert [f"Bearer {KEY}"] == [dict(one.request.headers)["Authorization"] for one in server.exchanges]
    assert "wrong key [masked]" in json.dumps([event for event in events if event["kind"] == "reply"])
    assert [False] * 3 == [KEY in text for text in (json.dumps(events), kept, caplog.text)]


def test_a_key_that_comes_back_over_the_deltas_of_a_stream_is_in_no_event() -> None:
    """Neither in the reply as a client joins it, nor in what the lane returns."""
    deltas = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in KEY]
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    pieces = tuple(Piece(f"data: {json.dumps(one)}\n\n".encode()) for one in (*deltas, last))
    body = b"".join(piece.data for piece in pieces)
    reply = Reply(200, (("Content-Type", "text/event-stream"),), body, pieces=pieces)
    with endpoint(lambda request: reply) as server, open_lab("raw") as lab:
        text = json.dumps(lab.events(live(lab, server, mode="stream")))
    assert (False, True) == (KEY in text, "[masked]" in text)


def test_the_key_of_the_environment_goes_to_its_own_address_only() -> None:
    """Whatever address is typed into the page."""
    with endpoint() as server, endpoint() as other:
        with open_lab("raw", environment=Endpoint(server.base_url, "some-model", KEY)) as lab:
            lab.events(live(lab, other, source="environment", key=""))
        assert (2, 0) == (len(server.exchanges), len(other.exchanges))


class Held:
    """A backend that answers when it is let."""

    def __init__(self) -> None:
        self.let, self.asked = threading.Event(), threading.Event()

    def __call__(self, request: Request) -> Reply:
        self.asked.set()
        assert self.let.wait(PATIENCE)
        return demo_model(request)


def test_stop_ends_a_live_run_and_nothing_more_goes_to_the_endpoint() -> None:
    """Also while a reply is awaited: the lane that waits is left, and no other begins."""
    held = Held()
    with endpoint(held) as server, open_lab() as lab:
        number = live(lab, server)
        assert held.asked.wait(PATIENCE)
        began = time.monotonic()
        lab.post("stop")
        events = lab.events(number)
        assert time.monotonic() - began < 5
        held.let.set()
        time.sleep(0.3)
        assert ("stopped", 1) == (events[-1]["kind"], len(server.exchanges))


def test_nobody_else_on_this_machine_can_spend_the_key() -> None:
    """The servers of the lanes answer under an address that only the lanes know."""
    held = Held()
    with endpoint(held) as server, open_lab("raw") as lab:
        number = live(lab, server)
        assert held.asked.wait(PATIENCE)
        connection = http.client.HTTPConnection("127.0.0.1", lab.until("lane")[0]["port"], timeout=PATIENCE)
        connection.request("POST", "/v1/chat/completions", b'{"messages": []}')
        status = connection.getresponse().status
        connection.close()
        held.let.set()
        lab.events(number)
    assert (404, 2) == (status, len(server.exchanges))


def test_the_limit_of_requests_holds() -> None:
    """For all lanes together, and the report says that it was reached."""
    with endpoint() as server, open_lab() as lab:
        told = lab.events(live(lab, server, max_requests=1))[-1]["comparison"]["live"]
    assert (1, True) == (len(server.exchanges), told["limit_reached"])


def test_an_endpoint_that_is_not_there_is_said() -> None:
    """The run ends, with the reason at its lane."""
    with endpoint() as server:
        gone = server
    with open_lab("raw") as lab:
        told = lab.events(live(lab, gone))[-1]["comparison"]["live"]
    assert "no connection" in told["lanes"][0]["problems"][0]["text"]


@needs_chromium
def test_run_live_in_the_page(visits: Visits) -> None:
    """With a key that is typed in: both lanes, what it cost, and an empty field behind it."""
    with endpoint() as server, open_lab() as lab:
        visit = visits.open(lab)
        page = visit.page
        page.click("#live-summary")
        for name, value in {"base-url": server.base_url, "key": KEY, "live-model": "some-model"}.items():
            page.fill(f"#{name}", value)
        page.click("#live")
        page.wait_for_selector("#outcome h2")
        page.wait_for_selector("#bar", state="hidden")
        page.evaluate(OPEN_ALL)
        assert [LOOP, LOOP] == [parts(page, lane) for lane in ("raw", "lc")]
        assert f"2 requests went to 127.0.0.1:{server.port}." in page.inner_text("#outcome")
        assert (False, "") == (KEY in page.content(), page.input_value("#key"))
        assert [] == visit.said


@needs_chromium
def test_stop_live_in_the_page(visits: Visits) -> None:
    """The button ends the run while a reply is awaited."""
    held = Held()
    with endpoint(held) as server, open_lab(environment=Endpoint(server.base_url, "some-model", KEY)) as lab:
        page = visits.open(lab).page
        page.click("#live")
        assert held.asked.wait(PATIENCE)
        page.click("#stop")
        page.wait_for_selector("#bar", state="hidden")
        held.let.set()
        assert "Stopped. Nothing more is asked for." == page.inner_text("#trouble")
        assert 1 == len(server.exchanges)
