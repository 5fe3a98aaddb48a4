"""The lab by plain HTTP: who may speak to it, what a show tells and when, and what never leaves it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from compare.lab.endpoint import Endpoint, EndpointError, checked, from_environment, origin_of
from compare.lab.server import ASSETS, PROMPT
from compare.scenario import catalogue, load
from tests.labs import Opened, open_lab


@pytest.fixture(scope="module")
def lab(loopback: None) -> Iterator[Opened]:
    """One lab for tests that only ask it."""
    with open_lab() as opened:
        yield opened


def host(lab: Opened) -> str:
    return f"127.0.0.1:{lab.port}"


def requests_of(lab: Opened) -> list[tuple[str, str]]:
    """One request of each kind."""
    paths = [("GET", "/"), ("GET", "/setup.json"), ("GET", "/lab.js"), ("GET", "/events/0"), ("POST", "/start")]
    return [*paths, ("POST", "/stop"), ("POST", "/step"), ("POST", "/ended"), ("POST", "/v1/chat/completions")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
    ],
)
def test_a_foreign_host_or_origin_is_refused(lab: Opened, headers: dict[str, str]) -> None:
    """Whatever is asked for, the token being right."""
    for method, path in requests_of(lab):
        status, _, text = lab.send(method, lab.path + path, b"{}", headers)
        assert (403, "the lab answers") == (status, text[:15]), (method, path)


@pytest.mark.parametrize("prefix", ["", "/wrong", "/wrong/../", "//"])
def test_without_the_token_nothing_is_answered(lab: Opened, prefix: str) -> None:
    """Neither the page nor its parts, neither events nor runs."""
    for method, path in requests_of(lab):
        status, _, text = lab.send(method, prefix + path, b"{}")
        assert (403, True) == (status, "token" in text), (method, path)
    assert lab.send("GET", f"{lab.path[:-1]}/")[0] == 403


def test_its_own_page_is_answered(lab: Opened) -> None:
    """With and without an Origin, under both names of this machine."""
    for name in ("127.0.0.1", "localhost"):
        headers = {"Host": f"{name}:{lab.port}", "Origin": f"http://{name}:{lab.port}"}
        assert lab.send("GET", f"{lab.path}/", headers=headers)[0] == 200


def test_two_hosts_are_refused(lab: Opened) -> None:
    """One of them may be what another reader goes by."""
    request = f"GET {lab.path}/ HTTP/1.1\r\nHost: {host(lab)}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", lab.port)) as connection:
        connection.sendall(request.encode())
        assert connection.recv(100).split()[1] in (b"400", b"403")


def test_it_listens_on_this_machine_only(lab: Opened) -> None:
    """Not on the addresses that others can reach."""
    with socket.socket() as other, pytest.raises(OSError, match=r"refused|unreachable|denied"):
        other.connect(("127.0.0.2", lab.port))


def test_the_way_for_the_browser_leads_to_the_page_once(lab: Opened) -> None:
    """The command line of a browser can be read by others; what stands in it is worth nothing any more."""
    path = "/" + lab.serving.once.rpartition("/")[2]
    answers = [lab.send("GET", path) for _ in range(2)]
    assert (303, f"{lab.path}/") == (answers[0][0], answers[0][1]["location"])
    assert answers[1][0] == 403


def test_every_answer_is_guarded(lab: Opened) -> None:
    """Also a refusal, an error, and a style: nothing loads, nothing frames it, no address is passed on."""
    for path in (f"{lab.path}/", f"{lab.path}/lab.css", f"{lab.path}/nothing", "/"):
        fields = lab.send("GET", path)[1]
        assert fields["content-security-policy"].startswith("default-src 'none'; script-src 'self'; "), path
        assert "connect-src 'self'; " in fields["content-security-policy"]
        assert ("no-referrer", "no-store") == (fields["referrer-policy"], fields["cache-control"])
        assert ("nosniff", "DENY") == (fields["x-content-type-options"], fields["x-frame-options"])


def test_the_page_may_speak_to_an_endpoint_that_was_typed_and_to_no_other(lab: Opened) -> None:
    """Its origin alone is let into the policy."""
    fields = lab.send("GET", f"{lab.path}/?endpoint=https://api.example.com:8443/v1")[1]
    assert "connect-src 'self' https://api.example.com:8443; " in fields["content-security-policy"]


@pytest.mark.parametrize(
    "url",
    [
        "https://a;script-src *",
        "https://*",
        "https://a b",
        "https://a'b",
        "https://user@api.example.com",
        "http://api.example.com",
        "javascript:alert(1)",
        "data:,",
        "https://",
        "https://a:99999",
        "*",
        "",
    ],
)
def test_no_address_gets_more_into_the_policy(lab: Opened, url: str) -> None:
    """Nor is a key sent where everyone on the way can read it."""
    with pytest.raises(EndpointError):
        origin_of(url)
    assert lab.send("GET", f"{lab.path}/?endpoint={quote(url)}")[0] == 400


def test_scripts_make_text_only() -> None:
    """No script of the page's can make markup or code of a text."""
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|setHTML|DOMParser"
    forbidden += r"|createContextualFragment|setAttribute\(\"on|\.href\s*=|\.src\s*=|localStorage|sessionStorage|cookie"
    for name in ASSETS:
        text = (files("compare.lab") / name).read_text(encoding="utf-8")
        assert [] == re.findall(forbidden, text), name
    page = (files("compare.lab") / "lab.html").read_text(encoding="utf-8")
    assert [] == re.findall(r"\son\w+=|style=|<script(?! type=\"module\" src=\"lab\.js\">)", page)


