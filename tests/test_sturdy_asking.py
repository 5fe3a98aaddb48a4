"""One request through the SDK's client: how often it goes out, how long it may take, and what counts as no answer."""

import _thread
import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing, suppress
from typing import Any

import httpx2
import openai
import pytest

from lc.sturdy import asking
from lc.sturdy.asking import Question, aask, ask, untold
from lc.sturdy.reply import Reply
from lc.sturdy.wire import Turn
from protocol import BadReply
from tests.test_raw_stream import (
    ASKS,
    CALL,
    CHUNKED,
    CLOSES,
    DONE,
    ENOUGH,
    HEAD,
    LAST,
    SAYS,
    SLOW,
    TIMEOUT,
    Step,
    Wire,
    dripped,
    event,
    http_chunk,
    plain,
    stream,
    wire,
)
from toolbox.watch import GRACE

SHORT = TIMEOUT / 2
HELLO = plain({"role": "assistant", "content": "hello"})
Got = list[str | Turn]
Ask = Callable[[Wire, Question], Got]


def question(stream: bool = True, timeout: float = ENOUGH, max_retries: int = 0, told: Any = untold) -> Question:
    return Question(b'{"model":"m","messages":[]}', stream, timeout, max_retries, told)


def sync(server: Wire, *questions: Question) -> Got:
    """What a sync client gets for each."""
    with openai.OpenAI(base_url=server.base_url, api_key="k", http_client=httpx2.Client(verify=False)) as client:
        return [one for asked in questions for one in ask(client, asked)]


async def asked_async(server: Wire, *questions: Question) -> Got:
    http = httpx2.AsyncClient(verify=False)
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k", http_client=http) as client:
        return [one for asked in questions async for one in aask(client, asked)]


def in_a_loop(server: Wire, *questions: Question) -> Got:
    """What an async client gets for each."""
    return asyncio.run(asked_async(server, *questions))


@pytest.fixture(params=[sync, in_a_loop])
def way(request: pytest.FixtureRequest) -> Any:
    """Both clients."""
    return request.param


def error_of(way: Ask, *replies: Sequence[Step], **how: Any) -> openai.APIError | BadReply:
    """What asking raises on these replies, of which the first is the only one that is asked for."""
    with wire(*replies) as server, pytest.raises((openai.APIError, BadReply)) as raised:
        way(server, question(**how))
    assert len(server.asked) == 1
    assert isinstance(raised.value, openai.APIError | BadReply)
    return raised.value


def http_error(status: int, body: bytes = b'{"error": {"message": "no"}}', *fields: bytes) -> list[Step]:
    """A reply with this status."""
    head = b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n" % (status, len(body)) + b"".join(one + b"\r\n" for one in fields)
    return [head + CLOSES + b"\r\n", body]


# --- one turn


def test_a_plain_reply_is_one_turn(way: Ask) -> None:
    """A plain request brings the message, the finish reason and the usage, and asks for no stream."""
    with wire(HELLO) as server:
        *texts, turn = way(server, question(stream=False))
    assert Turn({"role": "assistant", "content": "hello"}, "stop", None) == turn
    assert "" == "".join(map(str, texts))
    assert [{"model": "m", "messages": []}] == server.asked


@pytest.mark.parametrize("cut", [False, True])
def test_a_stream_brings_its_texts_and_then_the_turn(way: Ask, cut: bool) -> None:
    """The pieces of the content come as they came, byte by byte too, and the whole message at the end."""
    with wire(dripped(SAYS, 0.0) if cut else SAYS) as server:
        *texts, turn = way(server, question())
    assert ["he", "llo"] == [text for text in texts if text]
    assert Turn({"role": "assistant", "content": "hello"}, "stop", None) == turn


def test_a_stream_that_just_ends_is_not_whole(way: Ask) -> None:
    """Neither finish reason nor [DONE]: the turn says so, with the rules that were applied."""
    with wire(stream(ASKS)) as server:
        *_, turn = way(server, question())
    assert isinstance(turn, Turn)
    assert (False, {"no-finish-reason", "no-done"}) == (turn.whole, set(turn.deviations))
    assert [CALL] == turn.message["tool_calls"]


