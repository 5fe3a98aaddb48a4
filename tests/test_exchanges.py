"""The model server keeps every byte of each exchange, and keeps the exchanges apart and in order."""

import json
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from compare.replies import Reply, ScriptedBody
from compare.server import ModelServer, Request
from tests.clients import BODY, PATH, Clients
from tests.servers import backend, replies


def test_a_request_is_kept_byte_for_byte(connect: Clients) -> None:
    """Odd case, odd spacing, repeated and empty fields and bytes beyond ASCII stand in the record as they were sent."""
    with ModelServer(backend()) as server:
        client = connect(server)
        fields = [b"x-ODD:no space", b"X-Odd:   many   ", b"x-odd:\t", b"X-Name: caf\xe9"]
        sent = client.post(BODY, *fields)
        client.send(sent)
        client.status()
        request = server.exchanges[0].request
    assert sent == request.head + request.body.raw()
    expected = [("x-ODD", "no space"), ("X-Odd", "many"), ("x-odd", ""), ("X-Name", "café")]
    assert expected == list(request.headers[2:])
    assert (1, "POST", "/v1/chat/completions") == (request.number, request.method, request.target)


def test_a_reply_is_kept_byte_for_byte(connect: Clients) -> None:
    """What the client reads is what the record says was sent."""
    page = ScriptedBody(502, (("Server", "nginx"), ("server", "two")), "<html>\r\n七</html>")
    with ModelServer(backend(page)) as server:
        client = connect(server)
        client.send(client.post())
        status, head, body = client.reply()
        exchange = server.exchanges[0]
    assert head + body == exchange.sent
    assert (502, page.body.encode()) == (status, exchange.reply.body)


@pytest.mark.parametrize(
    "framed",
    [
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
        b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n",
        b"5;name=value\r\n%b\r\n%X\r\n%b\r\n0\r\nX-Trailer: 1\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:]),
    ],
    ids=["one chunk", "chunks of one byte", "extension and trailer"],
)
def test_a_chunked_body_is_kept_without_its_framing(connect: Clients, framed: bytes) -> None:
    """The body is what the chunks hold; the head is kept as it was sent, and the connection goes on."""
    with ModelServer(backend(*replies(2))) as server:
        client = connect(server)
        head = client.head(b"Transfer-Encoding: chunked")
        client.send(head + framed)
        assert client.status() == 200
        client.send(client.post())
        assert client.status() == 200
        first, second = server.exchanges
    assert (head, BODY) == (first.request.head, first.request.body.raw())
    assert BODY == second.request.body.raw()


def test_a_client_that_expects_100_continue_is_told_to_go_on(connect: Clients) -> None:
    """The body comes only after the interim reply, as curl does it for long ones."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.head(b"Expect: 100-continue", b"Content-Length: %d" % len(BODY)))
        assert client.reply() == (100, b"HTTP/1.1 100 Continue\r\n\r\n", b"")
        client.send(BODY)
        assert client.status() == 200
        assert BODY == server.exchanges[0].request.body.raw()


def test_pipelined_requests_are_answered_in_order(connect: Clients) -> None:
    """Three requests in one piece are three exchanges, none with bytes of another."""
    with ModelServer(backend(*replies(3))) as server:
        client = connect(server)
        sent = [client.post(BODY.replace(b"hi", b"%d" % number * number)) for number in range(1, 4)]
        client.send(b"".join(sent))
        got = [json.loads(client.reply()[2])["choices"][0]["message"]["content"] for _ in sent]
        kept = [exchange.request.head + exchange.request.body.raw() for exchange in server.exchanges]
    assert ["0", "1", "2"] == got
    assert sent == kept


def test_a_request_may_come_byte_by_byte(connect: Clients) -> None:
    """Where the pieces are cut makes no difference."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent = client.post(BODY, b"X-Some: thing")
        client.send(*(bytes([byte]) for byte in sent))
        assert client.status() == 200
        request = server.exchanges[0].request
    assert sent == request.head + request.body.raw()


@pytest.mark.parametrize(
    ("start", "fields", "stays"),
    [
        (PATH, (), True),
        (PATH, (b"Connection: keep-alive",), True),
        (PATH, (b"Connection: close",), False),
        (PATH, (b"Connection: Keep-Alive, Close",), False),
        (PATH.replace(b"1.1", b"1.0"), (), False),
        (PATH.replace(b"1.1", b"1.0"), (b"Connection: keep-alive",), False),
    ],
)
def test_a_connection_ends_where_the_client_wants_it(
    connect: Clients, start: bytes, fields: Sequence[bytes], stays: bool
) -> None:
    """Only HTTP/1.1 without `close` keeps the connection, and the reply announces its end."""
    with ModelServer(backend(*replies(2))) as server:
        client = connect(server)
        request = client.head(b"Content-Length: %d" % len(BODY), *fields, start=start) + BODY
        client.send(request)
        status, head, _ = client.reply()
        assert (200, stays) == (status, b"Connection: close" not in head)
        if stays:
            client.send(request)
        assert (200 if stays else 0) == client.status()
        assert len(server.exchanges) == (2 if stays else 1)


def test_one_connection_carries_many_requests() -> None:
    """A client that keeps its connection is never dropped, and the numbers go up one by one."""
    with ModelServer(backend(*replies(200))) as server, httpx.Client(base_url=server.base_url) as client:
        texts = []
        for _ in range(200):
            choice = client.post("chat/completions", content=BODY).json()["choices"][0]
            texts.append(choice["message"]["content"])
        assert [str(number) for number in range(200)] == texts
        assert list(range(1, 201)) == [exchange.request.number for exchange in server.exchanges]


def test_several_connections_at_once_mix_nothing() -> None:
    """Each client gets the reply that the record has beside its own request."""

    def echo(request: Request) -> Reply:
        return Reply(200, (), request.body.raw())

    def one(number: int) -> bool:
        with httpx.Client(base_url=server.base_url) as client:
            bodies = [json.dumps({"messages": [{"content": f"{number}-{turn}"}]}).encode() for turn in range(5)]
            return all(client.post("chat/completions", content=body).content == body for body in bodies)

    with ModelServer(echo) as server, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(8)))
        assert list(range(1, 41)) == [exchange.request.number for exchange in server.exchanges]
        assert all(one.request.body.raw() == one.reply.body for one in server.exchanges)


def test_times_are_seconds_since_the_start_and_in_order() -> None:
    """A request comes before its reply, and a reply takes as long as the backend took."""

    def slow(request: Request) -> Reply:
        time.sleep(0.05)
        return Reply(200, (), b"{}")

    began = time.perf_counter()
    with ModelServer(slow) as server, httpx.Client(base_url=server.base_url) as client:
        for _ in range(2):
            client.post("chat/completions", content=BODY)
        took = time.perf_counter() - began
        first, second = server.exchanges
    assert 0 < first.received < first.answered <= second.received < second.answered < took
    assert first.answered - first.received >= 0.05


def test_an_exchange_is_in_the_record_before_its_reply_can_be_read(connect: Clients) -> None:
    """A client that acts on an answer finds it in the record."""
    with ModelServer(backend(*replies(50))) as server:
        client = connect(server)
        for number in range(50):
            client.send(client.post())
            client.socket.recv(1, socket.MSG_PEEK)
            assert number + 1 == len(server.exchanges)
            client.reply()
