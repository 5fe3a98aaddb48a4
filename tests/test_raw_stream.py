"""The hand-written lane over slow, broken and odd connections: streams above all, and a time for each whole reply."""

import _thread
import json
import logging
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raw
from tests.servers import echo_tool, results

Step = bytes | float | str
"""Bytes to send, seconds to wait, or how it ends: "reset", "stall", "keep"; without, the connection is closed."""

TIMEOUT = 0.5
ENOUGH = 5.0
"""Seconds: a timeout for what must not take long."""

# Said, so that no request goes out on a connection that is about to be closed.
CLOSES = b"Connection: close\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + CLOSES
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"
CALL = {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": '{"text": "a"}'}}


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: Any = None, finish_reason: Any = None, **more: Any) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish_reason}], **more})}\n\n".encode()


def stream(*events: bytes, end: Sequence[Step] = (LAST,)) -> list[Step]:
    """A reply of these events, each one HTTP chunk in one send."""
    return [CHUNKED, *(http_chunk(one) for one in events), *end]


def plain(message: dict[str, Any], *end: Step) -> list[Step]:
    """A plain reply."""
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    return [head + CLOSES + b"\r\n", body, *end]


def dripped(reply: Sequence[Step], pause: float = 0.02) -> list[Step]:
    """The same bytes one by one."""
    data = b"".join(one for one in reply if isinstance(one, bytes))
    return [step for byte in data for step in (pause, bytes([byte]))]


ASKS = event({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **CALL}]})
CALLS = stream(ASKS, event({}, "tool_calls"), DONE)
SAYS = stream(event({"role": "assistant", "content": "he"}), event({"content": "llo"}), event({}, "stop"), DONE)