def test_a_trace_tells_of_everything_in_its_order() -> None:
    """Each lane's requests, replies and uses of tools as they came, its end, and the comparison at last."""
    with open_lab() as lab:
        events = lab.play(prompt=PROMPT, lanes=["raw", "lc"])
    for lane in ("raw", "lc"):
        kinds = [event["kind"] for event in events if event.get("lane") == lane and event["kind"] != "finding"]
        assert ["lane", "request", "reply", "tool", "tool", "request", "reply", "ended"] == kinds
        tools = {e["name"]: e["result"] for e in events if e["kind"] == "tool" and e["lane"] == lane}
        assert 108 == tools["calculator"]
        assert ["call-ids"] == [one["id"] for one in tools["search_docs"]["documents"]]
    assert "compared" == events[-1]["kind"]
    answers = [event["message"]["content"] for event in events if event["kind"] == "reply" and event["number"] == 2]
    assert [True, True] == ["18 * (4 + 2) = 108" in answer for answer in answers]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)


def test_a_trace_connects_to_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lane opens a connection to anywhere else, whatever the environment says."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:1")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.example.com/v1")
    asked: list[Any] = []
    connect = socket.socket.connect

    def noted(self: socket.socket, to: Any) -> None:
        asked.append(to)
        connect(self, to)

    monkeypatch.setattr(socket.socket, "connect", noted)
    with open_lab() as lab:
        events = lab.play(prompt=PROMPT, lanes=["raw", "lc"])
        ports = {event["port"] for event in events if event["kind"] == "lane"}
        assert {("127.0.0.1", port) for port in ports} == {to for to in asked if to[1] != lab.port}


@pytest.mark.parametrize(
    "name", ["one-call", "arguments-cut-off", "arguments-escaped", "two-calls-in-one-turn", "id-missing"]
)
def test_what_is_found_on_the_way_is_in_the_comparison(name: str) -> None:
    """A request is judged when it arrives, and what was said then holds in the end."""
    with open_lab(scenarios=[name]) as lab:
        events = lab.play(scenario=name, mode="plain", lanes=["raw", "lc"])
    final = {(lane["name"], one["key"]) for lane in events[-1]["comparison"]["lanes"] for one in lane["findings"]}
    early = {(event["lane"], event["finding"]["key"]) for event in events if event["kind"] == "finding"}
    assert early
    assert early <= final


def test_a_finding_is_told_before_the_reply_to_its_request() -> None:
    """The difference appears as it happens, not when all is over."""
    with open_lab() as lab:
        events = lab.play(prompt=PROMPT, lanes=["lc"])
    places = {event["kind"]: place for place, event in enumerate(events) if event.get("number") == 2}
    assert "re-serialised" == events[places["finding"]]["finding"]["class"]
    assert places["request"] < places["finding"] < places["reply"]


def test_a_scenario_is_played_with_what_is_expected_of_it() -> None:
    """Its script is the model, and the report says whether all is as expected."""
    with open_lab(scenarios=["arguments-cut-off"]) as lab:
        compared = lab.play(scenario="arguments-cut-off", mode="plain", lanes=["raw", "lc"])[-1]["comparison"]
    assert ("arguments-cut-off", True, "different") == tuple(
        compared[key] for key in ("name", "as_expected", "verdict")
    )