@pytest.mark.parametrize("end", [(), ("reset",), ("stall",)])
@pytest.mark.parametrize("last", [event({}, "tool_calls"), DONE])
def test_a_message_that_was_whole_before_the_break_counts(way: Ask, last: bytes, end: tuple[Step, ...]) -> None:
    """A finish reason or [DONE] had come."""
    pause: tuple[Step, ...] = (0.1,)  # a reset may take away what the client has not read yet
    with wire(stream(ASKS, last, end=pause + end)) as server:
        *_, turn = way(server, question(timeout=TIMEOUT))
    assert isinstance(turn, Turn)
    assert (True, [CALL]) == (turn.whole, turn.message["tool_calls"])


def test_nothing_is_awaited_behind_done(way: Ask) -> None:
    """A server that keeps the connection open behind [DONE] is given half a second to end its reply."""
    start = time.monotonic()
    with wire([*SAYS[:-1], "stall"]) as server:
        *_, turn = way(server, question(timeout=60.0))
    assert isinstance(turn, Turn)
    assert turn.whole
    assert GRACE * 0.9 < time.monotonic() - start < GRACE + 1


def test_a_connection_is_used_again(way: Ask) -> None:
    """Plain, streamed, refused: a reply that was read to its end leaves the connection fit for the next request."""
    kept: list[list[Step]] = [
        [one.replace(CLOSES, b"") if isinstance(one, bytes) else one for one in reply] + ["keep"]
        for reply in ([*SAYS[:-1], 0.05, SAYS[-1]], HELLO, SAYS, HELLO)
    ]
    with wire(*kept, SAYS) as server:
        got = way(server, *[question(stream=one) for one in (True, False, True, False, True)])
    assert ["hello"] * 5 == [turn.message["content"] for turn in got if isinstance(turn, Turn)]
    assert 1 == server.connections


# --- what is no answer


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW)
def test_a_whole_reply_has_its_time(way: Ask, reply: list[Step], mode: bool) -> None:
    """A stall and every kind of drip end at the deadline, also in the head, although bytes keep coming."""
    start = time.monotonic()
    with wire(reply) as server:
        with pytest.raises(openai.APITimeoutError):
            way(server, question(mode, SHORT))
        took = time.monotonic() - start
    assert SHORT * 0.9 < took < SHORT + 0.5


@pytest.mark.parametrize("status", [400, 500])
def test_the_body_of_an_error_has_no_more_time(way: Ask, status: int) -> None:
    """An HTTP error that stalls or drips is a reply that takes too long."""
    head, body = http_error(status, b"x" * 500)
    for reply in ([head, "stall"], [head, *dripped([body])]):
        assert isinstance(error_of(way, reply, timeout=SHORT), openai.APITimeoutError)


@pytest.mark.parametrize("end", [(), ("reset",)])
@pytest.mark.parametrize("events", [(), (ASKS,), (ASKS, event({}, "tool_calls")[:20]), (ASKS, ASKS[:-1])])
def test_a_broken_stream_is_no_reply(way: Ask, events: tuple[bytes, ...], end: tuple[Step, ...]) -> None:
    """Closed or reset before the message is whole, whatever was there."""
    error = error_of(way, stream(*events, end=end))
    assert (openai.APIConnectionError, "httpx2") == (type(error), type(error.__cause__).__module__.split(".")[0])


def test_a_broken_body_is_no_reply(way: Ask) -> None:
    """Closed or reset: in a plain reply, in an error's, in front of the first byte; and a body that does not unpack."""
    head, body, *_ = HELLO
    refused, text = http_error(500)
    gzip = plain({}, b"")[0]
    assert isinstance(gzip, bytes)
    for reply in (
        [head, body[:5]],  # type: ignore[index]
        [head, body[:5], 0.1, "reset"],  # type: ignore[index]
        [refused, text[:5]],  # type: ignore[index]
        [refused, text[:5], 0.1, "reset"],  # type: ignore[index]
        [],
        ["reset"],
        [gzip[:-2] + b"Content-Encoding: gzip\r\n\r\n", b"x" * 300],
    ):
        assert type(error_of(way, reply, stream=False)) is openai.APIConnectionError


