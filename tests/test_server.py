"""The model server answers what its backend says, serves one run, and ends when that run ends."""

import json
import socket
import socketserver
import threading
import time
from typing import Any

import httpx
import pytest

from compare import wire
from compare.replies import Reply, ScriptedBody, ScriptedClose
from compare.server import ModelServer, Request
from tests.clients import BODY, PATH, Clients
from tests.servers import backend, replies

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
