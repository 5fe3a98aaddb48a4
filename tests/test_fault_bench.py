"""The model server as a fault bench: pieces, pauses, cuts, resets and stalls, exact and in the record."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO

import httpx
import pytest

from compare.backends import demo_model, script
from compare.replies import (
    Piece,
    Reply,
    Scripted,
    ScriptedBody,
    ScriptedMessage,
    ScriptedStream,
    Sending,
)
from compare.server import Exchange, ModelServer

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
HELLO = ScriptedMessage('{"role":"assistant","content":"hello"}', "stop", {})
TWO = (Piece(b"data: one\n\n"), Piece(b"data: two\n\n"))
FRAMES = b"b\r\ndata: one\n\n\r\n", b"b\r\ndata: two\n\n\r\n"
TOLERANCE = 0.25
"""Seconds by which a busy machine may be late."""


class Client:
    """A connection that sends requests for a stream."""

    def __init__(self, server: ModelServer) -> None:
        self.port = server.port
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self.file: BinaryIO = self.socket.makefile("rb")

    def ask(self, body: bytes = BODY, times: int = 1) -> None:
        """Send the request, or several in one piece."""
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n"
        self.socket.sendall((head % (self.port, len(body)) + body) * times)

    def read(self, size: int) -> bytes:
        """The next bytes."""
        return self.file.read(size)

    def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        return self.file.read()

    def close(self) -> None:
        """Leave."""
        self.file.close()
        self.socket.close()


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    """The clients of a test, closed in the end."""
    opened: list[Client] = []
    yield opened
    for client in opened:
        client.close()


def connected(server: ModelServer, clients: list[Client], body: bytes = BODY) -> Client:
    """A client that has sent its request."""
    clients.append(Client(server))
    clients[-1].ask(body)
    return clients[-1]


def serving(*replies: Scripted) -> ModelServer:
    """A server that gives these replies."""
    return ModelServer(script(replies, "m"))


def stream(*pieces: Piece, ending: str = "whole", limit: float = 30.0, **how: float) -> ScriptedStream:
    """A stream of these pieces."""
    return ScriptedStream(pieces, None, Sending(ending=ending, stall_limit=limit, **how))  # type: ignore[arg-type]


def left(exchange: Exchange) -> float:
    """When the client was found to have left; waits for it."""
    until = time.monotonic() + 5
    while exchange.client_left is None and time.monotonic() < until:
        time.sleep(0.005)
    assert exchange.client_left is not None
    return exchange.client_left


# --- what goes over the wire ---


def test_each_piece_is_one_chunk_and_the_last_chunk_ends_the_reply(clients: list[Client]) -> None:
    """The connection goes on behind it."""
    with serving(stream(*TWO), stream(*TWO)) as server:
        client = connected(server, clients)
        expected = CHUNKED + b"".join(FRAMES) + b"0\r\n\r\n"
        assert expected == client.read(len(expected))
        client.ask()
        assert expected == client.read(len(expected))
    assert [expected, expected] == [exchange.sent for exchange in server.exchanges]


def test_what_is_streamed_is_what_the_record_says() -> None:
    """The body that a client puts together is the body of the reply, and the record has where each piece ended."""
    with serving(HELLO) as server:
        got = httpx.post(f"{server.base_url}/chat/completions", content=BODY)
    exchange = server.exchanges[0]
    assert exchange.reply.body == got.content
    assert "text/event-stream" == got.headers["content-type"]
    ends, size = [], 0
    for piece in exchange.reply.pieces:
        size += len(piece.data)
        ends.append(size)
    assert ends == [end for end, _ in exchange.chunks]
    assert len(got.content) == ends[-1]


def test_a_request_says_whether_it_asks_for_a_stream() -> None:
    """Only true does; a reply is then a stream, and else it is not."""
    values = [b"true", b"false", b"null", b"1", b'"true"']
    with serving(*[HELLO] * len(values)) as server:
        for value in values:
            httpx.post(f"{server.base_url}/chat/completions", content=BODY.replace(b"true", value))
        httpx.get(f"{server.base_url}/models")
    assert [True, False, False, False, False, False] == [it.request.streamed for it in server.exchanges]
    assert [True, False, False, False, False, False] == [bool(it.reply.pieces) for it in server.exchanges]


def test_pieces_of_one_byte_arrive_as_such(clients: list[Client]) -> None:
    """One chunk a byte, also inside a character of UTF-8."""
    data = "data: 七\n\n".encode()
    with serving(stream(Piece(data), split=1)) as server:
        client = connected(server, clients)
        expected = CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in data) + b"0\r\n\r\n"
        assert expected == client.read(len(expected))
    assert list(range(1, len(data) + 1)) == [end for end, _ in server.exchanges[0].chunks]


def test_the_same_script_gives_the_same_bytes() -> None:
    """However often it is played."""

    def played() -> list[bytes]:
        with serving(HELLO, stream(*TWO, split=3)) as server:
            for _ in range(2):
                httpx.post(f"{server.base_url}/chat/completions", content=BODY)
        return [exchange.sent for exchange in server.exchanges]

    assert played() == played()


def test_an_empty_stream_is_headers_and_the_end(clients: list[Client]) -> None:
    """Which is not the same as a body of no length."""
    with serving(stream()) as server:
        expected = CHUNKED + b"0\r\n\r\n"
        assert expected == connected(server, clients).read(len(expected))


def test_fields_of_the_script_go_out_beside_a_stream_of_errors(clients: list[Client]) -> None:
    """A Retry-After stands in the reply to a request for a stream as in any other."""
    with serving(ScriptedBody(429, (("Retry-After", "7"),), "{}")) as server:
        client = connected(server, clients)
        expected = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 7\r\n"
        assert expected == client.read(len(expected))


# --- pauses ---


def test_pauses_are_kept_and_in_the_record() -> None:
    """Times go up, each pause lies before its piece, and the headers do not wait for the first."""
    pauses = [0.1, 0.0, 0.2]
    pieces = [Piece(b"data: %d\n\n" % number, pause) for number, pause in enumerate(pauses)]
    with serving(stream(*pieces)) as server:
        started = time.perf_counter()
        with httpx.stream("POST", f"{server.base_url}/chat/completions", content=BODY) as got:
            head = time.perf_counter() - started
            got.read()
    exchange = server.exchanges[0]
    times = [exchange.answered, *[at for _, at in exchange.chunks]]
    assert sorted(times) == times
    gaps = [after - before for before, after in pairwise(times)]
    assert all(pause <= gap < pause + TOLERANCE for pause, gap in zip(pauses, gaps, strict=True)), gaps
    assert head < 0.1 + TOLERANCE
    assert exchange.client_left is None


def test_a_drip_pauses_before_every_piece() -> None:
    """Split fine, it is a server that is slow and never silent for long."""
    with serving(stream(Piece(b"data: one\n\n"), split=2, drip=0.03)) as server:
        httpx.post(f"{server.base_url}/chat/completions", content=BODY)
    times = [at for _, at in server.exchanges[0].chunks]
    assert len(times) == 6
    assert all(after - before >= 0.03 for before, after in pairwise(times))


def test_a_slow_reply_holds_no_other_client(clients: list[Client]) -> None:
    """The sending is outside the lock."""
    with serving(stream(Piece(b"x", 30.0)), stream(*TWO, ending="stall"), HELLO) as server:
        for _ in range(2):
            assert CHUNKED == connected(server, clients).read(len(CHUNKED))
        started = time.perf_counter()
        assert 200 == httpx.post(f"{server.base_url}/chat/completions", content=BODY, timeout=5).status_code
        assert time.perf_counter() - started < 1
        assert [1, 2, 3] == [exchange.request.number for exchange in server.exchanges]


# --- endings ---


def test_a_stream_that_is_cut_ends_without_its_last_chunk(clients: list[Client]) -> None:
    """Cleanly, as far as TCP can tell, and the record says what was sent."""
    with serving(stream(*TWO, ending="cut", cut=15)) as server:
        client = connected(server, clients)
        assert CHUNKED + FRAMES[0] + b"4\r\ndata\r\n" == client.rest()
    exchange = server.exchanges[0]
    assert (b"data: one\n\ndata", [11, 15], None) == (
        exchange.reply.body,
        [end for end, _ in exchange.chunks],
        exchange.client_left,
    )


@pytest.mark.parametrize("cut", range(11))
def test_a_plain_reply_can_be_cut_at_every_byte(cut: int) -> None:
    """The whole length is announced, so that a client can tell; with 0 bytes there are only the headers."""
    data, ended = b"", True
    with (
        serving(ScriptedBody(200, (), "0123456789", Sending(cut=cut, ending="cut"))) as server,
        httpx.stream("POST", f"{server.base_url}/chat/completions", content=BODY) as got,
    ):
        assert "10" == got.headers["content-length"]
        try:
            for part in got.iter_raw():
                data += part
        except httpx.RemoteProtocolError:
            ended = False
    assert (b"0123456789"[:cut], cut == 10) == (data, ended)
    assert data == server.exchanges[0].reply.body


def test_a_reset_breaks_the_connection_behind_what_was_sent(clients: list[Client]) -> None:
    """The client gets the bytes, and then an error in the place of an end."""
    with serving(stream(*TWO, ending="reset"), HELLO) as server:
        client = connected(server, clients)
        expected = CHUNKED + b"".join(FRAMES)
        assert expected == client.read(len(expected))
        with pytest.raises(ConnectionResetError):
            client.rest()
        assert 200 == httpx.post(f"{server.base_url}/chat/completions", content=BODY).status_code
    assert server.exchanges[0].client_left is None


def test_a_reset_needs_nothing_to_have_been_sent() -> None:
    """Headers alone, or headers that announce a body."""
    plain = ScriptedBody(200, (), "0123456789", Sending(cut=0, ending="reset"))
    with serving(stream(ending="reset", cut=0), plain) as server:
        for _ in range(2):
            with pytest.raises(httpx.ReadError):
                httpx.post(f"{server.base_url}/chat/completions", content=BODY)


def test_a_stall_ends_at_its_limit(clients: list[Client]) -> None:
    """Nothing more is sent, and then the connection is closed; the client did not leave."""
    with serving(stream(*TWO, ending="stall", limit=0.3)) as server:
        client = connected(server, clients)
        started = time.perf_counter()
        assert CHUNKED + b"".join(FRAMES) == client.rest()
        assert 0.25 < time.perf_counter() - started < 0.3 + TOLERANCE
    assert server.exchanges[0].client_left is None


@pytest.mark.parametrize("plain", [False, True])
def test_a_client_that_leaves_a_stall_is_noticed(clients: list[Client], plain: bool) -> None:
    """At once, and its time is in the record."""
    body = ScriptedBody(200, (), "0123456789", Sending(cut=3, ending="stall"))
    with serving(body if plain else stream(*TWO, ending="stall")) as server:
        client = connected(server, clients)
        client.read(20)
        time.sleep(0.2)
        assert server.exchanges[0].client_left is None
        client.close()
        gone = left(server.exchanges[0])
    assert 0.2 <= gone - server.exchanges[0].answered < 0.2 + TOLERANCE


def test_a_client_that_leaves_a_pause_is_noticed(clients: list[Client]) -> None:
    """The record has the pieces up to there, and no more."""
    with serving(stream(TWO[0], Piece(b"data: two\n\n", 30.0))) as server:
        client = connected(server, clients)
        client.read(len(CHUNKED + FRAMES[0]))
        client.close()
        left(server.exchanges[0])
    assert [11] == [end for end, _ in server.exchanges[0].chunks]


def test_a_client_that_breaks_off_is_noticed_too() -> None:
    """By httpx's own timeout, in the middle of a drip."""
    with serving(stream(Piece(b"x" * 200), split=1, drip=0.05)) as server:
        with httpx.stream("POST", f"{server.base_url}/chat/completions", content=BODY) as got:
            for number, _ in enumerate(got.iter_raw()):
                if number == 3:
                    break
        left(server.exchanges[0])
    assert 4 <= len(server.exchanges[0].chunks) < 20


