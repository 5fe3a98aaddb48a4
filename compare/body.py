"""How the bodies of one run's requests are kept: the first as it came, each later one as what it adds."""

import json
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves the scanner out
from typing import Any

from compare.values import parse


@dataclass(frozen=True)
class Body:
    """One request body.

    `added` is what stands between the bytes shared with the request before and `end`, the bytes after the messages.
    `kept` is how many messages of the request before it repeats in front, byte for byte; `new` are those after them.
    `envelope` is the rest of the body: shared by all requests that repeat it. It is None where the body is no JSON
    object with a list of messages; then `problem` says why.
    """

    before: "Body | None"
    added: bytes
    end: bytes
    kept: int
    new: list[Any]
    envelope: dict[str, Any] | None
    problem: str = ""

    def raw(self) -> bytes:
        """The whole body, exactly as it came."""
        parts = [self.end]
        body: Body | None = self
        while body is not None:
            parts.append(body.added)
            body = body.before
        return b"".join(reversed(parts))

    def messages(self) -> list[Any]:
        """All messages of the request."""
        parts = []
        body: Body | None = self
        while body is not None:
            parts.append(body.new)
            body = body.before
        return [message for part in reversed(parts) for message in part]


class Bodies:
    """Reads the bodies of one run, in order.

    A request that repeats the one before as its prefix is neither stored nor parsed again: over a long conversation
    that would be quadratic. `before` of a Body is therefore the one whose bytes it goes on from, or None.
    """

    def __init__(self) -> None:
        self._last: Body | None = None
        self._head = b""  # the last body's bytes up to and including its last message

    def read(self, raw: bytes) -> Body:
        """Keep one more body."""
        body = self._continued(raw) or self._whole(raw)
        self._last = body
        return body

    def _continued(self, raw: bytes) -> Body | None:
        last = self._last
        if last is None or last.envelope is None or not self._head:
            return None
        if not (raw.startswith(self._head) and raw.endswith(last.end)):
            return None
        head = raw[: len(raw) - len(last.end)]
        added = head[len(self._head) :]
        # What is added must be whole messages, each behind a comma; then the body around it is the one parsed before.
        if len(head) < len(self._head) or (added and not added.lstrip().startswith(b",")):
            return None
        try:
            new = parse(f"[{added.decode().lstrip()[1:]}]") if added else []
        except ValueError:
            return None
        kept = last.kept + len(last.new)
        self._head = head
        return Body(last, added, last.end, kept, new, last.envelope)

    def _whole(self, raw: bytes) -> Body:
        self._head = b""
        try:
            text = raw.decode()
            envelope = parse(text)
        except (ValueError, RecursionError) as error:
            return Body(None, raw, b"", 0, [], None, f"the body is not JSON: {error}")
        if not isinstance(envelope, dict) or not isinstance(envelope.get("messages"), list):
            return Body(None, raw, b"", 0, [], envelope if isinstance(envelope, dict) else None, "no list of messages")
        messages = envelope.pop("messages")
        if not messages:
            return Body(None, raw, b"", 0, [], envelope)
        end = len(text[: messages_end(text)].encode())
        self._head = raw[:end]
        return Body(None, raw[:end], raw[end:], 0, messages, envelope)


def messages_end(text: str) -> int:
    """Where the last message of the body's `messages` list ends: the index just behind it.

    `text` must be a JSON object with a list of that name, not empty; the last one of that name counts, as in JSON.
    """
    decoder = json.JSONDecoder()
    position, found = text.index("{") + 1, 0
    while True:
        position = skip_blanks(text, position)
        if text[position] == "}":
            return found
        if text[position] == ",":
            position = skip_blanks(text, position + 1)
        key, position = scanstring(text, position + 1)
        position = skip_blanks(text, skip_blanks(text, position) + 1)
        start = position
        _, position = decoder.raw_decode(text, position)
        if key == "messages":
            found = start + len(text[start : position - 1].rstrip())


def skip_blanks(text: str, position: int) -> int:
    """The index of the next character that is not JSON white space."""
    while text[position] in " \t\n\r":
        position += 1
    return position
