"""A recording as an HTTP Archive, as the HAR 1.2 format has it, and back; what HAR has no place for begins with `_`."""

import base64
import http
from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from compare.recording.lines import rounded
from compare.recording.load import Recording
from compare.replies import Reply
from compare.server import Exchange

HOST = "http://recorded.invalid"
"""In front of each target: a name that never leads anywhere (RFC 6761), because the real one is not written down."""


def to_har(recording: Recording) -> dict[str, Any]:
    """The archive: a page for each run, an entry for each exchange."""
    began = datetime.fromisoformat(recording.started)
    pages, entries = [], []
    for number, one in enumerate(recording.runs, start=1):
        page = f"run-{number}"
        start = began + timedelta(seconds=one.started)
        pages.append(
            {
                "startedDateTime": start.isoformat(timespec="milliseconds"),
                "id": page,
                "title": f"{one.run.lane}: {one.run.task.prompt}",
                "pageTimings": {},
                "_lane": one.run.lane,
            }
        )
        entries += [entry(exchange, page, start) for exchange in one.run.exchanges]
    creator = {"name": "Diptych", "version": version("diptych")}
    return {"log": {"version": "1.2", "creator": creator, "pages": pages, "entries": entries}}


def entry(exchange: Exchange, page: str, start: datetime) -> dict[str, Any]:
    """One exchange."""
    last = exchange.chunks[-1][1] if exchange.chunks else exchange.answered
    first = exchange.chunks[0][1] if exchange.chunks else exchange.answered
    first = min(max(first, exchange.received), max(last, exchange.received))
    # A duration that is not known is -1 in HAR; `send` is not known, because the whole request is what we saw first.
    timings = {"send": 0, "wait": ms(first - exchange.received), "receive": ms(max(last - first, 0.0))}
    return {
        "pageref": page,
        "startedDateTime": (start + timedelta(seconds=exchange.received)).isoformat(timespec="milliseconds"),
        "time": rounded(timings["wait"] + timings["receive"]),
        "request": request_data(exchange),
        "response": response_data(exchange),
        "cache": {},
        "timings": timings,
        "_pieces": [{"size": len(piece.data), "pause": piece.pause} for piece in exchange.reply.pieces],
        "_ending": "closed" if exchange.reply.close else exchange.reply.ending,
    }


def request_data(exchange: Exchange) -> dict[str, Any]:
    """The request; its body is text, because Chat Completions are JSON."""
    request = exchange.request
    raw = request.body.raw()
    query = parse_qsl(urlsplit(request.target).query, keep_blank_values=True)
    data = {
        "method": request.method,
        "url": f"{HOST}{request.target}",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": named(request.headers),
        "queryString": named(query),
        "headersSize": -1,
        "bodySize": len(raw),
    }
    if raw:
        kind = next((value for name, value in request.headers if name.lower() == "content-type"), "application/json")
        data["postData"] = {"mimeType": kind, "text": raw.decode("utf-8", "replace")}
    return data


def response_data(exchange: Exchange) -> dict[str, Any]:
    """The reply; status 0 where none came, as browsers write it."""
    reply = exchange.reply
    kind = next((value for name, value in reply.headers if name.lower() == "content-type"), "")
    return {
        "status": reply.status,
        "statusText": phrase(reply),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": named(reply.headers),
        "content": {"size": len(reply.body), "mimeType": kind, **text_of(reply.body)},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(reply.body),
    }


def text_of(body: bytes) -> dict[str, str]:
    """The text of a content, with its encoding where it is no UTF-8."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(body).decode(), "encoding": "base64"}


def named(fields: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Fields as HAR lists them."""
    return [{"name": name, "value": value} for name, value in fields]


def phrase(reply: Reply) -> str:
    """The name of a status; nothing for one without."""
    try:
        return http.HTTPStatus(reply.status).phrase
    except ValueError:
        return ""


def ms(seconds: float) -> float:
    """Milliseconds."""
    return round(seconds * 1000, 3)
