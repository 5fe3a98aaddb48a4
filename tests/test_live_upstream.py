"""The live endpoint: what goes to it, what comes back from it, and what of that no lane gets to see."""

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from compare.lanes import Lane
from compare.live.guard import Guard
from compare.live.upstream import Upstream
from compare.replies import Piece, Scripted, ScriptedBody, ScriptedClose, ScriptedStream, Sending
from compare.runner import API_KEY
from compare.secrets import MASK
from tests.live_servers import KEY, body, endpoint, exchanges, handmade, live, sends, told
from tests.servers import fails, says

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
LAST = b"data: [DONE]\n\n"


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def headers(exchange: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in exchange.request.headers}


def test_only_the_endpoint_gets_the_key() -> None:
    """The lane has a dummy, which goes no further; the body goes as it came."""
    with endpoint(says("hi")) as (server, upstream):
        result = live(upstream, sends("a", body(odd=[1, {"x": None}])))
    asked, got = exchanges(result, 0)[0], server.exchanges[0]
    assert (f"Bearer {API_KEY}", f"Bearer {KEY}") == (headers(asked)["authorization"], headers(got)["authorization"])
    assert asked.request.body.raw() == got.request.body.raw()


def test_a_stream_is_passed_on_while_it_comes() -> None:
    """The lane has the first chunk before the endpoint sends the last one: it will not be sent before."""
    arrived = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.sendall(HEAD + http_chunk(FIRST))
        assert arrived.wait(10)
        connection.sendall(http_chunk(LAST) + b"0\r\n\r\n")

    def run(prompt: str, tools: Any, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        with httpx.stream("POST", f"{base_url}/chat/completions", json=body(stream=True), trust_env=False) as reply:
            chunks = reply.iter_bytes()
            assert next(chunks) == FIRST
            arrived.set()
            assert b"".join(chunks) == LAST
        return [], "answer"

    with handmade(serve) as address, Upstream(address, KEY) as upstream:
        result = live(upstream, Lane("a", run), stream=True)
    assert result.lanes[0].run.raised is None
    reply = exchanges(result, 0)[0].reply
    assert [FIRST, LAST] == [piece.data for piece in reply.pieces]
    assert "whole" == reply.ending


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (fails(401, "who are you?"), 401),
        (fails(429, "slow down", retry_after="0"), 429),
        (fails(500, "oh"), 500),
        (ScriptedBody(200, (("Content-Type", "text/html"),), "<p>maintenance</p>"), 200),
        (ScriptedBody(502, (), "bad gateway"), 502),
        (ScriptedBody(200, (), ""), 200),
    ],
)
def test_what_the_endpoint_says_reaches_the_lane_as_it_came(reply: Scripted, status: int) -> None:
    """Status, body, and the headers that a client acts on, whatever it is."""
    heard: list[httpx.Response] = []
    with endpoint(reply) as (server, upstream):
        live(upstream, sends("a", body(), heard=heard))
    sent = server.exchanges[0].reply
    assert (status, sent.body) == (heard[0].status_code, heard[0].content)
    assert dict(sent.headers)["Content-Type"] == heard[0].headers["content-type"]
    assert ("0" if status == 429 else None) == heard[0].headers.get("retry-after")


def test_a_redirect_leads_nowhere() -> None:
    """Its status and body arrive, without the address: a client would follow it away from this machine."""
    heard: list[httpx.Response] = []
    moved = ScriptedBody(307, (("Location", "http://127.0.0.1:9/v1"), ("Set-Cookie", "a=b")), "moved")
    with endpoint(moved) as (_, upstream):
        live(upstream, sends("a", body(), heard=heard))
    assert (307, "moved") == (heard[0].status_code, heard[0].text)
    assert not {"location", "set-cookie"} & set(heard[0].headers)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_a_refused_connection_is_one_for_the_lane_and_the_report_says_why() -> None:
    """The lane's connection is closed without a reply."""
    address = f"127.0.0.1:{closed_port()}"
    with Upstream(f"http://{address}/v1", KEY) as upstream:
        result = live(upstream, sends("a", body()))
    assert "connection-error" == result.lanes[0].observed
    assert isinstance(result.lanes[0].run.raised, httpx.RemoteProtocolError)
    (problem,) = told(result)["lanes"]["a"]["problems"]
    assert problem["text"].startswith(f"{address}: no connection (")
    assert "is OPENAI_BASE_URL right, and the server running?" in problem["text"]