@dataclass
class Wire:
    """A server that sends what it was told to, and keeps what it was asked."""

    replies: list[Sequence[Step]]
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    asked: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"

    def serve(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                with connection, connection.makefile("rb") as read, suppress(OSError):  # the client has left
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    while self.ask(read) and self.answer(connection):
                        pass

    def ask(self, read: Any) -> bool:
        """Read one request; False when there is none."""
        length = None
        while line := read.readline().strip().lower():
            name, _, value = line.partition(b":")
            length = int(value) if name == b"content-length" else length
        if length is None:
            return False
        self.asked.append(json.loads(read.read(length)))
        return bool(self.replies)

    def answer(self, connection: socket.socket) -> bool:
        """Send one reply; True when the connection is kept."""
        for step in self.replies.pop(0):
            if isinstance(step, bytes):
                connection.sendall(step)
            elif isinstance(step, float):
                time.sleep(step)
            elif step == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif step == "stall":
                connection.settimeout(ENOUGH)
                connection.recv(1)
            else:
                return True
        return False


@contextmanager
def wire(*replies: Sequence[Step]) -> Iterator[Wire]:
    server = Wire(list(replies))
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join(ENOUGH)


def run(server: Wire, ran: list[Any] | None = None, **more: Any) -> tuple[list[Any], str]:
    how = {"stream": True, "timeout": ENOUGH, **more}
    return raw.run("go", [echo_tool(ran)], base_url=server.base_url, model="m", api_key="k", **how)


def stop_of(*replies: Sequence[Step], **more: Any) -> str:
    """The stop reason of a run on these replies, in which no tool may run."""
    ran: list[Any] = []
    with wire(*replies) as server:
        stop = run(server, ran, **more)[1]
    assert ran == []
    return stop


def test_asks_for_a_stream_only_when_told_to() -> None:
    """The request says stream true, or does not speak of it."""
    with wire(SAYS, plain({"role": "assistant", "content": "hello"})) as server:
        assert [run(server)[1], run(server, stream=False)[1]] == ["answer", "answer"]
    assert [asked.get("stream") for asked in server.asked] == [True, None]


@pytest.mark.parametrize("cut", [False, True])
def test_a_streamed_turn_is_as_a_plain_one(cut: bool) -> None:
    """The call runs, and its message goes back as if it had come whole; byte by byte too."""
    replies = [dripped(reply, 0.0) if cut else reply for reply in (CALLS, SAYS)]
    ran: list[Any] = []
    with wire(*replies) as server:
        messages, stop = run(server, ran)
    assert (ran, stop, messages[-1]) == (["a"], "answer", {"role": "assistant", "content": "hello"})
    assert server.asked[1]["messages"][1] == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert results(server.asked[1]) == [("c1", {"ok": True, "result": "a"})]


@pytest.mark.parametrize("line", ["\u2028", "\u2029", "\u0085"])
def test_a_line_ends_only_where_the_standard_says(line: str) -> None:
    """What str.splitlines takes for a line end, and JSON for text, is text."""
    said = f'data: {{"choices":[{{"delta":{{"content":"a{line}b"}},"finish_reason":"stop"}}]}}\n\n'
    with wire(stream(said.encode(), DONE)) as server:
        assert run(server)[0][-1]["content"] == f"a{line}b"


@pytest.mark.parametrize(
    ("last", "text"), [(event({}, "length"), "finish_reason length"), (b": the end\n\n", "the stream just ended")]
)
def test_a_turn_that_was_cut_off_runs_nothing(last: bytes, text: str) -> None:
    """By length, or by a stream that just ended: each call is answered by an error, and the loop goes on."""
    ran: list[Any] = []
    with wire(stream(ASKS, last), SAYS) as server:
        assert run(server, ran)[1] == "answer"
    ((call_id, told),) = results(server.asked[1])
    assert (ran, call_id, told["error_type"]) == ([], "c1", "cut_off")
    assert text in told["error"]


def test_an_answer_that_just_ended_is_cut_off() -> None:
    """Without calls a stream that ends with neither finish reason nor [DONE] ends the run so."""
    assert stop_of(stream(event({"content": "hel"}))) == "cut-off"
    assert stop_of(stream(event({"content": "hello"}), DONE)) == "answer"


@pytest.mark.parametrize("end", [(), ("reset",)])
@pytest.mark.parametrize("events", [(), (ASKS,), (ASKS, event({}, "tool_calls")[:20]), (ASKS, ASKS[:-1])])
def test_a_broken_stream_is_no_reply(events: tuple[bytes, ...], end: tuple[Step, ...]) -> None:
    """Closed or reset before the message is whole: a connection error, whatever was there."""
    assert stop_of(stream(*events, end=end)) == "connection-error"


@pytest.mark.parametrize("end", [(), ("reset",), ("stall",)])
@pytest.mark.parametrize("last", [event({}, "tool_calls"), DONE])
def test_a_message_that_was_whole_before_the_break_counts(last: bytes, end: tuple[Step, ...]) -> None:
    """A finish reason or [DONE] had come: the call runs."""
    pause: tuple[Step, ...] = (0.1,)  # a reset may take away what the client has not read yet
    ran: list[Any] = []
    with wire(stream(ASKS, last, end=pause + end), SAYS) as server:
        assert (run(server, ran, timeout=TIMEOUT)[1], ran) == ("answer", ["a"])


SLOW = {
    "no-head": ["stall"],
    "half-a-head": [HEAD, "stall"],
    "no-body": [CHUNKED, "stall"],
    "half-a-stream": stream(ASKS, end=("stall",)),
    "late-half": [*stream(end=()), TIMEOUT * 0.9, http_chunk(ASKS), "stall"],
    "drip": dripped(stream(*[ASKS] * 40)),
    "drip-in-the-head": dripped([HEAD + b"X: " + b"x" * 2000]),
    "drip-of-comments": [CHUNKED, *[0.02, http_chunk(b": wait\n\n")] * 200],
    "drip-of-a-chunk-header": [CHUNKED, *dripped([b"1;" + b"x" * 2000])],
    "drip-until-it-closes": [HEAD + b"\r\n", *dripped([ASKS * 10])],
    "drip-that-unpacks-to-nothing": [HEAD + b"Content-Encoding: gzip\r\n\r\n", *dripped([b"\x1f\x8b\x08\x08" + b"0"
                                      * 400 + b"\x1f\x8b\x08\x10\0\0\0\0\0\0" + b"x" * 2000])],
}  # fmt: skip


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW)
def test_a_whole_reply_has_its_time(reply: list[Step], mode: bool) -> None:
    """A stall and every kind of drip end at the deadline, in both modes, although bytes keep coming."""
    start = time.monotonic()
    with wire(reply) as server:
        messages, stop = run(server, stream=mode, timeout=TIMEOUT)
        took = time.monotonic() - start
    assert (stop, len(messages)) == ("deadline", 1)
    assert TIMEOUT * 0.9 < took < TIMEOUT + 0.35


@pytest.mark.parametrize("body", [1.0, 0.0])
def test_a_plain_reply_that_drips_is_late_too(body: float) -> None:
    """The body alone, or all of it."""
    head, text, *_ = plain({"role": "assistant", "content": "x" * 500})
    reply = [head, *dripped([text])] if body else dripped([head, text])
    assert stop_of(reply, stream=False, timeout=TIMEOUT) == "deadline"


def test_the_time_starts_anew_with_each_reply() -> None:
    """Slow replies within their time do not add up to a deadline."""
    slow = [[*CALLS[:2], TIMEOUT * 0.6, *CALLS[2:]] for _ in range(3)]
    with wire(*slow, SAYS) as server:
        assert run(server, timeout=TIMEOUT)[1] == "answer"


def test_nothing_is_awaited_behind_done() -> None:
    """A server that keeps the connection open behind [DONE] does not hold the run."""
    start = time.monotonic()
    with wire([*SAYS[:-1], "stall"]) as server:
        assert run(server, timeout=60.0)[1] == "answer"
        assert time.monotonic() - start < 3


