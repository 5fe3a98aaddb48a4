"""Secrets that a stream spreads over its deltas: no single event holds one, but whoever joins them does."""

import base64
import re
from collections.abc import Iterator
from typing import Any

from compare.report import as_text
from compare.secrets import MASK, Edit, Masker, edited
from compare.streams import read_message, spell

DATA = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[\r\n]))data: ?([^\r\n]*)")
"""A line of data: at the beginning, where a byte order mark may stand, or behind any of the three ends of a line."""
LINE_ENDS = (b"\n", b"\r", b"\r\n")
Path = tuple[str | int, ...]


def spread(body: bytes, masker: Masker) -> list[Edit]:
    """What is to be written in the place of which bytes of a stream, so that no text that its deltas join to holds a
    secret. The events that hold a part of one are spelled anew; all others stay byte for byte.
    """
    events = list(events_of(body))
    texts: dict[Path, list[tuple[int, bytes]]] = {}
    for number, (_, _, value) in enumerate(events):
        for path, text in strings(value):
            texts.setdefault(path, []).append((number, text.encode("utf-8", "surrogatepass")))
    changed: set[int] = set()
    for path, parts in texts.items():
        spans = masker.spans(b"".join(part for _, part in parts))
        masker.count += len(spans)
        changed |= remove(events, path, parts, spans)
    return [(events[number][0], events[number][1], spell(events[number][2]).encode()) for number in sorted(changed)]


def masked_report(data: dict[str, Any], masker: Masker) -> dict[str, Any]:
    """A report without secrets, those that its streams spread or that stand in bytes included."""
    for comparison in data["comparisons"]:
        for exchange in (one for lane in comparison["lanes"] for one in lane["exchanges"]):
            reply = bytes_of(exchange["reply"])
            exchange["reply"] = as_text(masker.data(edited(reply, spread(reply, masker), ())[0]))
            exchange["body"] = as_text(masker.data(bytes_of(exchange["body"])))
    masked: dict[str, Any] = masker.value(data)
    return masked


def bytes_of(value: str | dict[str, str]) -> bytes:
    """Bytes that a report has as text or as base64."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def events_of(body: bytes) -> Iterator[tuple[int, int, Any]]:
    """Where the JSON of each event stands, and its value."""
    lines: list[re.Match[bytes]] = []
    for found in DATA.finditer(body):
        if lines and body[lines[-1].end() : found.start()] not in LINE_ENDS:
            yield from values_of(lines)
            lines = []
        lines.append(found)
    yield from values_of(lines)


def values_of(lines: list[re.Match[bytes]]) -> Iterator[tuple[int, int, Any]]:
    """The JSON in lines of data that follow each other: in all of them as one event, else in each for itself."""
    for part in [lines, *([line] for line in lines)] if lines else []:
        try:
            value = read_message(b"\n".join(line[1] for line in part).decode())
        except (ValueError, RecursionError):
            continue  # no JSON, so nobody joins it to anything
        yield part[0].start(1), part[-1].end(1), value
        if part is lines:
            return


def strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each string in a value, with the path under which it is joined: the entries of a list go by their index."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from strings(inner, (*path, index_of(inner, place)))


def index_of(entry: Any, place: int) -> int:
    """What an entry of a list calls itself, as choices and calls do; else its place."""
    number = getattr(entry.get("index"), "text", "") if isinstance(entry, dict) else ""
    return int(number) if number.isdecimal() and len(number) < 10 else place


def remove(
    events: list[tuple[int, int, Any]], path: Path, parts: list[tuple[int, bytes]], spans: list[tuple[int, int]]
) -> set[int]:
    """Put MASK where each span begins, and nothing where it goes on; returns the numbers of the events changed."""
    changed = set()
    start = 0
    for number, part in parts:
        stop, text = start + len(part), part
        for first, last in reversed(spans):
            if first < stop and last > start:
                mask = MASK.encode() if first >= start else b""
                text = text[: max(first - start, 0)] + mask + text[max(min(last, stop) - start, 0) :]
        if text != part:
            put(events[number][2], path, text.decode("utf-8", "surrogatepass"))
            changed.add(number)
        start = stop
    return changed


def put(value: Any, path: Path, text: str) -> None:
    """Write a string at a path."""
    *outer, last = path
    for step in outer:
        value = value[place_of(value, step)]
    value[place_of(value, last)] = text


def place_of(value: Any, step: str | int) -> str | int:
    """The key or the place that a step of a path means."""
    if isinstance(value, list):
        return next(place for place, inner in enumerate(value) if index_of(inner, place) == step)
    return step
