"""The lines of a recording as they are read from a file that anybody may have written: limited, and of known form."""

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import fastjsonschema

from compare.recording.error import RecordingError
from compare.recording.lines import FORMAT, VERSION, Line
from compare.values import MAX_DEPTH, parse, too_deep
from compare.visible import visible

MAX_BYTES = 256 * 1024 * 1024
MAX_LINE = 64 * 1024 * 1024
"""Bytes. A line holds one request of at most 32 MiB, and one reply."""
MAX_LINES = 200_000
LINE_DEPTH = MAX_DEPTH + 10
"""Levels: a line puts some around the messages that a lane gives back."""
KINDS = ("run", "exchange", "execution", "end", "footer")


@dataclass(frozen=True)
class Place:
    """A line of a file, for errors."""

    path: Path
    number: int

    def wrong(self, text: str) -> RecordingError:
        """The error that says in one line what is wrong here."""
        return RecordingError(visible(f"{self.path}:{self.number}: {text}"))


def lines(path: Path) -> tuple[list[tuple[Place, str, Line]], int]:
    """Each whole line with its place and its kind, `header` first, and the bytes of a last line that was cut off.

    Raises RecordingError for anything that is no recording, or damaged elsewhere than at its end.
    """
    found = []
    rest = 0
    for number, data in enumerate(raw_lines(path), start=1):
        place = Place(path, number)
        if number > MAX_LINES:
            raise place.wrong(f"a recording has at most {MAX_LINES} lines")
        if not data.endswith(b"\n"):
            rest = len(data)
            break
        found.append((place, *line(place, data)))
    if not found:
        raise RecordingError(visible(f"{path}: holds no whole line, so there is nothing to load; record once more"))
    return found, rest


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of the file. Raises RecordingError, also for what is no file, and for one that is too large."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise RecordingError(visible(f"{path}: is no file; name a recording"))
        with open(path, "rb") as file:
            total = 0
            while data := file.readline(MAX_LINE + 1):
                total += len(data)
                if len(data) > MAX_LINE or total > MAX_BYTES:
                    limits = f"{MAX_LINE} bytes a line, {MAX_BYTES} in all"
                    raise RecordingError(visible(f"{path}: is larger than a recording may be ({limits})"))
                yield data
    except (OSError, ValueError) as error:  # a path may hold a NUL
        if isinstance(error, RecordingError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RecordingError(visible(f"{path}: cannot be read: {reason}")) from error


def line(place: Place, data: bytes) -> tuple[str, Line]:
    """The kind of one line, and its value. Raises RecordingError."""
    try:
        text = data.decode()
        if too_deep(text, LINE_DEPTH):
            raise place.wrong(f"is nested more than {LINE_DEPTH} levels deep")
        value = parse(text)
    except RecordingError:
        raise
    except (ValueError, RecursionError) as error:
        raise place.wrong(f"is no line of JSON: {first_words(error)}") from error
    if not isinstance(value, dict):
        raise place.wrong("is JSON, but no object")
    kind = "header" if place.number == 1 else value.get("type")
    if kind == "header":
        check_version(place, value)
    elif kind not in KINDS:
        raise place.wrong(f"its type is {short(kind)}, but must be one of {', '.join(KINDS)}")
    try:
        checker(str(kind))(value)
    except fastjsonschema.JsonSchemaValueException as error:
        raise place.wrong(f"is no {kind} line as recording.schema.json has it: {first_words(error)}") from error
    if kind == "header":
        check_time(place, value["started"])
    return str(kind), value


def check_time(place: Place, text: str) -> None:
    """Refuse a time that no calendar has, or whose run could end behind the last one that Python knows."""
    try:
        datetime.fromisoformat(text) + timedelta(days=3)
    except (ValueError, OverflowError) as error:
        raise place.wrong(f"begins at a time that is none: {short(text)}") from error


def check_version(place: Place, value: Line) -> None:
    """Refuse what is no recording, or one of another version, before anything else is said of it."""
    if value.get("format") != FORMAT:
        raise place.wrong(f'is no header of a recording, which says "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        raise place.wrong(f"is of version {short(value.get('version'))}, but this Diptych reads version {VERSION}")


def first_words(error: BaseException) -> str:
    """An error's text, not longer than a line."""
    text = str(error)
    return text if len(text) <= 200 else f"{text[:200]}..."


def short(value: Any) -> str:
    """A value of the file as an error may show it."""
    return first_words(ValueError(repr(value)))


@functools.cache
def checker(kind: str) -> Callable[[Any], Any]:
    """The check of one kind of line; raises JsonSchemaValueException."""
    schema = json.loads(Path(__file__).with_name("recording.schema.json").read_text(encoding="utf-8"))
    one = {"definitions": schema["definitions"], "$ref": f"#/definitions/{kind}"}
    compiled: Callable[[Any], Any] = fastjsonschema.compile(one, use_default=False)
    return compiled