def test_nobody_listens(way: Ask) -> None:
    """A port that is closed is a connection error."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with pytest.raises(openai.APIConnectionError):
            way(Wire([], deaf), question())


@pytest.mark.parametrize("body", [b'{"error": {"message": "bad key"}}', b"<html>", b"", b"[" * 980 + b"]" * 980])
def test_an_http_error_keeps_its_status(way: Ask, body: bytes) -> None:
    """The SDK's own exception, plain and streamed, whatever is in the body."""
    for mode in (True, False):
        error = error_of(way, http_error(401, body), stream=mode)
        assert isinstance(error, openai.AuthenticationError)
        assert 401 == error.status_code


@pytest.mark.parametrize(
    "reply",
    [
        [HEAD + b"Content-Length: 6\r\n\r\n", b"<html>"],
        [HEAD + b"Content-Length: 16\r\n\r\n", b'{"choices": [ ]}'],
        [HEAD + b"Content-Length: 28\r\n\r\n", b'{"error": {"message": "no"}}'],
    ],
)
def test_what_holds_no_message_is_a_bad_reply(way: Ask, reply: list[Step]) -> None:
    """With status 200, plain and streamed."""
    for mode in (True, False):
        assert isinstance(error_of(way, reply, stream=mode), BadReply)


def test_an_error_in_mid_stream_ends_it_at_once(way: Ask) -> None:
    """It is told in its own words, and nothing more is awaited."""
    error = b'data: {"error": {"message": "overloaded"}}\n\n'
    said = error_of(way, stream(ASKS, error, end=("stall",)), timeout=60.0)
    assert isinstance(said, BadReply)
    assert "overloaded" in str(said)


