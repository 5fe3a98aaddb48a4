"""The lab's web application: the page, the shows that it starts, and the stream of what happens in them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from compare.lab.browser_lane import NAME, BrowserLane
from compare.lab.endpoint import MAX_REQUESTS, Endpoint, EndpointError, checked, origin_of, typed
from compare.lab.guard import policy
from compare.lab.play import Play, begin, pace_of, perform, play_of
from compare.lab.show import AT_ONCE, PACES, Show
from compare.lab.stage import Watched
from compare.lanes import Lane
from compare.modes import PLAIN, STREAM
from compare.replies import Reply
from compare.runner import Task
from compare.scenario import Scenario
from toolbox import CALCULATOR
from toolbox.documents import DOCUMENTS, SEARCH_DOCS

PROMPT = 'Look up "call ids" in the documents, and compute 18 * (4 + 2).'
ASSETS = {
    "lab.css": "text/css",
    "lab.js": "text/javascript",
    "view.js": "text/javascript",
    "loop.js": "text/javascript",
    "tools.js": "text/javascript",
    "explain.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
MAX_BODY = 8 * 1024 * 1024
LIMIT = 100
"""Requests that a live run may be allowed at the most."""
LOOK = 0.03
"""Seconds between two looks for new events."""


class Lab:
    """What the lab offers and what goes on in it: one show at a time."""

    def __init__(self, lanes: Sequence[Lane], scenarios: Sequence[Scenario], environment: Endpoint) -> None:
        self.lanes = {lane.name: lane for lane in lanes}
        self.scenarios = {one.name: one for one in scenarios}
        self.environment = environment
        self.shows: list[Show] = []
        self.browser: BrowserLane | None = None

    def routes(self) -> list[Route]:
        """What is served beneath the token."""
        return [
            Route("/", self.page),
            Route("/setup.json", self.setup),
            Route("/start", self.start, methods=["POST"]),
            Route("/events/{number:int}", self.events),
            Route("/step", self.step, methods=["POST"]),
            Route("/stop", self.stop, methods=["POST"]),
            Route("/ended", self.ended, methods=["POST"]),
            Route("/v1/chat/completions", self.model, methods=["POST"]),
            Route("/{name}", self.asset),
        ]

    async def page(self, request: Request) -> Response:
        """The page. With `?endpoint=URL` it may speak to that address's origin, too: only there does it take a key."""
        wanted = request.query_params.get("endpoint")
        try:
            origins = [] if wanted is None else [origin_of(wanted)]
        except EndpointError as error:
            raise HTTPException(400, str(error)) from None
        return Response(
            source("lab.html"), media_type="text/html", headers={"Content-Security-Policy": policy(*origins)}
        )

    async def asset(self, request: Request) -> Response:
        """A style or a script of the page's."""
        name = request.path_params["name"]
        if name not in ASSETS:
            raise HTTPException(404)
        return Response(source(name), media_type=ASSETS[name])

    async def setup(self, request: Request) -> Response:
        """What the reader can choose from, and what the page's own loop works with. No key is in it."""
        here = self.environment
        # One that is refused anyway may hold a password, or a key in its query.
        base_url = "" if any(sign in here.base_url for sign in "@?#") else here.base_url
        return JSONResponse(
            {
                "prompt": PROMPT,
                "lanes": list(self.lanes),
                "scenarios": [
                    {"name": one.name, "title": one.title, "teaches": one.teaches, "prompt": one.prompt}
                    | {"modes": list(one.modes), "system": one.system, "max_rounds": one.max_rounds}
                    for one in self.scenarios.values()
                ],
                "environment": {"key": bool(here.key), "base_url": base_url, "model": here.model},
                "max_requests": MAX_REQUESTS,
                "documents": [asdict(one) for one in DOCUMENTS],
                "tools": [CALCULATOR.schema(), SEARCH_DOCS.schema()],
            }
        )

    async def start(self, request: Request) -> Response:
        """Start a show, in the place of the one that goes on; returns its number, and the task."""
        wanted = json_object(await body_of(request))
        names = wanted.get("lanes")
        if not isinstance(names, list) or not all(name in list(self.lanes) for name in names):
            raise HTTPException(400, "there is no such lane")
        lanes = [lane for name, lane in self.lanes.items() if name in names]
        if not lanes and wanted.get("what") != "browser":
            raise HTTPException(400, "choose a lane")
        before = self.shows[-1] if self.shows else None
        if before:
            before.stop()
        task = self.live(wanted, lanes, before) if wanted.get("what") == "live" else self.played(wanted, lanes, before)
        told = {"prompt": task.prompt, "system": task.system, "model": task.model, "max_rounds": task.max_rounds}
        return JSONResponse({"show": len(self.shows) - 1, "task": told})

    def played(self, wanted: dict[str, Any], lanes: list[Lane], before: Show | None) -> Task:
        """Start a show that asks no provider, with the page's own lane where it is wanted."""
        play, pace = self.play(wanted), wanted.get("pace")
        show = Show(pace_of(play, pace if pace in PACES else AT_ONCE))
        browser = None
        if wanted.get("what") == "browser":
            watched = Watched(show, NAME, replace(play.task, stream=False), foreign=True)
            browser = BrowserLane(watched, play.backend())
        self.browser = browser
        self.shows.append(show)
        begin(show, lambda: perform(show, play, lanes, browser), before)
        return play.task

    def play(self, wanted: dict[str, Any]) -> Play:
        """The prompt, or the scenario in a mode that it has."""
        name, mode = wanted.get("scenario"), wanted.get("mode")
        if not name:
            return play_of(prompt_of(wanted), None, PLAIN)
        scenario = self.scenarios.get(str(name))
        if scenario is None:
            raise HTTPException(400, "there is no such scenario")
        return play_of("", scenario, mode if mode in scenario.modes else scenario.modes[0])

    def live(self, wanted: dict[str, Any], lanes: list[Lane], before: Show | None) -> Task:
        """Start a show that asks an endpoint: with the environment's key at its address, or with what was typed in."""
        most, here = wanted.get("max_requests"), self.environment
        if not isinstance(most, int) or not 1 <= most <= LIMIT:
            raise HTTPException(400, f"the number of requests must be from 1 to {LIMIT}")
        try:
            named = replace(here, model=str(wanted.get("model") or here.model))
            endpoint = checked(typed(wanted) if wanted.get("source") == "typed" else named)
        except EndpointError as error:
            raise HTTPException(400, str(error)) from None
        show, task = Show(), Task(prompt_of(wanted), endpoint.model, stream=wanted.get("mode") == STREAM)

        def work() -> None:
            from compare.lab.live import perform_live  # takes long to load, and most shows do without

            perform_live(show, task, lanes, endpoint, most)

        self.browser = None
        self.shows.append(show)
        begin(show, work, before, endpoint.key)
        return task

    async def events(self, request: Request) -> Response:
        """What happens in a show, as Server-Sent Events, from its beginning on."""
        number = request.path_params["number"]
        if number >= len(self.shows):
            raise HTTPException(404)
        events = told(self.shows[number], request.is_disconnected)
        return StreamingResponse(events, media_type="text/event-stream")

    async def step(self, request: Request) -> Response:
        """Let every lane have its next reply."""
        if self.shows:
            self.shows[-1].step()
        return Response(status_code=204)

    async def stop(self, request: Request) -> Response:
        """End the show that goes on."""
        if self.shows:
            self.shows[-1].stop()
        return Response(status_code=204)

    async def ended(self, request: Request) -> Response:
        """The page says that its own lane has ended."""
        if self.browser:
            self.browser.ended.set()
        return Response(status_code=204)

    async def model(self, request: Request) -> Response:
        """The demo model, or the script of a scenario, for the lane in the page."""
        raw, browser = await body_of(request), self.browser
        if browser is None:
            raise HTTPException(409, "no browser loop goes on: press its button first")
        headers = [(name, value) for name, value in request.headers.raw]
        exchange = await asyncio.to_thread(browser.answer, request.method, "/v1/chat/completions", headers, raw)
        return as_response(exchange.reply)