def test_a_scenario_plays_as_a_stream_where_that_is_wanted() -> None:
    """The reply's bytes are events, and its message is whole."""
    with open_lab(scenarios=["one-call"]) as lab:
        events = lab.play(scenario="one-call", mode="stream", lanes=["raw"])
    reply = next(event for event in events if event["kind"] == "reply")
    assert (True, "data: ") == (reply["streamed"], reply["body"][:6])
    assert reply["message"]["tool_calls"]


def test_step_by_step_each_reply_waits_for_its_step() -> None:
    """One step lets every lane have its next reply, and no more."""
    with open_lab() as lab:
        number = lab.start(prompt=PROMPT, lanes=["raw", "lc"], pace="step")
        lab.until("request", 2)
        time.sleep(0.1)
        assert [] == [event for event in lab.lab.shows[-1].since(0) if event["kind"] == "reply"]
        lab.post("step")
        lab.until("request", 4)
        assert len(lab.until("reply", 2)) == 2
        lab.post("step")
        events = lab.events(number)
    assert ("compared", 4) == (events[-1]["kind"], len([event for event in events if event["kind"] == "reply"]))


def test_slowly_a_reply_takes_its_time() -> None:
    """So that a reader can watch."""
    with open_lab() as lab:
        events = lab.play(prompt=PROMPT, lanes=["raw"], pace="slow")
    asked, replied = (next(event["at"] for event in events if event["kind"] == kind) for kind in ("request", "reply"))
    assert replied - asked > 0.8


def test_what_is_about_time_is_not_held_back() -> None:
    """A scenario whose lanes have little time for a reply plays at once: the reader's step would change its end."""
    hurried = next(one for one in catalogue_names() if one[1] < 60)
    with open_lab(scenarios=[hurried[0]]) as lab:
        events = lab.play(scenario=hurried[0], mode="stream", lanes=["raw"], pace="step")
    assert "compared" == events[-1]["kind"]


def catalogue_names() -> list[tuple[str, float]]:
    return [(one.name, one.timeout) for one in map(load, catalogue()) if "stream" in one.modes]


def test_stop_ends_the_run_and_no_lane_is_answered_any_more() -> None:
    """What waits at the gate gets no reply of the model's, and no request follows."""
    with open_lab() as lab:
        number = lab.start(prompt=PROMPT, lanes=["raw", "lc"], pace="step")
        lab.until("request", 2)
        lab.post("stop")
        events = lab.events(number)
        count = len(events)
        time.sleep(0.2)
        assert count == len(lab.lab.shows[-1].since(0))
    assert "stopped" == events[-1]["kind"]
    assert 2 == len([event for event in events if event["kind"] == "request"])
    assert not [event for event in events if event["kind"] in ("reply", "tool", "compared")]


def test_a_new_show_takes_the_place_of_the_old() -> None:
    """The old one is stopped first: there is one stage."""
    with open_lab() as lab:
        first = lab.start(prompt=PROMPT, pace="step")
        lab.until("request")
        second = lab.start(prompt=PROMPT)
        assert ["stopped", "compared"] == [lab.events(number)[-1]["kind"] for number in (first, second)]


def completion(lab: Opened, *messages: dict[str, Any]) -> dict[str, Any]:
    """The choice of the demo model's reply to a request of the page's own lane."""
    tools = json.loads(lab.send("GET", f"{lab.path}/setup.json")[2])["tools"]
    status, text = lab.post("v1/chat/completions", {"model": "demo-model", "messages": messages, "tools": tools})
    assert status == 200, text
    choice: dict[str, Any] = json.loads(text)["choices"][0]
    return choice


def test_the_lane_in_the_page_is_judged_by_its_wire() -> None:
    """As a foreign run, beside the others: here it answers one of two calls, and that is found."""
    with open_lab() as lab:
        number = lab.start(what="browser", prompt=PROMPT, lanes=["raw"])
        user = {"role": "user", "content": PROMPT}
        asked = completion(lab, user)["message"]
        completion(lab, user, asked, {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "{}"})
        lab.post("ended")
        events = lab.events(number)
    assert ["raw", "browser"] == [lane["name"] for lane in events[-1]["comparison"]["lanes"]]
    found = {one["class"] for one in events[-1]["comparison"]["lanes"][1]["findings"]}
    assert "unanswered-call" in found
    assert 2 == len([event for event in events if event["kind"] == "reply" and event["lane"] == "browser"])


