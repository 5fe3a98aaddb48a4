"""A lab that serves for as long as a test lasts, and plain HTTP to speak to it."""

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compare.lab.endpoint import Endpoint
from compare.lab.serve import Serving
from compare.lab.server import Lab
from compare.lanes import Lane, load_lanes
from compare.scenario import Scenario, find

NOWHERE = Endpoint("https://api.example.com/v1", "", "")
"""An environment without a key."""
PATIENCE = 15.0


class Opened:
    """A lab at work: its address, and requests to it as its own page would send them."""

    def __init__(self, serving: Serving, lab: Lab) -> None:
        self.serving, self.lab = serving, lab
        self.address, self.port, self.path = serving.address, serving.port, f"/{serving.token}"

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        """Status, header fields (names in small letters) and text of the answer to one request, to any path."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host="Host" in (headers or {}))
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def post(self, path: str, data: Any = None) -> tuple[int, str]:
        """Status and text of the answer to a POST beneath the token."""
        status, _, text = self.send("POST", f"{self.path}/{path}", json.dumps({} if data is None else data).encode())
        return status, text

    def start(self, **wanted: Any) -> int:
        """Start a show; returns its number."""
        status, text = self.post("start", {"what": "trace", "lanes": ["raw"], **wanted})
        assert status == 200, text
        return int(json.loads(text)["show"])

    def events(self, number: int) -> list[dict[str, Any]]:
        """All events of a show, when it is over."""
        _, _, text = self.send("GET", f"{self.path}/events/{number}")
        blocks = [block.partition("data: ")[2] for block in text.split("\n\n") if block.startswith("data: ")]
        return [json.loads(block) for block in blocks]

    def play(self, **wanted: Any) -> list[dict[str, Any]]:
        """All events of a new show."""
        return self.events(self.start(**wanted))

    def until(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """The events of this kind in the last show, when there are so many."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = [event for event in self.lab.shows[-1].since(0) if event["kind"] == kind]
            if len(found) >= count:
                return found
            time.sleep(0.005)
        raise AssertionError(f"{count} events {kind} did not come; there are {self.lab.shows[-1].since(0)}")


@contextmanager
def open_lab(
    lanes: Sequence[Lane] | str = "raw,lc",
    scenarios: Sequence[str | Scenario] = (),
    environment: Endpoint = NOWHERE,
) -> Iterator[Opened]:
    """A lab with these lanes and scenarios."""
    loaded = load_lanes(lanes) if isinstance(lanes, str) else lanes
    chosen = [one for name in scenarios for one in (find(name) if isinstance(name, str) else [name])]
    lab = Lab(loaded, chosen, environment)
    serving = Serving(lab, 0)
    thread = threading.Thread(target=serving.run, name="lab")
    thread.start()
    try:
        yield Opened(serving, lab)
    finally:
        for show in lab.shows:
            show.stop()
            assert show.over.wait(PATIENCE)
        serving.close()
        thread.join()
