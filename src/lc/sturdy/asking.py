"""How one request goes out through the openai SDK's client, how often, and what counts as no answer."""

import _thread
import asyncio
import collections
import contextlib
import logging
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import openai

from lc.sturdy.reply import Reply
from lc.sturdy.wire import Turn
from toolbox.retry import LONGEST_WAIT, wait_after
from toolbox.watch import GRACE, Watch

log = logging.getLogger("lc")

SHORTEST = 1e-6
"""Seconds. Of less, sockets make an error or no timeout at all."""
BROKEN = (httpx2.TransportError, httpx2.DecodingError)
"""What the HTTP client raises when no whole reply comes."""


def untold(event: dict[str, Any]) -> None:
    """For a question of which nobody wants to hear more."""


@dataclass(frozen=True)
class Question:
    """One request: its body, whether its reply is a stream, what is allowed to it, and its own headers and query.

    `timeout` is in seconds, for one whole reply. It is sent again at most `max_retries` times, after a broken
    connection, a reply that takes too long, 408, 409, 429 or 5xx; not once the first byte of a stream is there.
    `told` hears of each retry before the wait. `at_most` is in seconds, for all replies and the waits between them.
    """

    body: bytes
    stream: bool
    timeout: float
    max_retries: int
    told: Callable[[dict[str, Any]], object]
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    at_most: float = math.inf

    def since(self, started: float) -> "Question":
        """The question as it is asked when it was first asked at that time: with what is left of its seconds."""
        left = max(self.at_most - (time.monotonic() - started), SHORTEST)
        return replace(self, at_most=left, timeout=min(self.timeout, left))


def ask(client: openai.OpenAI, question: Question) -> Generator[str | Turn, None, None]:
    """The new texts of the content as they come, and at the end the turn.

    Raises what the SDK raises (openai.APIStatusError, openai.APITimeoutError, openai.APIConnectionError), and
    protocol.BadReply. Half a message is none: a stream that breaks before its message is whole raises.
    Whoever has heard enough closes it, and with it the response.
    """
    started = time.monotonic()
    for attempt in range(question.max_retries + 1):
        reply = Reply(question.stream)
        try:
            yield from _listen(client, question.since(started), reply)
            return
        except openai.APIError as error:
            wait = pause(error, attempt, question.since(started), reply)
            if wait is None:
                raise
        time.sleep(wait)


async def aask(client: openai.AsyncOpenAI, question: Question) -> AsyncGenerator[str | Turn, None]:
    """As `ask`, for an async client."""
    started = time.monotonic()
    for attempt in range(question.max_retries + 1):
        reply = Reply(question.stream)
        try:
            async with contextlib.aclosing(_alisten(client, question.since(started), reply)) as pieces:
                async for one in pieces:
                    yield one
            return
        except openai.APIError as error:
            wait = pause(error, attempt, question.since(started), reply)
            if wait is None:
                raise
        await asyncio.sleep(wait)


def pause(error: openai.APIError, attempt: int, question: Question, reply: Reply) -> float | None:
    """Seconds to wait before the request is sent again; None when it is not. Every retry is told and logged."""
    if attempt == question.max_retries or reply.begun:
        return None
    backoff: float = 0.5 * 2**attempt
    wait: float | None = backoff
    if isinstance(error, openai.APIStatusError):
        wait = wait_after(error.status_code, error.response.headers.get("retry-after", ""), backoff)
    if wait is None or wait > LONGEST_WAIT or wait >= question.at_most:
        return None
    log.info("[retry] %d of %d in %g s: %s", attempt + 1, question.max_retries, wait, error.message)
    question.told({"type": "retry", "attempt": attempt + 1, "seconds": wait, "error": error.message})
    return wait


def _listen(client: openai.OpenAI, question: Question, reply: Reply) -> Generator[str | Turn, None, None]:
    watch = Watch(question.timeout)
    watch.start()
    try:
        response = _opened(client, question)
        try:
            watch.stream = response.extensions["network_stream"]
            if watch.expired:  # when there was no connection yet to shut
                raise httpx2.ReadTimeout("the reply took too long")
            body = response.iter_bytes()
            for data in body:
                if watch.expired:
                    raise httpx2.ReadTimeout("the reply was cut off")
                yield reply.feed(data)
                if reply.done:
                    watch.hasten(GRACE)
                    collections.deque(body, maxlen=0)  # read to the end, and kept nowhere
            if watch.expired and not reply.done:
                raise httpx2.ReadTimeout("the reply was cut off")  # one that only the end of the connection ends
            yield reply.end()
        except BROKEN as error:
            if not reply.whole:
                raise _broken(error, response.request, watch.expired) from error
            yield reply.end(clean=False)
        finally:
            response.close()
    finally:
        watch.close()


