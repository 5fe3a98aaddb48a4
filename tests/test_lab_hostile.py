"""Hostile texts in the lab: in every field of a trace, and none of them is more than a text."""

import json
from dataclasses import replace
from typing import Any

import httpx

from compare.lanes import Lane, load_lanes
from compare.replies import ScriptedBody, ScriptedMessage
from compare.scenario import Scenario, find
from tests.browser import needs_chromium
from tests.lab_visits import OPEN_ALL, Visits, run, until, visits
from tests.labs import open_lab

__all__ = ["visits"]  # a fixture
pytestmark = needs_chromium
ASCII = "<img src=x onerror=alert(1)></script><svg onload=alert(2)><!-- {{7*7}} ${7*7} <a href=https://evil.example/>"
HOSTILE = (
    ASCII + "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x>\u202etxet\u0000\x1b[31m\ufeff"
)


def hostile_scenario() -> Scenario:
    """A scenario that says something hostile wherever it says anything."""
    call = {"id": HOSTILE, "type": HOSTILE, "function": {"name": HOSTILE, "arguments": HOSTILE, HOSTILE: HOSTILE}}
    good = {
        "id": HOSTILE + "2",
        "type": "function",
        "function": {"name": "search_docs", "arguments": json.dumps({"query": HOSTILE})},
    }
    message = {"role": "assistant", "content": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}, "tool_calls": [call, good]}
    replies = (
        ScriptedMessage(json.dumps(message), HOSTILE, {HOSTILE: HOSTILE}),
        ScriptedBody(
            500, (("Content-Type", "text/html"), ("X-Evil", ASCII)), f"<html><script>alert(3)</script>{ASCII}"
        ),
    )
    texts = {"title": HOSTILE, "teaches": HOSTILE, "prompt": HOSTILE, "system": HOSTILE, "model": ASCII}
    return replace(find("one-call")[0], name="hostile", replies=replies, workspace={"a.txt": HOSTILE}, **texts)  # type: ignore[arg-type]


def hostile_lane(prompt: str, tools: Any, *, base_url: str, model: str, api_key: str, **rest: Any) -> Any:
    """Sends hostile messages, and raises a hostile exception."""
    messages = [{"role": HOSTILE, "content": HOSTILE, HOSTILE: HOSTILE}, {"role": "tool", "tool_call_id": HOSTILE}]
    body = {"model": HOSTILE, HOSTILE: HOSTILE, "messages": [*messages, HOSTILE, 7, {"role": {HOSTILE: 1}}]}
    httpx.post(f"{base_url}/chat/completions", json=body, headers={"X-Evil": ASCII, "User-Agent": ASCII})
    raise RuntimeError(HOSTILE)


def claiming_lane(prompt: str, tools: Any, **rest: Any) -> Any:
    """Says hostile things of what it did, which is nothing."""
    return [{"role": "assistant", "content": HOSTILE}], HOSTILE


def test_hostile_texts_are_texts(visits: Visits) -> None:
    """In every field of a trace: nothing runs, nothing is asked for, the title stays, and what hides is named."""
    lanes = [*load_lanes("raw"), Lane("<b onclick=alert(4)>lane", hostile_lane), Lane("claims", claiming_lane)]
    with open_lab(lanes, [hostile_scenario()]) as lab:
        visit = visits.open(lab)
        visit.page.locator("#lanes input").last.check()
        visit.page.fill("#scenario", "hostile")
        page = run(visit, "trace")
        page.evaluate(OPEN_ALL)
        text = page.inner_text("main")
        foreign = (
            "main img, main svg, main iframe, main style, main link, main script, main b[onclick], main a[href*=evil]"
        )
        assert ([], 0) == (visit.said, page.locator(foreign).count())
        assert set() == {url for url in visit.asked if not url.startswith(lab.address)}
        assert ("Diptych: the lab", True) == (page.title(), page.is_visible("#outcome"))
        assert text.count("<img src=x onerror=alert(1)>") > 30
        assert "⟨U+202E⟩txet␀␛[31m⟨U+FEFF⟩" in text
        assert set() == {sign for sign in "\u202e\u0000\x1b\ufeff" if sign in text}
        page.locator("#lanes input").first.check()
        run(visit, "browser")
        page.evaluate(OPEN_ALL)
        assert [] == [said for said in visit.said if "status of 500" not in said]  # the script's own second reply


def test_a_long_text_is_folded(visits: Visits) -> None:
    """A megabyte is not laid out before it is asked for."""
    message = json.dumps({"role": "assistant", "content": "x" * 1_000_000})
    scenario = replace(find("one-call")[0], name="long", replies=(ScriptedMessage(message, "stop", {}),))
    with open_lab("raw", [scenario]) as lab:
        visit = visits.open(lab)
        visit.page.fill("#scenario", "long")
        page = run(visit, "trace")
        assert page.evaluate("document.body.textContent.length") < 20_000
        page.locator(".came summary", has_text="all 1,000,000 characters").click()
        until(page, "document.body.textContent.length > 999_000")
