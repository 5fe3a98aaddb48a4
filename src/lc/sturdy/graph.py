"""The graph to build on: the textbook graph, with each of its gaps closed by one part of this package."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import httpx2
import openai
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableWithFallbacks
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Checkpointer
from pydantic import SecretStr

from lc.sturdy.agent import Agent
from lc.sturdy.calls import as_offered
from lc.sturdy.effects import Journal, SqliteJournal
from lc.sturdy.limits import Limits
from lc.sturdy.model import SturdyChatOpenAI
from lc.sturdy.nodes import Approve, Nodes, Trim
from lc.sturdy.state import State
from lc.sturdy.tools import Tools
from lc.sturdy.wire import sent_message
from protocol import Message, opening
from toolbox.tool import Tool


class Both(Runnable[State, Any]):
    """A node with a form for event loops.

    Of a RunnableLambda, as of a method, LangGraph parses the source text each time that a graph is built, which costs
    a short run more than its requests do; hence the `partial` below, too.
    """

    def __init__(self, called: Callable[..., Any], awaited: Callable[..., Awaitable[Any]]) -> None:
        self._called, self._awaited = called, awaited

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Call it."""
        return self._called(input, config)

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Await it."""
        return await self._awaited(input, config)


def build(
    llm: SturdyChatOpenAI | RunnableWithFallbacks[Any, AIMessage],
    tools: Sequence[Tool | BaseTool],
    *,
    system: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 # frozen
    approve: Approve = "ask",
    parallel: bool = True,
    tool_timeout: float | None = 60.0,
    trim: Trim | None = None,
    journal: Journal | None = None,
    checkpointer: Checkpointer = None,
) -> Agent:
    """The compiled graph; give it `{"messages": [...]}`, and its state ends with the `stop` reason.

    `llm` may be several, `first.with_fallbacks([second])`. `tools` are the toolbox's or LangChain's own. `system` goes
    in front of every request and is not stored. `approve` is about calls with effects: ask a person (by an interrupt,
    which needs a checkpointer), never run one, or run all. `tool_timeout` is in seconds, for one call. `trim` makes an
    old history shorter at the start of a turn (`lc.sturdy.trim`). `journal` keeps effects from happening twice
    (`lc.sturdy.effects`); by default it is in the file of `lc.sturdy.memory.sqlite`, and in this process alone beside
    another checkpointer.
    Raises ValueError for two tools of one name.
    """
    journal = journal or journal_beside(checkpointer, tools)
    running = Tools(tools, parallel=parallel, timeout=tool_timeout, journal=journal)
    schemas = [tool.schema() if isinstance(tool, Tool) else tool for tool in tools]
    nodes = Nodes(llm.bind_tools(schemas), running, limits, system, approve, trim, journal)
    graph = StateGraph(State)
    graph.add_node("begin", partial(nodes.begin))
    graph.add_node("model", Both(nodes.model, nodes.amodel))
    graph.add_node("approve", partial(nodes.approve))
    graph.add_node("tools", Both(nodes.tools, nodes.atools))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "model")
    graph.add_conditional_edges("model", nodes.after_model, ["approve", "tools", END])
    graph.add_edge("approve", "tools")
    graph.add_conditional_edges("tools", nodes.after_tools, ["model", END])
    return Agent.of(graph.compile(checkpointer=checkpointer), limits)


def journal_beside(checkpointer: Checkpointer, tools: Sequence[Tool | BaseTool]) -> Journal | None:
    """The journal that a graph gets when it is given none: where a thread is kept and a tool has effects."""
    if not isinstance(checkpointer, BaseCheckpointSaver) or not any(as_offered(tool).effects for tool in tools):
        return None
    return SqliteJournal(getattr(checkpointer, "file", ":memory:"))


def run(
    prompt: str,
    tools: Sequence[Tool],
    *,
    base_url: str,
    model: str,
    api_key: str,
    system: str | None = None,
    max_rounds: int = 8,
    stream: bool = False,
    timeout: float = 60.0,
    max_retries: int = 0,
) -> tuple[list[Message], str]:
    """Answer the prompt with the model behind `base_url`, which may call the tools for at most `max_rounds` requests.

    Returns all messages, as Chat Completions dicts, and the stop reason, a word of `protocol.STOP_REASONS`.
    With `stream` the replies come as Server-Sent Events. `timeout` is in seconds: for one whole reply by hand, for
    each wait in the framework. Progress is logged at level INFO.
    """
    agent = agent_for(tools, base_url, model, api_key, max_rounds, stream, timeout, max_retries)
    end = agent.invoke(start(opening(prompt, system)))
    return as_sent(end["messages"]), end["stop"]


async def arun(
    prompt: str,
    tools: Sequence[Tool],
    *,
    base_url: str,
    model: str,
    api_key: str,
    system: str | None = None,
    max_rounds: int = 8,
    stream: bool = False,
    timeout: float = 60.0,
    max_retries: int = 0,
) -> tuple[list[Message], str]:
    """As `run`, in an event loop."""
    # A client of its own: LangChain keeps one for all, whose connections belong to the event loop of their first use.
    async with openai.DefaultAsyncHttpxClient() as client:
        agent = agent_for(tools, base_url, model, api_key, max_rounds, stream, timeout, max_retries, client)
        end = await agent.ainvoke(start(opening(prompt, system)))
    return as_sent(end["messages"]), end["stop"]


def agent_for(
    tools: Sequence[Tool],
    base_url: str,
    model: str,
    api_key: str,
    max_rounds: int,
    stream: bool,
    timeout: float,
    max_retries: int,
    client: httpx2.AsyncClient | None = None,
) -> Agent:
    """The graph with the settings of a lane: nothing is asked, and calls run in order, as by hand."""
    llm = SturdyChatOpenAI(
        base_url=base_url,
        model=model,
        api_key=SecretStr(api_key),
        streaming=stream,
        timeout=timeout,
        max_retries=max_retries,
        http_async_client=client,
    )
    limits = Limits(rounds=max_rounds)
    return build(llm, tools, limits=limits, approve="always", parallel=False, tool_timeout=None)


def start(messages: Sequence[Message | AnyMessage]) -> Any:
    """The input that begins a turn."""
    return {"messages": list(messages)}


def as_sent(messages: Sequence[AnyMessage]) -> list[Message]:
    """The messages as Chat Completions dicts, as they go to the model."""
    return [sent_message(message) for message in messages]
