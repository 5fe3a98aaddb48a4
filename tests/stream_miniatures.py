"""Tiny lanes with exactly one fault each in what they make of a stream.

A fault that does not show on the wire has no place here: usages that are added up chunk by chunk, or a finish reason
that becomes `stoptool_calls`, stay inside the lane.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import httpx

from protocol import Assembled, SseReader, is_json
from tests import miniatures
from tests.faithful import Loop, RunLane, StreamLoop

STREAM_MINIATURES: dict[str, RunLane] = {}
"""The miniatures whose fault shows in a stream only, by name."""

DONE = "[DONE]"

departs_in = partial(miniatures.departs_in, among=STREAM_MINIATURES)


def chunks(texts: Iterable[str]) -> list[Any]:
    """The chunks in the data texts."""
    return [json.loads(text) for text in texts if text != DONE]


def entries(texts: Iterable[str]) -> list[dict[str, Any]]:
    """All entries of `tool_calls` in the data texts, in order."""
    deltas = [choice["delta"] for chunk in chunks(texts) for choice in chunk["choices"]]
    return [entry for delta in deltas for entry in delta.get("tool_calls", [])]


def put_together(loop: StreamLoop, texts: Iterable[str], call_of: Callable[[dict[str, Any]], Any]) -> Assembled:
    """The turn, but with those entries put together to one call for which `call_of` says the same."""
    kept = list(texts)
    turn = StreamLoop.assemble(loop, kept)
    calls: dict[Any, dict[str, Any]] = {}
    for entry in entries(kept):
        function = {"name": "", "arguments": ""}
        call = calls.setdefault(call_of(entry), {"id": entry.get("id"), "type": "function", "function": function})
        piece = entry["function"]
        call["function"]["name"] = piece.get("name") or call["function"]["name"]
        call["function"]["arguments"] += piece["arguments"]
    return replace(turn, message={**turn.message, "tool_calls": [*calls.values()]}) if calls else turn


# How bytes become events


@departs_in("texts")
def decodes_each_piece(loop: StreamLoop, response: httpx.Response) -> Iterator[str]:
    """Each piece is decoded alone, so a character that comes in two pieces is lost."""
    reader = SseReader()
    for piece in loop.pieces(response):
        yield from reader.feed(piece.decode(errors="replace").encode())
    yield from reader.end()


@departs_in("texts")
def ends_lines_where_python_does(loop: StreamLoop, response: httpx.Response) -> Iterator[str]:
    """A line ends at each character that ends a line in Python, also inside a JSON text."""
    lines = b"".join(loop.pieces(response)).decode().splitlines()
    return (line.removeprefix("data: ") for line in lines if line.startswith("data: "))


@departs_in("texts")
def loses_the_last_chunk(loop: StreamLoop, response: httpx.Response) -> Iterator[str]:
    """An event that no blank line ends is dropped."""
    reader = SseReader()
    for piece in loop.pieces(response):
        yield from reader.feed(piece)


@departs_in("assemble")
def stops_at_the_finish_reason(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """Nothing is read behind the finish reason."""
    kept: list[str] = []
    for text in texts:
        kept.append(text)
        if text == DONE or any(choice.get("finish_reason") for choice in json.loads(text)["choices"]):
            break
    return StreamLoop.assemble(loop, kept)


@departs_in("texts")
def passes_over_an_error(loop: StreamLoop, response: httpx.Response) -> Iterator[str]:
    """An error object in the stream is no reason to stop."""
    return (text for text in StreamLoop.texts(loop, response) if text == DONE or "error" not in json.loads(text))


# How deltas become a message


@departs_in("assemble")
def doubles_names(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """A name that comes again is appended."""
    kept = list(texts)
    turn = StreamLoop.assemble(loop, kept)
    times = Counter(entry["id"] for entry in entries(kept) if entry["function"].get("name"))
    for call in turn.message.get("tool_calls", []):
        call["function"]["name"] *= times[call["id"]]
    return turn


@departs_in("assemble")
def trusts_the_index(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """All entries with the same index are one call, whatever their ids say."""
    return put_together(loop, texts, lambda entry: entry["index"])


@departs_in("assemble")
def opens_a_call_per_delta(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """Each entry is a call of its own."""
    numbers = count()
    return put_together(loop, texts, lambda entry: next(numbers))


@departs_in("assemble")
def goes_on_with_the_last_call(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """An entry without an id belongs to the call that was opened last, whatever its index says."""
    opened: list[str] = []

    def call_of(entry: dict[str, Any]) -> str:
        if "id" in entry:
            opened.append(entry["id"])
        return opened[-1]

    return put_together(loop, texts, call_of)


@departs_in("assemble")
def keeps_calls_as_they_come(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """Calls stand in the order in which they were opened, whatever their indexes say."""
    kept = list(texts)
    turn = StreamLoop.assemble(loop, kept)
    came = [entry.get("id") for entry in entries(kept)]
    calls = sorted(turn.message.get("tool_calls", []), key=lambda call: came.index(call["id"]))
    return replace(turn, message={**turn.message, "tool_calls": calls}) if calls else turn


@departs_in("assemble")
def drops_reasoning_deltas(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """What the model thinks is not kept."""
    turn = StreamLoop.assemble(loop, texts)
    return replace(turn, message={key: turn.message[key] for key in turn.message if key != "reasoning_content"})


@departs_in("assemble")
def keeps_the_last_reasoning_delta(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """Of what the model thinks only the last piece is kept."""
    kept = list(texts)
    turn = StreamLoop.assemble(loop, kept)
    deltas = [choice["delta"] for chunk in chunks(kept) for choice in chunk["choices"]]
    thoughts = [delta["reasoning_content"] for delta in deltas if delta.get("reasoning_content")]
    return replace(turn, message={**turn.message, "reasoning_content": thoughts[-1]}) if thoughts else turn


# What is made of a stream that did not come to its end


@departs_in("observation")
def executes_cut_off_stream(loop: Loop, call: Any, finish_reason: Any, whole: bool) -> str:
    """A call of a stream that just ended is executed all the same."""
    return Loop.observation(loop, call, finish_reason, True)


@departs_in("execute")
def completes_cut_off_arguments(loop: Loop, name: Any, arguments: Any) -> str:
    """Arguments that lack their end get one, and are executed."""
    whole = [arguments + end for end in ("", "}", '"}') if is_json(arguments + end)]
    return Loop.execute(loop, name, whole[0])


@departs_in("assemble")
def takes_the_end_of_a_stream_for_done(loop: StreamLoop, texts: Iterable[str]) -> Assembled:
    """An answer whose stream just ended counts as whole."""
    turn = StreamLoop.assemble(loop, texts)
    return turn if turn.message.get("tool_calls") else replace(turn, whole=True)


@departs_in("texts")
def takes_a_cut_message_for_whole(loop: StreamLoop, response: httpx.Response) -> Iterator[str]:
    """Where the connection breaks, what came until then is the message."""
    try:
        yield from StreamLoop.texts(loop, response)
    except (httpx.NetworkError, httpx.RemoteProtocolError):
        yield DONE


@departs_in("texts")
def calls_a_stall_an_answer(loop: StreamLoop, response: httpx.Response) -> Iterator[str]:
    """Where the time is up, what came until then is the message."""
    try:
        yield from StreamLoop.texts(loop, response)
    except httpx.TimeoutException:
        yield DONE


@departs_in("pieces")
def ignores_the_deadline(loop: Loop, response: httpx.Response) -> Iterator[bytes]:
    """A reply may take as long as it likes, while something of it comes now and then."""
    return response.iter_bytes()
