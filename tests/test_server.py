"""The model server keeps every byte of each exchange, ends when its run ends, and survives whatever is sent to it."""

import json
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO

import httpx
import pytest

from compare import wire
from compare.backends import script
from compare.replies import Reply, Scripted, ScriptedBody, ScriptedClose, ScriptedMessage
from compare.server import Backend, Exchange, ModelServer, Request

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
PATH = b"POST /v1/chat/completions HTTP/1.1\r\n"


def replies(count: int) -> list[Scripted]:
    """So many plain answers, each of its own text."""
    return [ScriptedMessage(json.dumps({"role": "assistant", "content": str(n)}), "stop", {}) for n in range(count)]


def backend(*scripted: Scripted) -> Backend:
    """A script with these replies; one plain answer where none is given."""
    return script(scripted or replies(1), "m")


@dataclass
class Client:
    """A connection on which any bytes can be sent, and replies be read one by one."""

    socket: socket.socket
    file: BinaryIO
    port: int

    def send(self, *pieces: bytes) -> None:
        """Send the pieces one after the other."""
        for piece in pieces:
            self.socket.sendall(piece)

    def reply(self) -> tuple[int, bytes, bytes]:
        """Status, head and body of the next reply; the status is 0 where the connection ended instead."""
        head = b""
        while line := self.file.readline():
            head += line
            if line == b"\r\n":
                break
        if not head:
            return 0, b"", b""
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        return int(head.split(b" ")[1]), head, self.file.read(int(fields.get(b"content-length", b"0")))

    def status(self) -> int:
        """The status of the next reply."""
        return self.reply()[0]

    def message(self) -> str:
        """What the error says that comes next; it must have the form that OpenAI gives to errors."""
        error = json.loads(self.reply()[2])["error"]
        assert {"message", "type", "param", "code"} == error.keys()
        return str(error["message"])

    def head(self, *fields: bytes, start: bytes = PATH) -> bytes:
        """A request's head with a Host that is right."""
        return start + b"".join(line + b"\r\n" for line in (b"Host: 127.0.0.1:%d" % self.port, *fields, b""))

    def post(self, body: bytes = BODY, *fields: bytes) -> bytes:
        """A request with this body."""
        return self.head(b"Content-Length: %d" % len(body), *fields) + body


class Clients:
    """Opens connections to a server, and closes them in the end."""

    def __init__(self) -> None:
        self.opened: list[Client] = []

    def __call__(self, server: ModelServer) -> Client:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self.opened.append(Client(connection, connection.makefile("rb"), server.port))
        return self.opened[-1]

    def close(self) -> None:
        """Close them all."""
        for client in self.opened:
            client.file.close()
            client.socket.close()


@pytest.fixture
def connect() -> Iterator[Clients]:
    """Opens a connection to a server."""
    clients = Clients()
    yield clients
    clients.close()


def wait_for(server: ModelServer, count: int) -> list[Exchange]:
    """The exchanges, once there are so many."""
    until = time.monotonic() + 5
    while len(server.exchanges) < count and time.monotonic() < until:
        time.sleep(0.005)
    return server.exchanges


# --- every byte is kept ---


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


# --- what the model's place answers ---


def test_a_script_gives_its_replies_in_order_and_then_says_that_it_ended(connect: Clients) -> None:
    """The request too many gets an error that no client repeats, and is in the record as one for the model."""
    with ModelServer(backend(*replies(2))) as server:
        client = connect(server)
        client.send(client.post(), client.post(), client.post())
        assert [200, 200] == [client.status(), client.status()]
        assert client.message() == "request 3, but the script ends after 2"
        assert [(200, True), (200, True), (400, True)] == [(it.reply.status, it.for_model) for it in server.exchanges]


def test_a_scripted_close_ends_the_connection_without_a_byte(connect: Clients) -> None:
    """The request is in the record, the reply is empty, and the script goes on on a new connection."""
    with ModelServer(backend(ScriptedClose(), *replies(1))) as server:
        first, second = connect(server), connect(server)
        first.send(first.post())
        assert first.file.read() == b""
        second.send(second.post())
        assert second.status() == 200
        assert [b"", False] == [server.exchanges[0].sent, server.exchanges[1].reply.close]


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_has_no_length(connect: Clients, status: int) -> None:
    """RFC 9110 forbids the field there, and strict clients refuse it."""
    with ModelServer(backend(ScriptedBody(status, (), ""), *replies(1))) as server:
        client = connect(server)
        client.send(client.post(), client.post())
        got, head, _ = client.reply()
        assert (status, False) == (got, b"content-length" in head.lower())
        assert client.status() == 200


