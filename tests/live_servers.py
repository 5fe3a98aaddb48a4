"""What the tests of live runs share: an endpoint on this machine, lanes that send what they are told, and the run."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from compare.comparison import Comparison
from compare.lanes import Lane
from compare.live.prompts import Prompt
from compare.live.run import Settings, compare_live
from compare.live.upstream import Upstream
from compare.replies import Scripted
from compare.runner import Task
from compare.server import Backend, Exchange, ModelServer
from tests.servers import backend

KEY = "sk-live-canary-0123456789"


@contextmanager
def endpoint(*replies: Scripted, answer: Backend | None = None) -> Iterator[tuple[ModelServer, Upstream]]:
    """A model server with these replies in the place of a live endpoint, and what speaks to it with the key."""
    with ModelServer(answer or backend(*replies)) as server, Upstream(server.base_url, KEY) as upstream:
        yield server, upstream


@contextmanager
def handmade(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """The address of an endpoint that does what `serve` does with its one connection, whose request was read."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            connection, _ = listening.accept()
            with connection:
                read = b""
                while not whole(read):
                    read += connection.recv(65536)
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join()


def whole(read: bytes) -> bool:
    """Whether a request with a Content-Length was read to its end."""
    head, end, rest = read.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    return bool(end) and len(rest) >= int(fields[b"content-length"])


def body(*messages: Any, **envelope: Any) -> dict[str, Any]:
    """A request with a prompt and these messages behind it."""
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}, *messages], **envelope}


def sends(name: str, *bodies: dict[str, Any], timeout: float = 10.0, heard: list[httpx.Response] | None = None) -> Lane:
    """A lane that sends these bodies one after the other, whatever is replied; the replies are put into `heard`."""

    def run(prompt: str, tools: Sequence[Any], *, base_url: str, api_key: str, **_: Any) -> tuple[list[Any], str]:
        headers = {"Authorization": f"Bearer {api_key}"}
        with httpx.Client(headers=headers, timeout=timeout, trust_env=False) as client:
            for one in bodies:
                reply = client.post(f"{base_url}/chat/completions", json=one)
                if heard is not None:
                    heard.append(reply)
        return [], "answer"

    return Lane(name, run)


def prompt(stream: bool = False, **task: Any) -> Prompt:
    """A prompt of one word."""
    return Prompt("p", "hi", "", Task("hi", "m", stream=stream, workspace={}, **task))


def live(upstream: Upstream, *lanes: Lane, stream: bool = False, **settings: Any) -> Comparison:
    """Run the lanes live."""
    return compare_live(prompt(stream), lanes, upstream, Settings(**settings))


def told(result: Comparison) -> dict[str, Any]:
    """What the report says of the live run, its lanes by name."""
    assert result.live is not None
    return {**result.live, "lanes": {lane["name"]: lane for lane in result.live["lanes"]}}


def exchanges(result: Comparison, lane: int) -> list[Exchange]:
    """The exchanges of one lane, by its number from 0."""
    return result.lanes[lane].run.exchanges