async def _alisten(client: openai.AsyncOpenAI, question: Question, reply: Reply) -> AsyncGenerator[str | Turn, None]:
    end = time.monotonic() + question.timeout
    response = await _aopened(client, question)
    try:
        body = response.aiter_bytes()
        while (data := await _next(body, end)) is not None:
            yield reply.feed(data)
            if reply.done:
                end = min(end, time.monotonic() + GRACE)
                with contextlib.suppress(httpx2.ReadTimeout):
                    while await _next(body, end) is not None:
                        pass  # read to the end, and kept nowhere
                break
        yield reply.end()
    except BROKEN as error:
        if not reply.whole:
            raise _broken(error, response.request, False) from error
        yield reply.end(clean=False)
    finally:
        await response.aclose()


def _opened(client: openai.OpenAI, question: Question) -> httpx2.Response:
    """The response, once its head is there. Raises what the SDK raises.

    The SDK reads the head, and the whole body of an error, before it says on which connection; a read timeout starts
    anew with every byte of them. So it does this in a thread of its own, and what comes too late is closed.
    """
    opened: Future[httpx2.Response] = Future()

    def post() -> None:
        try:
            stream = client.post("/chat/completions", **_post(question), stream_cls=openai.Stream[object])
        except BaseException as error:  # noqa: BLE001 # raised where the response is awaited
            opened.set_exception(error)
        else:
            opened.set_result(stream.response)

    # threading.Thread would cost twice as much.
    _thread.start_new_thread(copy_context().run, (post,))
    try:
        return opened.result(question.timeout)
    except BROKEN as error:  # in the body of an error
        raise _broken(error, error.request, False) from error
    except BaseException as error:  # the time is up, or the user's patience
        opened.add_done_callback(_close)
        if isinstance(error, TimeoutError):
            raise openai.APITimeoutError(request=httpx2.Request("POST", client.base_url)) from None
        raise


def _close(opened: Future[httpx2.Response]) -> None:
    if opened.exception() is None:
        opened.result().close()


async def _aopened(client: openai.AsyncOpenAI, question: Question) -> httpx2.Response:
    """As `_opened`, in an event loop."""
    try:
        async with asyncio.timeout(question.timeout):
            stream = await client.post("/chat/completions", **_post(question), stream_cls=openai.AsyncStream[object])
    except BROKEN as error:
        raise _broken(error, error.request, False) from error
    except TimeoutError:
        raise openai.APITimeoutError(request=httpx2.Request("POST", client.base_url)) from None
    response: httpx2.Response = stream.response
    return response


async def _next(body: AsyncIterator[bytes], end: float) -> bytes | None:
    """The next piece of the body, None behind the last. Raises httpx2.ReadTimeout at the time `end`."""
    try:
        async with asyncio.timeout(end - time.monotonic()):
            return await anext(body, None)
    except TimeoutError:
        raise httpx2.ReadTimeout("the reply took too long") from None


def _post(question: Question) -> dict[str, Any]:
    """The arguments for the client's `post`: the bytes as they are, and no retries that nobody sees."""
    accept = "text/event-stream" if question.stream else "application/json"
    return {
        "cast_to": object,
        "content": question.body,
        "stream": True,  # also for a plain reply: so that its time is counted while it comes
        "options": {
            "timeout": question.timeout,
            "max_retries": 0,
            "headers": {"Content-Type": "application/json", "Accept": accept, **question.headers},
            "params": question.query,
        },
    }


def _broken(error: Exception, request: httpx2.Request, expired: bool) -> openai.APIConnectionError:
    """What the client raised, as the SDK would say it."""
    if expired or isinstance(error, httpx2.TimeoutException):
        return openai.APITimeoutError(request=request)
    return openai.APIConnectionError(message=f"{type(error).__name__}: {error}", request=request)
