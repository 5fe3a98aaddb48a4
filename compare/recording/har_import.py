"""The Chat Completions in an HTTP Archive, as a recording: each conversation in it becomes a run."""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from compare.body import read_whole
from compare.conversations import Conversations, anew
from compare.recording.error import RecordingError
from compare.recording.headers import sendable
from compare.recording.read import MAX_LINES, first_words, raw_lines
from compare.recording.recorder import Recorder
from compare.replies import ENDINGS, Piece, Reply
from compare.runner import Task
from compare.serve import foreign_run, name_of
from compare.server import Exchange, Request
from compare.values import MAX_DEPTH, parse, too_deep
from compare.visible import visible
from compare.wire import to_bytes

HAR_DEPTH = MAX_DEPTH + 20
"""Levels: content and bodies are text in an archive, so that it is flat itself."""
NAME = re.compile(r"[\w.:-]{1,200}")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,10000}")


def import_har(path: Path, out: Path, keys: Iterable[str]) -> int:
    """Write what of the archive is Chat Completions as a recording; returns how many exchanges those are.

    Raises RecordingError, also where there is none.
    """
    runs = [foreign_run(lane, task_of(group), group, 0.0, 0) for lane, group in groups_of(path)]
    with Recorder(out, [run.task.prompt for run in runs], [run.lane for run in runs], keys) as recorder:
        for run in runs:
            record = recorder.run_started(run.lane, run.task, run.tools)
            for exchange in run.exchanges:
                record.exchange(exchange)
            record.run_ended(run)
    return sum(len(run.exchanges) for run in runs)


def groups_of(path: Path) -> list[tuple[str, list[Exchange]]]:
    """The exchanges of each run that the archive names, or of each conversation in it, with the name of a lane.

    Raises RecordingError.
    """
    log = read_har(path)
    lanes = lanes_of(log)
    named: dict[str, list[Exchange]] = {}
    exchanges: list[Exchange] = []
    for number, entry in enumerate(entries_of(path, log), start=1):
        exchange = exchange_of(path, number, entry)
        if exchange is None:
            continue
        page = text_in(entry, "pageref")
        if page in lanes:
            named.setdefault(page, []).append(exchange)
        else:
            exchanges.append(exchange)
    if not named and not exchanges:
        raise wrong(path, "holds no request to /chat/completions with a body; nothing is imported")
    groups = [(lanes[page], list(anew(group))) for page, group in named.items()]
    if exchanges:
        groups += [(name_of(number), group) for number, group in enumerate(conversations(exchanges), start=1)]
    return groups


