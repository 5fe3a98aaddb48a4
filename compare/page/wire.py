"""The raw view: each request and its reply byte for byte, with headers, tokens, times, and the command to repeat it."""

import base64
import shlex
from typing import Any

from compare.page.light import lit, texts, texts_of_message
from compare.page.markup import Markup, el, join
from compare.page.timeline import milliseconds, scale_of, timeline
from compare.page.words import counted
from compare.visible import visible

HOP = ("host", "content-length", "connection", "accept-encoding", "transfer-encoding")
"""Headers that curl writes itself."""
MASK = "***"
CHUNKS = 12
"""Chunk borders that are listed."""
AT_ONCE = 0.005
"""Seconds within which the chunks of a reply have no times that are worth telling."""
SHARED = 80
"""Bytes from which on the beginning that a request shares with the one before is set back."""


def wire(one: dict[str, Any], runs: list[dict[str, Any]], light: bool) -> Markup:
    """The wire of one comparison: the times of all lanes on one scale, and each lane's exchanges.

    With `light`, the texts of a reply are lit where they went.
    """
    scale = scale_of(runs)
    lines = [timeline(lane, run, scale) for lane, run in zip(one["lanes"], runs, strict=True)]
    key = el("p", {"class": "key"}, *(el("span", {"class": kind}, kind) for kind in ("model", "tool", "retry")))
    lanes = [exchanges(lane, run, light) for lane, run in zip(one["lanes"], runs, strict=True)]
    title = el("h4", None, f"The wire, {one['mode']}")
    return join(title, el("div", {"class": "time"}, *lines, key), el("div", {"class": "lanes"}, *lanes))


def exchanges(lane: dict[str, Any], run: dict[str, Any], light: bool) -> Markup:
    """All exchanges of a lane."""
    shown, before, answered = [], "", set[str]()
    for place, exchange in enumerate(lane["exchanges"]):
        later = lane["exchanges"][place + 1 : place + 2]
        reply = texts_of_message(text_of(exchange["reply"])) if light else set()
        sent_on = {text for one in later for _, text in texts(text_of(one["body"]))} if reply else set()
        shown.append(exchange_shown(exchange, run, place, before, answered, reply & sent_on))
        before, answered = text_of(exchange["body"]), reply
    return el("div", {"data-l": lane["name"]}, *shown or [el("p", None, "no request was made")])


def exchange_shown(
    exchange: dict[str, Any], run: dict[str, Any], place: int, before: str, answered: set[str], sent_on: set[str]
) -> Markup:
    """One request and its reply, with the texts that are to be lit in the one and in the other."""
    turn = f"request {exchange['turn']}" if exchange["turn"] else "not a model request"
    status = f"HTTP {exchange['status']}" if exchange["status"] else "closed without a reply"
    usage = exchange["usage"] or {}
    tokens = [f"{usage[key]} {words}" for key, words in TOKENS.items() if isinstance(usage.get(key), int | float | str)]
    head = " · ".join([f"{exchange['number']}: {turn}", status, *tokens])
    return el(
        "details",
        {"class": "ex"},
        el("summary", None, head),
        el("p", None, el("code", None, f"{exchange['method']} {exchange['target']}")),
        headers(exchange["headers"]),
        raw(exchange["body"], before, answered),
        el("p", None, status, ending(exchange, run, place)),
        headers(exchange["reply_headers"]),
        raw(exchange["reply"], "", sent_on),
        el("p", {"class": "curl"}, el("code", None, curl(exchange))),
    )


def text_of(body: Any) -> str:
    """A body where it is text."""
    return body if isinstance(body, str) else ""


TOKENS = {"prompt_tokens": "tokens in", "completion_tokens": "tokens out"}


def ending(exchange: dict[str, Any], run: dict[str, Any], place: int) -> str:
    """How the reply's sending ended, when it was sent, and where its chunks were."""
    came = run["requests"][place][0] if place < len(run["requests"]) else 0.0
    words = ""
    if exchange["ending"] != "whole":
        words += f", {exchange['ending']} before its end"
    times = run["chunks"][place] if place < len(run["chunks"]) else []
    if exchange["chunks"] and times:
        ends = ", ".join(str(end) for end in exchange["chunks"][:CHUNKS])
        more = ", …" if len(exchange["chunks"]) > CHUNKS else ""
        words += f", {counted(len(exchange['chunks']), 'chunk')} up to bytes {ends}{more}"
        if times[-1] - came >= AT_ONCE:
            words += f" from {milliseconds(times[0] - came)} to {milliseconds(times[-1] - came)}"
    left = run["client_left"][place] if place < len(run["client_left"]) else None
    return words + ("" if left is None else f"; the client left at {milliseconds(left)}")


def headers(pairs: list[list[str]]) -> Markup:
    """Header lines, folded."""
    lines = "\n".join(f"{name}: {value}" for name, value in pairs)
    return el("details", None, el("summary", None, counted(len(pairs), "header")), el("pre", None, lines))


def raw(body: Any, before: str, among: set[str]) -> Markup:
    """A body: what the one before it began with is set back, and of the rest the texts `among` some others are lit.

    Where what is seen is not what crossed the wire, the exact bytes stand beside it in base64.
    """
    if not isinstance(body, str):
        return el("pre", {"class": "raw", "data-b64": body["base64"]}, body["base64"])
    shared = shared_front(before, body)
    old = [el("span", {"class": "old"}, body[:shared])] if shared >= SHARED else []
    shown = join(*old, *lit(body[shared:] if old else body, among))
    exact = base64.b64encode(body.encode("utf-8", "surrogatepass")).decode()
    as_is = all(visible(part, keep_newlines=True) == part for part in (body[:shared], body[shared:]))
    return el("pre", {"class": "raw", **({} if as_is else {"data-b64": exact})}, shown)


def shared_front(one: str, other: str) -> int:
    """How many characters two bodies share in front, not cutting a pair of surrogates or a stand-in."""
    if not one or not other:
        return 0
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def curl(exchange: dict[str, Any]) -> str:
    """The command that sends the request again; its body is to come on standard input. A masked value is a variable."""
    target = exchange["target"].removeprefix("/v1") if exchange["target"].startswith("/v1/") else exchange["target"]
    parts = ["curl", "-sS", "-X", shlex.quote(exchange["method"]), f'"$OPENAI_BASE_URL"{shlex.quote(target)}']
    for name, value in exchange["headers"]:
        if name.lower() in HOP:
            continue
        if value == MASK:
            scheme = "Bearer " if name.lower() == "authorization" else ""
            parts += ["-H", f'{shlex.quote(f"{name}: ")}"{scheme}$OPENAI_API_KEY"']
        else:
            parts += ["-H", shlex.quote(f"{name}: {value}")]
    return " ".join([*parts, "--data-binary", "@-"])
