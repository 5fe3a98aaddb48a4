"""Where a scripted reply may break off, in which ways, and what its beginning says of itself."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from compare.modes import PLAIN, STREAM
from compare.replies import DEFAULT_USAGE, Piece, Reply, Scripted, ScriptedClose, ScriptedMessage, compact, to_reply
from compare.scenario import Scenario
from compare.server import Backend, Request
from compare.streams import to_stream
from compare.toml_table import scenario_error
from protocol import BadReply, is_json
from protocol.assemble import Assembled, assemble
from protocol.sse import SseReader

BYTE, CHUNK = "byte", "chunk"
CLEAN, CUT = "clean", "cut"
WAYS = {
    (
        PLAIN,
        CLEAN,
    ): "an HTTP reply that is whole in itself and holds the first bytes of the body: Content-Length is theirs",
    (STREAM, CLEAN): "the first bytes of the stream, then the end of a chunked body, as if the server had finished",
    (STREAM, CUT): "the first bytes of the stream, then the connection is closed in the midst of the chunked body",
}
"""How a reply is broken off: the mode and the ending, each pair with what is sent."""
LAST_WORD = ScriptedMessage(compact({"role": "assistant", "content": "Done."}), "stop", DEFAULT_USAGE)
"""What the model says after the reply that broke off, whatever it is sent, so that nothing else can call a tool."""


@dataclass(frozen=True)
class Break:
    """A place in a reply: the bytes of its body before it, and whether they say of themselves that they are all."""

    offset: int
    over: bool


@dataclass(frozen=True)
class Kind:
    """A reply with tool calls, one way of breaking it off, and the places, first to last, where that is done.

    `before` are the replies that come before it in the script, and are sent whole.
    """

    mode: str
    ending: str
    before: tuple[Scripted, ...]
    reply: Reply
    breaks: tuple[Break, ...]

    @property
    def whole(self) -> Break:
        """The end of the reply."""
        return Break(len(self.reply.body), is_over(self.reply, len(self.reply.body)))


def kinds_of(scenario: Scenario, by: str, every: int) -> list[Kind]:
    """Each way to break off the first reply of the scenario that calls a tool, in each mode of the scenario.

    `by` is BYTE, or CHUNK for the borders of a stream's chunks only, which a plain reply has none of; of the places,
    each `every`-th is taken. Raises ScenarioError for a scenario without such a reply, or without such borders.
    """
    found = []
    for mode, ending in WAYS:
        reply_with_calls = first_with_calls(scenario, mode) if mode in scenario.modes else None
        if reply_with_calls is None:
            continue
        index, reply = reply_with_calls
        places = range(len(reply.body)) if by == BYTE else list(borders(reply))
        if places:
            breaks = tuple(Break(place, is_over(reply, place)) for place in places[::every])
            found.append(Kind(mode, ending, scenario.replies[:index], reply, breaks))
    if not found:
        what = "reply with a tool call" if by == BYTE else "streamed reply with a tool call"
        raise scenario_error(scenario.path, f"there is no {what} to break off; choose a scenario that has one")
    return found


def first_with_calls(scenario: Scenario, mode: str) -> tuple[int, Reply] | None:
    """The first reply that has a tool call, with its index in the script; None where there is none."""
    for index, scripted in enumerate(scenario.replies):
        if not isinstance(scripted, ScriptedClose):
            reply = form(scripted, index + 1, scenario.model, mode)
            if has_calls(reply):
                return index, reply
    return None


def form(scripted: Scripted, number: int, model: str, mode: str) -> Reply:
    """The reply as it is in a mode."""
    return to_stream(scripted, number, model) if mode == STREAM else to_reply(scripted, number, model)


def has_calls(reply: Reply) -> bool:
    """Whether the reply, read to its end, holds a tool call."""
    if reply.pieces:
        said = assembled(reply.body)
        return said is not None and bool(said.message.get("tool_calls"))
    try:
        return bool(json.loads(reply.body)["choices"][0]["message"]["tool_calls"])
    except (ValueError, LookupError, TypeError, RecursionError):  # whatever a scenario may send in a reply's place
        return False


def is_over(reply: Reply, place: int) -> bool:
    """Whether the beginning of a reply says that it is all: JSON that is closed, or a stream with its last chunk."""
    beginning = reply.body[:place]
    if not reply.pieces:
        return is_json(beginning.decode(errors="replace"))
    said = assembled(beginning)
    return said is not None and said.whole


def assembled(body: bytes) -> Assembled | None:
    """What the events of a stream say; None where they cannot be read."""
    reader = SseReader()
    try:
        return assemble([*reader.feed(body), *reader.end()])
    except BadReply:
        return None


def borders(reply: Reply) -> Iterator[int]:
    """The places between the chunks of a stream, and the one before the first."""
    place = 0
    for piece in reply.pieces:
        yield place
        place += len(piece.data)


def broken_off(kind: Kind, place: Break) -> Reply:
    """The reply up to there, and its ending."""
    body = kind.reply.body[: place.offset]
    ending = "cut" if kind.ending == CUT and place != kind.whole else "whole"
    # One piece, because how a stream is cut into chunks of HTTP says nothing.
    pieces = (Piece(body),) if kind.reply.pieces else ()
    return replace(kind.reply, body=body, pieces=pieces, ending=ending, announced=None)


def answering(kind: Kind, place: Break, model: str) -> Backend:
    """A backend for one run: the replies before it, the one that breaks off, and then the last word."""
    script: Sequence[Scripted] = kind.before
    asked = 0

    def answer(request: Request) -> Reply:
        nonlocal asked
        asked += 1
        if asked == len(script) + 1:
            return broken_off(kind, place)
        scripted = script[asked - 1] if asked <= len(script) else LAST_WORD
        return form(scripted, asked, model, STREAM if request.streamed else PLAIN)

    return answer