# --- retries


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_tries_again_as_often_as_it_was_told(
    way: Ask, status: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each retry is told and logged before the wait, and the SDK adds none of its own."""
    told: list[dict[str, Any]] = []
    refused = http_error(status, b'{"error": {"message": "no"}}', b"Retry-After: 0", b"x-should-retry: true")
    with caplog.at_level(logging.INFO, "lc"), wire(*[refused] * 5) as server, pytest.raises(openai.APIStatusError):
        way(server, question(max_retries=2, told=told.append))
    assert 3 == len(server.asked)
    error = told[0]["error"]
    assert [{"type": "retry", "attempt": n, "seconds": 0.0, "error": error} for n in (1, 2)] == told
    assert [f"[retry] {n} of 2 in 0 s: {error}" for n in (1, 2)] == caplog.messages
    assert str(status) in error


NOT_YET: dict[str, list[Step]] = {
    "closed": [],
    "closed-behind-the-head": [CHUNKED],
    "status-503": http_error(503, b"", b"Retry-After: 0"),
    "error-broken": http_error(503)[:1],
    "late": ["stall"],
    "late-body": [CHUNKED, "stall"],
}


@pytest.mark.parametrize("reply", NOT_YET.values(), ids=NOT_YET)
@pytest.mark.parametrize("mode", [True, False])
def test_tries_again_before_the_first_byte(way: Ask, reply: list[Step], mode: bool) -> None:
    """When asked to, and only as long as nothing of a stream was there."""
    with wire(reply, SAYS if mode else HELLO) as server:
        *_, turn = way(server, question(mode, TIMEOUT if "stall" in reply else ENOUGH, max_retries=1))
    assert isinstance(turn, Turn)
    assert (2, "hello") == (len(server.asked), turn.message["content"])


def test_a_plain_body_that_broke_is_asked_for_again(way: Ask) -> None:
    """None of it has been shown to anybody."""
    with wire([*HELLO[:1], b'{"ch'], HELLO) as server:
        assert isinstance(way(server, question(False, max_retries=1))[-1], Turn)


@pytest.mark.parametrize("end", [(), ("stall",)])
def test_does_not_try_again_in_mid_stream(way: Ask, end: tuple[Step, ...]) -> None:
    """The first byte decides."""
    error = error_of(way, stream(b":", end=end), SAYS, max_retries=3, timeout=TIMEOUT)
    assert isinstance(error, openai.APITimeoutError if end else openai.APIConnectionError)


def test_does_not_try_again_what_will_not_get_better(way: Ask) -> None:
    """A 400, what holds no message, and a wait that the server wants longer than a minute."""
    for reply in (
        http_error(400, b"", b"x-should-retry: true"),
        http_error(429, b"", b"Retry-After: 61"),
        [HEAD + b"Content-Length: 2\r\n\r\n", b"{}"],
    ):
        error_of(way, reply, HELLO, max_retries=2, stream=False)


@pytest.mark.parametrize(("asked", "waits"), [("1", 1.0), ("0", 0.0), ("soon", 0.5), ("-1", 0.5), ("²", 0.5)])
def test_waits_as_long_as_the_server_asks(asked: str, waits: float) -> None:
    """What Retry-After says in seconds, else half a second that doubles each time."""
    request = httpx2.Request("POST", "http://127.0.0.1")
    response = httpx2.Response(503, headers=[(b"Retry-After", asked.encode())], request=request)
    busy, broken = openai.APIStatusError("no", response=response, body=None), openai.APIConnectionError(request=request)
    untouched = Reply(False)
    assert waits == asking.pause(busy, 0, question(max_retries=3), untouched)
    assert [0.5, 1.0, 2.0, None] == [asking.pause(broken, n, question(max_retries=3), untouched) for n in range(4)]


# --- leaving


async def leave(server: Wire) -> None:
    """Hear the first piece, and no more."""
    http = httpx2.AsyncClient(verify=False)
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k", http_client=http) as client:
        async with aclosing(aask(client, question())) as pieces:
            await anext(pieces)
        assert_gone(server)


def assert_gone(server: Wire) -> None:
    """The client has closed its connection, so that the server takes the next."""
    with socket.create_connection(server.listener.getsockname()) as other:
        other.settimeout(1)
        other.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        assert other.recv(1)


def test_leaving_a_stream_ends_its_reply() -> None:
    """Whoever has heard enough closes the generator, and with it the response: the server sees it go."""
    left = stream(ASKS, end=("stall",))
    with wire(left, HELLO, left, HELLO) as server:
        asyncio.run(leave(server))
        with openai.OpenAI(base_url=server.base_url, api_key="k") as client:
            with closing(ask(client, question())) as pieces:
                next(pieces)
            assert_gone(server)


@pytest.mark.parametrize("reply", [["stall"], [CHUNKED, "stall"], stream(ASKS, end=("stall",))])
def test_a_task_that_is_cancelled_ends_its_reply(reply: list[Step]) -> None:
    """Wherever it is: the task ends at once, and its response is closed in it."""

    async def cancelled(server: Wire) -> None:
        http = httpx2.AsyncClient(verify=False)
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k", http_client=http) as client:

            async def listen() -> None:
                async with aclosing(aask(client, question(timeout=60.0, max_retries=2))) as pieces:
                    async for _ in pieces:
                        pass

            task = asyncio.create_task(listen())
            await asyncio.sleep(0.2)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert task.cancelled()

    start = time.monotonic()
    with wire(reply) as server:
        asyncio.run(cancelled(server))
    assert time.monotonic() - start < ENOUGH * 0.6
    assert 1 == len(server.asked)


def test_asking_leaves_no_thread_behind() -> None:
    """The clock's thread, and the one that opens the reply, end with it, also where it came too late."""
    before = _thread._count()
    for _ in range(3):
        with wire(SAYS, [HEAD, "stall"]) as server, pytest.raises(openai.APITimeoutError):
            sync(server, question(), question(timeout=0.1))
    give_up = time.monotonic() + ENOUGH
    while _thread._count() > before and time.monotonic() < give_up:
        time.sleep(0.01)
    assert _thread._count() <= before


def test_what_drips_in_many_pieces_is_taken_in_once() -> None:
    """A body of many small chunks is one message."""
    body = b"".join(one for one in HELLO[1:] if isinstance(one, bytes))
    chunks = [http_chunk(body[at : at + 7]) for at in range(0, len(body), 7)]
    with wire([CHUNKED, *chunks, LAST]) as server:
        assert isinstance(sync(server, question(False))[-1], Turn)
