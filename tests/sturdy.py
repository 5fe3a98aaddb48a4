"""What the tests of lc.sturdy share: a graph on a scripted model server."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
from langchain_core.tools import BaseTool
from pydantic import SecretStr

from compare.server import ModelServer
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.model import SturdyChatOpenAI
from tests.servers import echo_tool
from toolbox import Tool

Run = Callable[..., Any]
CLIENTS: list[httpx2.AsyncClient] = []
"""Those that a test has made; each must be closed in the event loop in which it was used."""


@contextmanager
def event_loop() -> Iterator[Run]:
    """Invokes graphs in one event loop, and closes the clients that were used in it."""
    CLIENTS.clear()  # those of other event loops, which have ended
    with asyncio.Runner() as runner:
        yield lambda graph, *given: runner.run(graph.ainvoke(*given))
        while CLIENTS:
            runner.run(CLIENTS.pop().aclose())


def in_a_loop(work: Awaitable[Any]) -> Any:
    """What comes of the work, in an event loop that also closes the client that was made last."""

    async def and_close() -> Any:
        try:
            return await work
        finally:
            await CLIENTS[-1].aclose()  # its connection belongs to this event loop

    return asyncio.run(and_close())


def loop_client() -> httpx2.AsyncClient:
    """A client for one model in one event loop: LangChain's own is shared by all, and never closed."""
    client = httpx2.AsyncClient(verify=False)  # http
    CLIENTS.append(client)
    return client


def sturdy_model(server: ModelServer, **more: Any) -> SturdyChatOpenAI:
    """The model part, on the server, without retries where nothing else is said."""
    settings = {"model": "m", "max_retries": 0, "timeout": 10, "http_async_client": loop_client(), **more}
    return SturdyChatOpenAI(base_url=server.base_url, api_key=SecretStr("k"), **settings)


def agent(server: ModelServer, *tools: Tool | BaseTool, **more: Any) -> Agent:
    """The graph, with the echo tool where no other is given."""
    offered: Sequence[Tool | BaseTool] = tools or [echo_tool()]
    return build(sturdy_model(server), offered, **more)


def asking(text: str) -> Any:
    """The input of a turn."""
    return {"messages": [{"role": "user", "content": text}]}


def in_thread(name: str = "t") -> Any:
    """The config that names a thread."""
    return {"configurable": {"thread_id": name}}