def test_the_model_of_the_page_is_there_only_while_its_lane_plays(lab: Opened) -> None:
    """It is no open model server."""
    assert 409 == lab.post("v1/chat/completions", {"messages": []})[0]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"lanes": ["os:system"]}, "no such lane"),
        ({"lanes": "raw"}, "no such lane"),
        ({"lanes": []}, "choose a lane"),
        ({"prompt": " "}, "prompt is empty"),
        ({"prompt": "\ud800"}, "must be a JSON object"),
        ({"scenario": "../../etc/passwd"}, "no such scenario"),
        ({"what": "live", "max_requests": 0}, "from 1 to 100"),
        ({"what": "live", "max_requests": 5, "source": "environment"}, "no key"),
        ({"what": "live", "max_requests": 5, "source": "typed", "key": 1}, "texts"),
    ],
)
def test_what_cannot_be_started_is_refused_in_words(lab: Opened, wanted: dict[str, Any], words: str) -> None:
    """Only the lanes and scenarios that the lab was opened with can be run."""
    status, text = lab.post("start", {"what": "trace", "lanes": ["raw"], "prompt": "", **wanted})
    assert (400, True) == (status, words in text), text


def test_a_body_without_end_is_refused(lab: Opened) -> None:
    """Before it fills the memory."""
    assert 413 == lab.send("POST", f"{lab.path}/start", b" " * (8 * 1024 * 1024 + 1))[0]
    assert 400 == lab.send("POST", f"{lab.path}/start", b"[" * 100_000)[0]


KEY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (Endpoint("http://api.example.com/v1", "m", KEY), "use https"),
        (Endpoint("https://u:p@api.example.com/v1", "m", KEY), "without password"),
        (Endpoint("ftp://api.example.com", "m", KEY), "must be like"),
        (Endpoint("https://", "m", KEY), "must be like"),
        (Endpoint("https://api.example.com/v1", "", KEY), "no model"),
        (Endpoint("https://api.example.com/v1", "m", f"{KEY}\n"), "no key has"),
        (Endpoint("https://api.example.com/v1", "m", f"{KEY}ü"), "no key has"),
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_refused_without_telling_the_key(endpoint: Endpoint, words: str) -> None:
    """Each with what is wrong."""
    with pytest.raises(EndpointError, match=words) as raised:
        checked(endpoint)
    assert KEY not in str(raised.value) + repr(endpoint)


def test_the_key_of_the_environment_stays_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page learns that there is one, and where it would be sent."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_MODEL", "some-model")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.example.com/v1")
    with open_lab(environment=from_environment()) as lab:
        text = lab.send("GET", f"{lab.path}/setup.json")[2]
    told = {"key": True, "base_url": "https://api.example.com/v1", "model": "some-model"}
    assert told == json.loads(text)["environment"]
    assert KEY not in text


@pytest.mark.parametrize("url", [f"https://me:{KEY}@api.example.com/v1", f"https://api.example.com/v1?code={KEY}"])
def test_an_address_that_may_hold_a_key_is_not_told(url: str) -> None:
    """It would be refused anyway."""
    with open_lab(environment=Endpoint(url, "m", "k")) as lab:
        assert KEY not in lab.send("GET", f"{lab.path}/setup.json")[2]


def test_the_command_opens_the_lab_until_it_is_interrupted() -> None:
    """It shows the address, tells no key, and ends well."""
    words = [sys.executable, "-m", "compare", "lab", "--no-browser", "--lanes", "raw"]
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as ran:
        assert ran.stdout is not None
        line = ran.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", line)
        assert address is not None, line
        assert "Show deterministic trace" in httpx.get(address[0]).text
        ran.send_signal(signal.SIGINT)
        rest = ran.stdout.read()
    assert (0, False) == (ran.returncode, KEY in line + rest)


def test_a_port_that_is_taken_is_said_in_a_line(lab: Opened) -> None:
    """With what to do."""
    words = [sys.executable, "-m", "compare", "lab", "--no-browser", "--lanes", "raw", "--port", str(lab.port)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (2, 1) == (ran.returncode, len(ran.stderr.splitlines()))
    assert f"port {lab.port} is not to be had: Address already in use; choose another" in ran.stderr