def test_what_is_no_http_is_told_without_the_key() -> None:
    """An endpoint that echoes the key in a broken head gets it into no error text."""
    head = f"HTTP/1.1 200 OK\r\nno field {KEY}\r\n\r\n".encode()
    with handmade(lambda line: line.sendall(head)) as address, Upstream(address, KEY) as upstream:
        result = live(upstream, sends("a", body()))
    (problem,) = told(result)["lanes"]["a"]["problems"]
    assert f"no field {MASK}" in problem["text"]


@pytest.mark.parametrize(
    "reply",
    [
        ScriptedClose(),
        ScriptedBody(200, (), '{"choices": []}', Sending(cut=5, ending="cut")),
        ScriptedStream((Piece(FIRST),), sending=Sending(ending="cut")),
    ],
)
def test_a_reply_that_breaks_off_breaks_off_for_the_lane(reply: Scripted) -> None:
    """What came of it is passed on, and no end is made up."""
    with endpoint(reply) as (_, upstream):
        result = live(upstream, sends("a", body(stream=isinstance(reply, ScriptedStream))))
    assert isinstance(result.lanes[0].run.raised, httpx.RemoteProtocolError)
    assert "connection-error" == result.lanes[0].observed
    assert 1 == len(told(result)["lanes"]["a"]["problems"])


@pytest.mark.parametrize("before", [b"", HEAD + http_chunk(FIRST)])
def test_when_the_lane_waits_no_longer_nobody_does(before: bytes) -> None:
    """The endpoint's connection is shut, so that it need not go on; the run ends at once."""
    shut = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.sendall(before)
        connection.settimeout(10)
        if not connection.recv(1):
            shut.set()

    started = time.monotonic()
    with handmade(serve) as address, Upstream(address, KEY) as upstream:
        result = live(upstream, sends("a", body(stream=True), timeout=0.3), stream=True)
    assert shut.is_set()
    assert time.monotonic() - started < 5
    assert isinstance(result.lanes[0].run.raised, httpx.ReadTimeout)
    assert exchanges(result, 0)[0].client_left is not None


