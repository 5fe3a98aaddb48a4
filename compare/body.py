"""How the bodies of one run's requests are kept: the first as it came, each later one as what it adds."""

import json
import re
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves the scanner out
from typing import Any

from compare.values import MAX_DEPTH, parse, too_deep

COMMA = re.compile(rb"[ \t\n\r]*,")


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """One request body.

    `added` is what stands between the bytes shared with the request before and `end`, the bytes after the messages.
    `kept` is how many messages of the request before it repeats in front, byte for byte; `new` are those after them.
    `envelope` is the rest of the body: shared by all requests that repeat it. It is None where the body is no JSON
    object with a list of messages; then `problem` says why.
    """

    before: "Body | None" = field(repr=False)  # a chain as long as the conversation
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
    """Reads the bodies of one run's requests to the model, in order.

    A request that repeats the one before as its prefix is neither stored nor parsed again: over a long conversation
    that would be quadratic. `before` of a Body is therefore the one whose bytes it goes on from, or None. A body
    with a problem is no request to the model: the next one goes on from the one before it.
    """

    def __init__(self) -> None:
        self._last: Body | None = None
        self._raw = b""  # the last body
        self._head = 0  # how much of it stands up to and including its last message; 0 where it has none

    def read(self, raw: bytes) -> Body:
        """Keep one more body."""
        body = self._continued(raw)
        if body is None:
            body = read_whole(raw)
            if body.problem:
                return body
        self._head = len(raw) - len(body.end) if body.end else 0
        self._last, self._raw = body, raw
        return body

    def _continued(self, raw: bytes) -> Body | None:
        last, start = self._last, self._head
        if last is None or not start:
            return None
        stop = len(raw) - len(last.end)
        # A view, because slicing would copy the whole conversation once more for each request.
        if stop < start or not raw.endswith(last.end) or not raw.startswith(memoryview(self._raw)[:start]):
            return None
        added = raw[start:stop]
        new = more_messages(added)
        if new is None:
            return None
        return Body(last, added, last.end, last.kept + len(last.new), new, last.envelope)


def unread(raw: bytes) -> Body:
    """The body of a request that was not for the model."""
    return Body(None, raw, b"", 0, [], None, "the request was not for the model")


def read_whole(raw: bytes) -> Body:
    """A body on its own. `end` begins behind the last message; it is empty where there is none."""
    try:
        text = raw.decode()
        envelope = parse(text)
    except (ValueError, RecursionError) as error:
        return Body(None, raw, b"", 0, [], None, f"the body cannot be read as JSON: {error}")
    if not isinstance(envelope, dict):
        return Body(None, raw, b"", 0, [], None, "the body is JSON, but no object")
    if not isinstance(envelope.get("messages"), list):
        return Body(None, raw, b"", 0, [], None, "the body has no list of messages")
    if too_deep(text):
        return Body(None, raw, b"", 0, [], None, f"the body is nested more than {MAX_DEPTH} levels deep")
    messages = envelope.pop("messages")
    if not messages:
        return Body(None, raw, b"", 0, [], envelope)
    end = len(text[: messages_end(text)].encode())
    return Body(None, raw[:end], raw[end:], 0, messages, envelope)


def more_messages(added: bytes) -> list[Any] | None:
    """The messages in bytes that stand behind a message of a list: whole ones, each behind a comma; else None.

    Whatever is accepted here can stand in the body parsed before and leave all around it as it was.
    """
    if not added:
        return []
    comma = COMMA.match(added)
    if comma is None:
        return None
    try:
        text = f"[{added[comma.end() :].decode()}]"
        new = parse(text)
    except (ValueError, RecursionError):
        return None
    # A lone comma gives an empty list, and is no JSON. One level is the body's own object.
    return new if new and not too_deep(text, MAX_DEPTH - 1) else None


def messages_end(text: str) -> int:
    """Where the last message of the body's `messages` list ends: the index just behind it.

    `text` must be a JSON object with a list of that name, not empty; the last one of that name counts, as in JSON.
    """
    decoder, position, found = json.JSONDecoder(), text.index("{") + 1, 0
    while True:
        position = skip_blanks(text, position)
        if text[position] == "}":
            return found
        if text[position] == ",":
            position = skip_blanks(text, position + 1)
        key, position = scanstring(text, position + 1)
        start = skip_blanks(text, skip_blanks(text, position) + 1)
        _, position = decoder.raw_decode(text, start)
        if key == "messages":
            found = start + len(text[start : position - 1].rstrip())


def skip_blanks(text: str, position: int) -> int:
    """The index of the next character that is not JSON white space."""
    while text[position] in " \t\n\r":
        position += 1
    return position
