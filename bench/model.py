"""A model server for the benchmarks, in a process of its own: it asks for one tool call a round, then answers.

It does as little as it can, so that what is measured is the client. The rounds of a conversation stand in the
model's name: `rounds-10` asks for ten calls.
"""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

ARGUMENTS = '{"text": "a text of some length, as tools get them"}'


@contextlib.contextmanager
def model() -> Iterator[str]:
    """Start the server; yields its base URL, and ends it afterwards."""
    process = subprocess.Popen([sys.executable, "-m", "bench.model"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None  # noqa: S101 # PIPE was asked for
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.communicate()


def message(number: int, rounds: int) -> dict[str, object]:
    """The assistant message of the round `number`, from 0."""
    if number == rounds:
        return {"role": "assistant", "content": "done"}
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "echo", "arguments": ARGUMENTS}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def reply(number: int, rounds: int) -> bytes:
    """The whole HTTP reply of a round."""
    choice = {"index": 0, "message": message(number, rounds), "finish_reason": "stop"}
    body = json.dumps(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]},
        separators=(",", ":"),
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def serve(connection: socket.socket) -> None:
    """Answer the requests of one connection; its conversation starts anew behind each last answer."""
    read, number = connection.makefile("rb"), 0
    with connection, read:
        while line := read.readline():
            length = 0
            while line not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                line = read.readline()
            body = read.read(length)
            rounds = int(body.split(b'"rounds-')[1].split(b'"')[0])
            connection.sendall(reply(number, rounds))
            number = 0 if number == rounds else number + 1


def main() -> None:
    """Serve until killed; the port is the first line of the output."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