def as_response(reply: Reply) -> Response:
    """A reply of the model's, as a page can be given it: one that breaks the connection becomes an error."""
    if reply.close or reply.ending != "whole":
        return Response("the connection would break off here", 502, media_type="text/plain")
    kept = {name: value for name, value in reply.headers if name.lower() in ("content-type", "retry-after")}
    return Response(reply.body, reply.status, headers=kept)


async def told(show: Show, gone: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
    """The events of a show in the form of Server-Sent Events, until it is over.

    When the page is gone before that, the show is stopped: what nobody sees must not go on to cost money.
    """
    number, over = 0, False
    try:
        while not over and not await gone():
            over = show.over.is_set()  # asked first: what is told before it is over must not be missed
            for event in show.since(number):
                number += 1
                yield f"data: {json.dumps(event)}\n\n"
            await asyncio.sleep(0 if over else LOOK)
        yield "event: over\ndata: {}\n\n"
    finally:
        if not over:
            show.stop()


async def body_of(request: Request) -> bytes:
    """The body of a request, up to MAX_BODY bytes. Raises HTTPException."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise HTTPException(413, f"the body has more than {MAX_BODY} bytes")
    return bytes(body)


def json_object(raw: bytes) -> dict[str, Any]:
    """The object in a body. Raises HTTPException."""
    try:
        value = json.loads(raw)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair can be neither answered nor sent on
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return value


def prompt_of(wanted: dict[str, Any]) -> str:
    """The prompt that was typed in. Raises HTTPException."""
    prompt = wanted.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise HTTPException(400, "the prompt is empty")
    return prompt.strip()


def source(name: str) -> str:
    """A file of the page's own, beside this module."""
    return (files("compare.lab") / name).read_text(encoding="utf-8")


def application(lab: Lab, token: str) -> Starlette:
    """The lab beneath its token; the guard stands in front of it."""
    return Starlette(routes=[Mount(f"/{token}", routes=lab.routes())])