def threads() -> set[str]:
    """The names of the threads that are alive."""
    return {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("times", [1, 2], ids=["one request", "the next one is waiting behind it"])
@pytest.mark.parametrize("reply", [stream(*TWO, ending="stall"), stream(TWO[0], Piece(b"x", 30.0))])
def test_the_server_ends_at_once_in_the_middle_of_a_reply(
    clients: list[Client], reply: ScriptedStream, times: int
) -> None:
    """No thread is left, and the reply counts as not heard to its end."""
    before = threads()
    with serving(reply, HELLO) as server:
        clients.append(Client(server))
        clients[-1].ask(times=times)
        clients[-1].read(len(CHUNKED + FRAMES[0]))
        started = time.perf_counter()
    assert time.perf_counter() - started < 1
    assert before == threads()
    assert [True] == [exchange.client_left is not None for exchange in server.exchanges]


def test_a_request_that_waits_behind_a_stall_is_not_answered(clients: list[Client]) -> None:
    """Bytes of a next request are no leaving, and the limit holds all the same."""
    with serving(stream(*TWO, ending="stall", limit=0.2), HELLO) as server:
        clients.append(Client(server))
        clients[-1].ask(times=2)
        assert CHUNKED + b"".join(FRAMES) == clients[-1].rest()
    assert [None] == [exchange.client_left for exchange in server.exchanges]


def test_a_client_that_takes_nothing_does_not_hold_the_server(clients: list[Client]) -> None:
    """The buffers are full and the sending waits; the server ends it."""
    with serving(stream(*[Piece(b"x" * 1_000_000)] * 20)) as server:
        connected(server, clients)
        while not server.exchanges:
            time.sleep(0.005)
        started = time.perf_counter()
    assert time.perf_counter() - started < 1
    assert server.exchanges[0].client_left is not None


# --- who answers ---


def test_a_stream_alone_asked_for_without_one_is_told_so() -> None:
    """It counts as given, and nothing is made up in its place."""
    with serving(stream(*TWO), HELLO) as server:
        got = httpx.post(f"{server.base_url}/chat/completions", content=BODY.replace(b"true", b"false"))
        expected = "reply 1 of the script is a stream; send the request with stream true"
        assert (400, expected) == (got.status_code, got.json()["error"]["message"])
        assert 200 == httpx.post(f"{server.base_url}/chat/completions", content=BODY).status_code


@pytest.mark.parametrize(
    ("options", "expected"), [(b"null", 0), (b"{}", 0), (b'{"include_usage":false}', 0), (b'{"include_usage":true}', 1)]
)
def test_a_stream_has_usage_where_the_request_asks_for_it(options: bytes, expected: int) -> None:
    """By `stream_options.include_usage`, as at OpenAI."""
    with serving(HELLO) as server:
        body = BODY[:-1] + b',"stream_options":' + options + b"}"
        got = httpx.post(f"{server.base_url}/chat/completions", content=body)
    assert expected == got.text.count('"choices":[]')


def test_the_demo_model_streams_too() -> None:
    """The same answer as without, in pieces."""
    with ModelServer(demo_model) as server:
        body = json.loads(BODY) | {"messages": [{"role": "user", "content": "\ud83d?"}], "model": "\ud83d"}
        plain = httpx.post(f"{server.base_url}/chat/completions", content=json.dumps({**body, "stream": False}))
        streamed = httpx.post(f"{server.base_url}/chat/completions", content=json.dumps(body))
    events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: {")]
    text = "".join(event["choices"][0]["delta"].get("content") or "" for event in events)
    assert plain.json()["choices"][0]["message"]["content"] == text
    assert plain.json()["choices"][0]["finish_reason"] == events[-1]["choices"][0]["finish_reason"]


def test_a_reply_by_hand_needs_no_script() -> None:
    """A backend may give the pieces itself."""
    reply = Reply(200, (), b"ab", pieces=(Piece(b"a"), Piece(b"b")))
    with ModelServer(lambda request: reply) as server:
        assert b"ab" == httpx.post(f"{server.base_url}/chat/completions", content=BODY).content
