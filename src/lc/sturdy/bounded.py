"""A tool call gets so many seconds, and the run goes on without it when they are over."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any


class TooLong(Exception):
    """A call that did not end in its time. A thread cannot be stopped from outside, so it may still be at work."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no result within {seconds:g} seconds; the tool may still be at work")


def within(seconds: float | None, work: Callable[[], Any]) -> Any:
    """What `work` returns or raises, when it ends in time. Raises TooLong."""
    if seconds is None:
        return work()
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def watched() -> None:
        try:
            outcome.extend((True, context.run(work)))
        except BaseException as error:  # noqa: BLE001 # it is raised again where it was waited for
            outcome.extend((False, error))

    # A daemon, so that a tool that never ends cannot keep the process.
    thread = threading.Thread(target=watched, daemon=True)
    thread.start()
    thread.join(max(seconds, 0))
    if not outcome:
        raise TooLong(seconds)
    well, result = outcome
    if not well:
        raise result
    return result


async def threaded(work: Callable[[], Any]) -> Any:
    """What `work` returns or raises, from a daemon thread.

    asyncio.to_thread has threads that the end of the event loop waits for, also for one that never ends.
    """
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def settle(well: bool, outcome: Any) -> None:
        if not ended.done():  # cancelled, where nobody waits any more
            (ended.set_result if well else ended.set_exception)(outcome)

    def watched() -> None:
        try:
            outcome = (True, context.run(work))
        except BaseException as error:  # noqa: BLE001 # it is raised again where it is waited for
            outcome = (False, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, *outcome)

    context = contextvars.copy_context()
    threading.Thread(target=watched, daemon=True).start()
    return await ended


async def awithin(seconds: float | None, work: Awaitable[Any]) -> Any:
    """As `within`, for what is awaited: a coroutine is cancelled."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise  # the tool's own
        raise TooLong(seconds or 0.0) from None