def test_a_connection_is_used_again() -> None:
    """A stream that was read to its end leaves the connection fit for the next request."""
    head = CHUNKED.replace(CLOSES, b"")
    kept = [[head, *CALLS[1:-1], 0.05, CALLS[-1], "keep"] for _ in range(3)]
    with wire(*kept, SAYS) as server:
        assert run(server)[1] == "answer"
    assert server.connections == 1


def test_an_error_in_mid_stream_ends_the_run_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is told in its own words, no call before it runs, and nothing more is awaited."""
    error = b'data: {"error": {"message": "overloaded"}}\n\n'
    with caplog.at_level(logging.INFO, "raw"):
        assert stop_of(stream(ASKS, error, end=("stall",)), timeout=60.0) == "bad-reply"
    assert "overloaded" in caplog.messages[-1]


def test_a_plain_body_is_read_as_a_plain_reply(caplog: pytest.LogCaptureFixture) -> None:
    """Where a stream was asked for, and JSON came: with a message, or with an error."""
    ran: list[Any] = []
    with caplog.at_level(logging.INFO, "raw"), wire(plain({"role": "assistant", "tool_calls": [CALL]}), SAYS) as server:
        assert (run(server, ran)[1], ran) == ("answer", ["a"])
    assert [text for text in caplog.messages if text.startswith("[deviation] plain-body: ")]
    body = b'{"error": {"message": "no"}}'
    assert stop_of([HEAD + b"Content-Length: %d\r\n\r\n" % len(body), body]) == "bad-reply"
    assert stop_of([HEAD + b"Content-Length: 99\r\n\r\n", body]) == "connection-error"


def test_an_html_page_is_no_stream() -> None:
    """What has no event at all is a bad reply."""
    assert stop_of([HEAD + b"Content-Length: 6\r\n\r\n<html>"]) == "bad-reply"


NOT_YET: dict[str, list[Step]] = {
    "closed": [],
    "closed-behind-the-head": [CHUNKED],
    "status-503": [b"HTTP/1.1 503 No\r\nRetry-After: 0\r\nContent-Length: 0\r\n" + CLOSES + b"\r\n"],
    "late": ["stall"],
}


@pytest.mark.parametrize("reply", NOT_YET.values(), ids=NOT_YET)
def test_tries_again_before_the_first_byte(reply: list[Step]) -> None:
    """When asked to, and only as long as nothing of the stream was there."""
    with wire(reply, SAYS) as server:
        assert run(server, max_retries=1, timeout=TIMEOUT)[1] == "answer"
    assert len(server.asked) == 2


@pytest.mark.parametrize(("end", "stop"), [((), "connection-error"), (("stall",), "deadline")])
def test_does_not_try_again_in_mid_stream(end: tuple[Step, ...], stop: str) -> None:
    """The first byte decides."""
    with wire(stream(b":", end=end), SAYS) as server:
        assert run(server, max_retries=3, timeout=TIMEOUT)[1] == stop
    assert len(server.asked) == 1


def test_an_http_error_is_read_as_ever() -> None:
    """Its body is no stream."""
    body = b'{"error": {"message": "bad key"}}'
    assert stop_of([b"HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n" % len(body), body]) == "http-error"
    nest = b"[" * 980 + b"]" * 980
    assert stop_of([b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n" % len(nest), nest]) == "http-error"


def test_deviations_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Each rule that had to be applied, with its sentence."""
    with caplog.at_level(logging.INFO, "raw"), wire([HEAD + b"\r\n", event({"content": "a"}, "stop")[:-1]]) as server:
        assert run(server)[1] == "answer"
    names = [text.split(":")[0] for text in caplog.messages if text.startswith("[deviation]")]
    assert names == ["[deviation] event-without-blank-line", "[deviation] no-done"]


def test_a_run_leaves_no_thread_behind() -> None:
    """The clock's thread ends with its run."""
    before = _thread._count()
    for _ in range(5):
        with wire(SAYS) as server:
            run(server)
    give_up = time.monotonic() + ENOUGH
    while _thread._count() > before and time.monotonic() < give_up:
        time.sleep(0.01)
    assert _thread._count() <= before


PARTS = st.sampled_from(
    [
        *(ASKS, ASKS[: len(ASKS) // 2], DONE, event(), event({"content": "a"}), event({}, "stop"), event({}, "length")),
        *(b'data: {"choices": [', b"data: {}\n\n", b"data: ", b"\n\n", b"\r", b"{", b"\xff", b"\xef\xbb\xbf"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS | st.binary(max_size=6), max_size=6), st.sampled_from([(), (LAST,), ("reset",)]))
def test_hostile_streams_never_crash_the_loop(parts: list[bytes], end: tuple[Step, ...]) -> None:
    """Whatever comes, the run ends by a known reason, and no call runs twice."""
    ran: list[Any] = []
    with wire(stream(*filter(None, parts), end=end), SAYS) as server:
        stop = run(server, ran)[1]
    assert stop in {"answer", "empty-answer", "cut-off", "bad-reply", "connection-error"}
    assert ran in ([], ["a"])
