"""A graph of your own for LangGraph's server: a function without arguments that langgraph.json names."""

import asyncio
from functools import cache

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.limits import Limits


async def graph() -> Agent:
    """The graph, without a checkpointer: the server brings its own."""
    return await asyncio.to_thread(_graph)  # the client reads certificates, which would hold the server up


@cache
def _graph() -> Agent:
    return build(model(), [COUNT_WORDS], limits=Limits(rounds=10, seconds=120))
