"""The model server survives whatever is sent to it, and clients that are slow or go away."""

import json
import socket
import struct
import time
from typing import Any

import pytest

from compare import wire
from compare.replies import ScriptedBody
from compare.server import Exchange, ModelServer
from tests.clients import BODY, PATH, Client, Clients
from tests.servers import backend, replies

# --- whatever is sent ---

HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(100)
DEEP = b'{"messages":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HELLO, 400),
        (b"\x00\x01\x02\x03\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"EHLO mail\r\nQUIT\r\n\r\n", 400),
        (b"GET /v1/models\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (PATH + b"Content-Length: 2\r\n\r\n{}", 400),
        (PATH + b"Host: a\r\nHost: b\r\n\r\n", 400),
        (PATH + b"Host: a\r\nno colon\r\n\r\n", 400),
        (PATH + b"Host: a\r\nspace before : 1\r\n\r\n", 400),
        (PATH + b"Host: a\r\nContent-Length: ten\r\n\r\n", 400),
        (PATH + b"Host: a\r\nContent-Length: -1\r\n\r\n", 400),
        (PATH + b"Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (PATH + b"Host: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        (PATH + b"Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (PATH + b"Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
        (PATH + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (PATH + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", 400),
        (PATH + b"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (PATH + b"Host: a\r\nX-Long: " + b"x" * 70_000, 431),
        (PATH + b"Host: a\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (PATH + b"Host: a\r\n" + b"X: y\r\n" * 12_000 + b"\r\n", 431),
        (b"POST /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (PATH + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\n5;" + b"x" * 70_000, 431),
    ],
)
def test_what_is_not_http_is_refused_and_the_server_goes_on(connect: Clients, sent: bytes, status: int) -> None:
    """A clear error in JSON and an end of the connection; the next client is served, and no reply is used up."""
    with ModelServer(backend()) as server:
        hostile, good = connect(server), connect(server)
        hostile.send(sent)
        got, head, body = hostile.reply()
        assert (status, True) == (got, b"Connection: close" in head)
        assert json.loads(body)["error"]["message"]
        assert hostile.file.read() == b""
        good.send(good.post())
        assert good.status() == 200


@pytest.mark.parametrize("sent_whole", [True, False])
def test_a_body_beyond_the_limit_is_refused(
    connect: Clients, monkeypatch: pytest.MonkeyPatch, sent_whole: bool
) -> None:
    """By its Content-Length alone, before any of it is read; and a client that sends it all can read the error."""
    monkeypatch.setattr(wire, "MAX_BODY", 1000)
    with ModelServer(backend()) as server:
        client, other = connect(server), connect(server)
        client.send(client.head(b"Content-Length: 1001"), b"x" * 1001 if sent_whole else b"")
        assert client.message() == "the body has more than 1000 bytes"
        other.send(other.post(BODY + b" " * (1000 - len(BODY))))
        assert other.status() == 200


def test_a_chunked_body_beyond_the_limit_is_refused(connect: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not say how long it is, so it is counted as it comes."""
    monkeypatch.setattr(wire, "MAX_BODY", 1000)
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.head(b"Transfer-Encoding: chunked"), b"64\r\n" + b"x" * 100 + b"\r\n")
        client.send(*[b"64\r\n" + b"x" * 100 + b"\r\n"] * 10)
        assert client.status() == 413


def test_a_body_beyond_the_limit_is_not_asked_for(connect: Clients) -> None:
    """A client that waits for 100 Continue hears 413 in its place."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.head(b"Expect: 100-continue", b"Content-Length: %d" % (wire.MAX_BODY + 1)))
        assert client.status() == 413


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "cannot be read as JSON"),
        (b"hello", "cannot be read as JSON"),
        (BODY[:-1], "cannot be read as JSON"),
        (BODY + b"}", "cannot be read as JSON"),
        (BODY + BODY, "cannot be read as JSON"),
        (b"\xef\xbb\xbf" + BODY, "cannot be read as JSON"),
        (BODY.replace(b"hi", b"\xff\xfe"), "cannot be read as JSON"),
        (BODY.replace(b"hi", b"\xed\xa0\xbd"), "cannot be read as JSON"),
        (BODY.decode().encode("utf-16"), "cannot be read as JSON"),
        (BODY.replace(b'"hi"', b"NaN"), "NaN is no number of JSON"),
        (BODY.replace(b'"hi"', b"-Infinity"), "-Infinity is no number of JSON"),
        (BODY.replace(b'"hi"', b"1" * 5000), "cannot be read as JSON"),
        (DEEP, "cannot be read as JSON"),
        (DEEP.replace(b"[" * 99_800, b"").replace(b"]" * 99_800, b""), "nested more than 100 levels deep"),
        (b"[]", "no object"),
        (b'"messages"', "no object"),
        (b"null", "no object"),
        (b"{}", "no list of messages"),
        (b'{"messages":null}', "no list of messages"),
        (b'{"messages":{"0":{}}}', "no list of messages"),
        (b'{"messages":[{}],"messages":"x"}', "no list of messages"),
    ],
)
def test_a_body_that_is_no_request_is_refused_and_uses_up_no_reply(connect: Clients, body: bytes, text: str) -> None:
    """The error says what is wrong, the bytes are kept, and the same connection goes on with the first reply."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.post(body))
        status, _, error = client.reply()
        assert (400, True) == (status, text in json.loads(error)["error"]["message"])
        client.send(client.post())
        assert client.status() == 200
        assert [(body, False), (BODY, True)] == [(it.request.body.raw(), it.for_model) for it in server.exchanges]


@pytest.mark.parametrize(
    ("start", "status", "text"),
    [
        (b"GET /v1/chat/completions HTTP/1.1\r\n", 405, "GET is not allowed here, only POST"),
        (b"PUT /v1/chat/completions?x=1 HTTP/1.1\r\n", 405, "PUT is not allowed here, only POST"),
        (b"OPTIONS /v1/chat/completions HTTP/1.1\r\n", 405, "OPTIONS is not allowed here, only POST"),
        (b"POST /chat/completions HTTP/1.1\r\n", 404, "there is no /chat/completions here"),
        (b"POST /v1/responses HTTP/1.1\r\n", 404, "there is no /v1/responses here"),
        (b"POST /v1/chat/completions/../x HTTP/1.1\r\n", 404, "only POST /v1/chat/completions"),
        (b"POST /v1/models HTTP/1.1\r\n", 404, "there is no /v1/models here"),
        (b"CONNECT example.org:443 HTTP/1.1\r\n", 404, "there is no example.org:443 here"),
    ],
)
def test_a_request_that_is_not_for_the_model_is_told_so(connect: Clients, start: bytes, status: int, text: str) -> None:
    """Wrong method or wrong path: the error says what there is, and the request is kept but uses up no reply."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.head(b"Content-Length: %d" % len(BODY), start=start) + BODY)
        got, _, error = client.reply()
        assert (status, True) == (got, text in json.loads(error)["error"]["message"])
        exchange = server.exchanges[0]
        assert (False, BODY) == (exchange.for_model, exchange.request.body.raw())
        other = connect(server)
        other.send(other.post())
        assert other.status() == 200


def test_only_requests_for_the_model_go_on_from_one_another(connect: Clients) -> None:
    """What is sent elsewhere in between, or is no request, neither breaks the chain of bodies nor gets into it."""
    longer = BODY.replace(b"}]", b"},{}]")
    with ModelServer(backend(*replies(3))) as server:
        client = connect(server)
        elsewhere = client.post(BODY.replace(b"hi", b"ho")).replace(b"/v1/chat/completions", b"/v1/elsewhere")
        client.send(client.post(), elsewhere, client.post(BODY[:-1]), client.post(longer))
        assert [200, 404, 400, 200] == [client.status() for _ in range(4)]
        first, *_, last = [exchange.request.body for exchange in server.exchanges]
    assert (first, [{}], longer) == (last.before, last.new, last.raw())


def test_a_reply_to_head_has_no_body(connect: Clients) -> None:
    """Else its bytes would be taken for the next reply on the connection."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.head(start=b"HEAD /v1/chat/completions HTTP/1.1\r\n"))
        lines = [client.file.readline() for _ in range(4)]
        assert (b"HTTP/1.1 405 Method Not Allowed\r\n", b"\r\n") == (lines[0], lines[-1])
        assert b"".join(lines) == server.exchanges[0].sent
        client.send(client.post())
        assert client.status() == 200


@pytest.mark.parametrize("host", ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1:1", "", "localhost"])
def test_a_foreign_host_is_refused(connect: Clients, host: str) -> None:
    """A page in a browser can reach loopback under a name of its own; it learns nothing here."""
    with ModelServer(backend()) as server:
        client = connect(server)
        named = host.format(port=server.port).encode()
        client.send(PATH + b"Host: " + named + b"\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert client.status() == 403
        assert [False] == [exchange.for_model for exchange in server.exchanges]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost"])
def test_the_names_of_loopback_are_served(connect: Clients, host: str) -> None:
    """Names of hosts have no case."""
    with ModelServer(backend()) as server:
        client = connect(server)
        named = f"{host}:{server.port}".encode()
        client.send(PATH + b"Host: " + named + b"\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert client.status() == 200


def test_a_request_without_a_host_is_refused(connect: Clients) -> None:
    """HTTP/1.0 does not demand one; this server does."""
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(PATH.replace(b"1.1", b"1.0") + b"Content-Length: 2\r\n\r\n{}")
        assert client.status() == 403


# --- clients that are slow, or go away ---


def wait_for(server: ModelServer, count: int) -> list[Exchange]:
    """The exchanges, once there are so many."""
    until = time.monotonic() + 5
    while len(server.exchanges) < count and time.monotonic() < until:
        time.sleep(0.005)
    return server.exchanges


def test_a_silent_connection_is_closed_without_a_word(connect: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two requests there is nothing to complain of."""
    monkeypatch.setattr(wire, "IDLE", 0.1)
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(client.post())
        assert client.status() == 200
        assert client.file.read() == b""


@pytest.mark.parametrize("begun", [b"P", PATH + b"Host:", PATH + b"Host: a\r\nContent-Length: 9\r\n\r\n{"])
def test_a_request_that_does_not_end_is_told_so(
    connect: Clients, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """Within a request, silence is answered with 408."""
    monkeypatch.setattr(wire, "IDLE", 0.1)
    with ModelServer(backend()) as server:
        client = connect(server)
        client.send(begun)
        status, _, body = client.reply()
        assert (408, True) == (status, b"did not come within 0.1 seconds" in body)


def test_a_slow_request_is_taken(connect: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only silence counts, not the time of the whole."""
    monkeypatch.setattr(wire, "IDLE", 0.5)
    with ModelServer(backend()) as server:
        client = connect(server)
        sent = client.post()
        for start in range(0, len(sent), 20):
            client.send(sent[start : start + 20])
            time.sleep(0.1)
        assert client.status() == 200


@pytest.mark.parametrize("cut", [3, 60, -1])
def test_a_request_that_is_cut_off_is_answered_and_is_no_exchange(connect: Clients, cut: int) -> None:
    """In its first line, in its head, in its body: a client that still listens hears why."""
    with ModelServer(backend()) as server:
        client, good = connect(server), connect(server)
        client.send(client.post()[:cut])
        client.socket.shutdown(socket.SHUT_WR)
        assert client.status() == 400
        good.send(good.post())
        assert good.status() == 200
        assert len(server.exchanges) == 1


def reset(client: Client) -> None:
    """Break the connection off, as a process that is killed may do."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.file.close()
    client.socket.close()


@pytest.mark.parametrize("cut", [0, 3, 60, -1])
def test_a_connection_that_breaks_harms_nobody(connect: Clients, capfd: pytest.CaptureFixture[str], cut: int) -> None:
    """The next client is served, no reply is used up, and nothing is printed."""
    with ModelServer(backend()) as server:
        client, good = connect(server), connect(server)
        client.send(client.post()[:cut])
        reset(client)
        good.send(good.post())
        assert good.status() == 200
        assert len(server.exchanges) == 1
    assert capfd.readouterr() == ("", "")


def test_a_request_whose_client_left_is_kept(connect: Clients, capfd: pytest.CaptureFixture[str]) -> None:
    """It came whole, so it is evidence, and its reply counts as given."""
    large: Any = ScriptedBody(200, (), "x" * 5_000_000)
    with ModelServer(backend(large)) as server:
        client = connect(server)
        client.send(client.post())
        wait_for(server, 1)
        reset(client)
        assert [BODY] == [exchange.request.body.raw() for exchange in wait_for(server, 1)]
    assert capfd.readouterr() == ("", "")


def test_a_client_that_reads_nothing_does_not_hold_the_server(connect: Clients) -> None:
    """The reply fills the buffers and the sending waits; closing ends it all the same."""
    large: Any = ScriptedBody(200, (), "x" * 20_000_000)
    with ModelServer(backend(large)) as server:
        client = connect(server)
        client.send(client.post())
        wait_for(server, 1)
        started = time.perf_counter()
    assert time.perf_counter() - started < 2