def test_a_status_without_a_name_is_sent(connect: Clients) -> None:
    """Gateways have statuses of their own, such as 529."""
    with ModelServer(backend(ScriptedBody(529, (), "busy"))) as server:
        client = connect(server)
        client.send(client.post())
        assert client.reply()[0] == 529


def test_the_list_of_models_is_no_request_to_the_model(connect: Clients) -> None:
    """Clients ask for it before anything else; it uses up no reply, and the model's name is in it."""
    with ModelServer(backend(), model="some-model") as server:
        client = connect(server)
        client.send(client.head(start=b"GET /v1/models?limit=1 HTTP/1.1\r\n"), client.post())
        assert json.loads(client.reply()[2])["data"][0]["id"] == "some-model"
        assert client.status() == 200
        assert [False, True] == [exchange.for_model for exchange in server.exchanges]


def test_a_backend_that_raises_is_a_fault_of_ours_and_not_of_the_lane() -> None:
    """The client is told so, and leaving the server raises, so that no report is made from it."""

    def broken(request: Request) -> Reply:
        raise OSError("no such upstream")

    def ask() -> None:
        with ModelServer(broken) as server:
            response = httpx.post(f"{server.base_url}/chat/completions", content=BODY)
            assert response.status_code == 500
            assert "a fault of Diptych's own" in response.text

    with pytest.raises(RuntimeError, match="backend failed") as caught:
        ask()
    assert "no such upstream" == str(caught.value.__cause__)


# --- a fresh server for each run ---


def threads() -> set[str]:
    """The names of the threads that are alive."""
    return {thread.name for thread in threading.enumerate()}


def test_two_servers_at_once_share_nothing() -> None:
    """Each has a port and a record of its own."""
    with ModelServer(backend()) as one, ModelServer(backend()) as other:
        assert one.port != other.port
        assert httpx.post(f"{one.base_url}/chat/completions", content=BODY).status_code == 200
        assert [1, 0] == [len(one.exchanges), len(other.exchanges)]


def test_closing_ends_clients_that_are_connected_and_leaves_no_thread(connect: Clients) -> None:
    """Silent clients, one within a head, one within a body and one with a kept connection: none holds the server."""
    before = threads()
    with ModelServer(backend()) as server:
        clients = [connect(server) for _ in range(6)]
        clients[1].send(PATH + b"Host: 127")
        clients[2].send(clients[2].head(b"Content-Length: 100") + b'{"mess')
        clients[3].send(clients[3].post())
        assert clients[3].status() == 200
        started = time.perf_counter()
    assert time.perf_counter() - started < 2
    assert before == threads()
    ended = []
    for client in clients:
        try:
            ended.append(client.file.read())
        except ConnectionResetError:  # one that was never taken off the queue
            ended.append(b"")
    assert not any(body.startswith(b"HTTP/1.1 2") for body in ended)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


def test_a_client_that_comes_while_the_server_closes_does_not_hold_it(
    connect: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is accepted, and its thread begins only when the others are told to end."""
    accepted, real = threading.Event(), socketserver.ThreadingMixIn.process_request_thread

    def late(tcp: Any, request: Any, address: Any) -> None:
        accepted.set()
        time.sleep(0.2)
        real(tcp, request, address)

    monkeypatch.setattr(socketserver.ThreadingMixIn, "process_request_thread", late)
    monkeypatch.setattr(wire, "IDLE", 5.0)
    before = threads()
    with ModelServer(backend()) as server:
        connect(server)
        assert accepted.wait(5)
        started = time.perf_counter()
    assert time.perf_counter() - started < 2
    assert before == threads()


def test_a_port_that_is_taken_is_refused_in_one_line() -> None:
    """The error names the port and the mend."""
    with (
        ModelServer(backend()) as server,
        pytest.raises(OSError, match=rf"^port {server.port} is not to be had: .*; choose another$"),
        ModelServer(backend(), port=server.port),
    ):
        pass


# --- whatever else is sent ---

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