def test_a_lane_may_leave_behind_the_end_of_a_stream() -> None:
    """It has everything, though the endpoint has not closed the reply yet: that is no reply that broke off."""
    said = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'

    def serve(connection: socket.socket) -> None:
        connection.sendall(HEAD + http_chunk(said) + http_chunk(LAST))
        connection.settimeout(10)
        assert connection.recv(1) == b""

    def run(prompt: str, tools: Any, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        with httpx.stream("POST", f"{base_url}/chat/completions", json=body(stream=True), trust_env=False) as reply:
            came = b""
            for data in reply.iter_bytes():
                came += data
                if came.endswith(LAST):
                    break
        return [], "answer"

    with handmade(serve) as address, Upstream(address, KEY) as upstream:
        result = live(upstream, Lane("a", run), stream=True)
    exchange = exchanges(result, 0)[0]
    assert ("whole", None, said + LAST) == (exchange.reply.ending, exchange.client_left, exchange.reply.body)
    assert "answer" == result.lanes[0].observed


def test_a_body_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the size that requests have, too."""
    monkeypatch.setattr("compare.live.upstream.MAX_BODY", 1000)
    with endpoint(ScriptedBody(200, (), "x" * 2000)) as (_, upstream):
        result = live(upstream, sends("a", body()))
    assert "the reply has more than 1000 bytes" in told(result)["lanes"]["a"]["problems"][0]["text"]


def test_an_endpoint_that_tells_the_key_back_is_not_quoted_with_it() -> None:
    """Neither in a body nor in a header."""
    heard: list[httpx.Response] = []
    with endpoint(fails(401, f"Incorrect API key provided: {KEY}", x_request_id=KEY)) as (_, upstream):
        live(upstream, sends("a", body(), heard=heard))
    assert f"Incorrect API key provided: {MASK}" == heard[0].json()["error"]["message"]
    assert MASK == heard[0].headers["x-request-id"]


@pytest.mark.parametrize("size", [1, 2, 7, 24, 25, 26, 100])
def test_no_border_of_chunks_lets_the_key_through(size: int) -> None:
    """And what only begins like it comes whole."""
    text = f"a {KEY} b sk-live-canary-01234 {KEY}{KEY} c s".encode()
    guard = Guard(KEY)
    passed = b"".join(guard.feed(text[start : start + size]) for start in range(0, len(text), size)) + guard.end()
    assert text.replace(KEY.encode(), MASK.encode()) == passed


def test_a_word_is_no_secret() -> None:
    """`none` and `ollama` stand in any text."""
    guard = Guard("ollama")
    assert b"ollama" == guard.feed(b"ollama") + guard.end()


def test_the_usage_is_counted_in_both_modes() -> None:
    """As the endpoint tells it, in a stream the last time; a reply that tells none is counted as such."""
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    replies: list[Scripted] = [
        ScriptedBody(200, (), json.dumps({"choices": [], "usage": usage})),
        ScriptedBody(200, (), json.dumps({"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": -1}})),
        ScriptedStream((Piece(f'data: {{"choices":[],"usage":{json.dumps(usage)}}}\n\n'.encode()), Piece(LAST))),
    ]
    with endpoint(*replies) as (_, upstream):
        result = live(upstream, sends("a", body(), body(), body(stream=True)))
    assert {"prompt": 14, "completion": 4, "untold": 1} == told(result)["lanes"]["a"]["tokens"]


def test_at_the_limit_a_lane_is_told_so() -> None:
    """With an error that clients do not answer with another try; the endpoint gets no more."""
    heard: list[httpx.Response] = []
    with endpoint(says("1"), says("2")) as (server, upstream):
        result = live(upstream, sends("a", body(), body(), heard=heard), max_requests=1)
    assert 1 == len(server.exchanges)
    assert 400 == heard[1].status_code
    assert "the limit of 1 request for one prompt is reached; --max-requests" in heard[1].json()["error"]["message"]
    assert (True, 1) == (told(result)["limit_reached"], told(result)["requests"])


def asking(url: Callable[[str], str], **fields: str) -> Lane:
    """A lane that sends one request to an address made of its own, with these header fields; it returns the status."""

    def run(prompt: str, tools: Any, *, base_url: str, **_: Any) -> tuple[list[Any], str]:
        named = {name.title(): value.format(base_url.split("/")[2]) for name, value in fields.items()}
        reply = httpx.post(f"{url(base_url)}/chat/completions", json=body(), headers=named, trust_env=False)
        return [reply.status_code, reply.text], "answer"

    return Lane("a", run)


@pytest.mark.parametrize(
    ("lane", "status"),
    [
        (asking(lambda url: url), 200),
        (asking(lambda url: url, origin="http://{}"), 200),
        (asking(lambda url: url, origin="http://example.org"), 403),
        (asking(lambda url: url, origin="null"), 403),
        (asking(lambda url: url, host="example.org"), 403),
        (asking(lambda url: "/".join((*url.split("/")[:3], "v1"))), 404),
        (asking(lambda url: url.replace("/v1", "x/v1")), 404),
    ],
)
def test_the_server_of_a_live_run_answers_the_lane_alone(lane: Lane, status: int) -> None:
    """It costs the user's money, so it has a path that nobody can guess, and answers to no page in a browser."""
    with endpoint(says("hi")) as (server, upstream):
        result = live(upstream, lane)
    (got, text) = result.lanes[0].run.messages or []
    assert status == got
    assert (status == 200) == bool(server.exchanges)
    secret = exchanges(result, 0)[0].request.head.split(b"/")[1].decode()
    assert status == 404 or (len(secret) == 32 and secret not in text)
    assert "/v1/chat/completions" == exchanges(result, 0)[0].request.target or status == 404


def test_each_lane_has_another_path() -> None:
    """So that one cannot spend in another's name."""
    with endpoint(says("hi"), says("hi")) as (_, upstream):
        result = live(upstream, sends("a", body()), sends("b", body()))
    paths = {exchanges(result, lane)[0].request.head.split(b"/")[1] for lane in (0, 1)}
    assert 2 == len(paths)