def conversations(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
    """The exchanges of each conversation."""
    exchanges = list(anew(exchanges))
    talks = Conversations(lambda: lambda request: exchanges[request.number - 1].reply)
    talks.exchanges = exchanges
    for exchange in exchanges:
        talks.answer(exchange.request)
    return talks.exchanges_of_each()


def lanes_of(log: dict[str, Any]) -> dict[str, str]:
    """The lanes by the ids of the pages, in an archive that Diptych wrote."""
    pages = [page for page in list_in(log, "pages") if isinstance(page, dict)]
    named = {text_in(page, "id"): text_in(page, "_lane") for page in pages}
    return {page: lane for page, lane in named.items() if page and NAME.fullmatch(lane)}


def exchange_of(path: Path, number: int, entry: dict[str, Any]) -> Exchange | None:
    """One exchange; None where it is no request to a model. Raises RecordingError."""
    asked = dict_in(entry, "request")
    try:
        target = urlsplit(text_in(asked, "url")).path
    except ValueError:  # no address, as http://[
        return None
    raw = text_in(dict_in(asked, "postData"), "text").encode("utf-8", "replace")
    if text_in(asked, "method") != "POST" or not target.endswith("/chat/completions"):
        return None
    body = read_whole(raw)
    if body.problem:
        return None
    request = Request(number, "POST", "/v1/chat/completions", headers_in(asked), b"", body)
    reply = reply_of(path, number, entry)
    seconds = seconds_in(entry, "time", 1000.0)
    return Exchange(request, reply, to_bytes(reply), 0.0, seconds, for_model=True)


def reply_of(path: Path, number: int, entry: dict[str, Any]) -> Reply:
    """The reply of an entry. Raises RecordingError."""
    told = dict_in(entry, "response")
    content, status = dict_in(told, "content"), told.get("status")
    if not isinstance(status, int) or not 100 <= status <= 999:
        return Reply(0, (), b"", close=True)
    text = text_in(content, "text")
    try:
        body = base64.b64decode(text, validate=True) if text_in(content, "encoding") == "base64" else text.encode()
    except ValueError as error:
        raise wrong(path, f"entry {number}: the content cannot be read: {type(error).__name__}") from error
    ending = text_in(entry, "_ending")
    headers = sendable(headers_in(told))
    pieces = tuple(pieces_of(entry, body))
    return Reply(status, headers, body, pieces=pieces, ending=ending if pieces and ending in ENDINGS else "whole")


def pieces_of(entry: dict[str, Any], body: bytes) -> Iterator[Piece]:
    """The pieces that an archive of ours names, as far as they fit; a stream without goes out in one."""
    start = 0
    for piece in list_in(entry, "_pieces"):
        size = piece.get("size") if isinstance(piece, dict) else None
        if not isinstance(size, int) or not 0 <= size <= len(body) - start:
            break
        yield Piece(body[start : start + size], seconds_in(piece, "pause", 1.0))
        start += size
    if start and start < len(body):
        yield Piece(body[start:])


def task_of(exchanges: Sequence[Exchange]) -> Task:
    """What the conversation was about: its first texts of the user and of the system, and the model asked."""
    first = exchanges[0].request.body
    texts = {text_in(one, "role"): text_in(one, "content") for one in reversed(first.messages()) if type(one) is dict}
    system = texts.get("system") or texts.get("developer") or None
    return Task(texts.get("user", ""), text_in(first.envelope or {}, "model") or "unknown", system)


def read_har(path: Path) -> dict[str, Any]:
    """The log of an archive. Raises RecordingError."""
    data = b"".join(raw_lines(path))
    try:
        text = data.decode("utf-8-sig")
        if too_deep(text, HAR_DEPTH):
            raise wrong(path, f"is nested more than {HAR_DEPTH} levels deep")
        value = parse(text)
    except RecordingError:
        raise
    except (ValueError, RecursionError) as error:
        raise wrong(path, f"is no JSON: {first_words(error)}") from error
    log = value.get("log") if isinstance(value, dict) else None
    if not isinstance(log, dict) or not isinstance(log.get("entries"), list):
        raise wrong(path, "is no HTTP Archive, which has log.entries; export one from a browser or a proxy")
    return log


def entries_of(path: Path, log: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries. Raises RecordingError."""
    if len(log["entries"]) > MAX_LINES:
        raise wrong(path, f"has more than {MAX_LINES} entries")
    return [entry for entry in log["entries"] if isinstance(entry, dict)]


def headers_in(message: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The header fields of a request or a response, without those of HTTP/2 and those that are none."""
    fields = [(text_in(one, "name"), text_in(one, "value")) for one in list_in(message, "headers") if type(one) is dict]
    return tuple(one for one in fields if HEADER_NAME.fullmatch(one[0]) and HEADER_VALUE.fullmatch(one[1]))[:200]


def dict_in(value: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def list_in(value: dict[str, Any], key: str) -> list[Any]:
    """The list under a key; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def text_in(value: dict[str, Any], key: str) -> str:
    """The text under a key; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def seconds_in(value: dict[str, Any], key: str, unit: float) -> float:
    """The time under a key, within a day; 0 where there is none. `unit` is how many of its units a second has."""
    found = value.get(key)
    seconds = float(found) / unit if isinstance(found, int | float) and abs(found) < 1e12 else 0.0
    return seconds if 0 <= seconds <= 86400 else 0.0


def wrong(path: Path, text: str) -> RecordingError:
    """The error that says in one line what is wrong."""
    return RecordingError(visible(f"{path}: {text}"))
