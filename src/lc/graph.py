"""The tool-calling loop in LangGraph: a model node and a tool node, and the edge between them that decides."""

import logging
from collections.abc import Sequence
from typing import Any

import openai
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import SecretStr

from lc.convert import as_dicts, as_langchain, narrate
from protocol import Message, ending, opening
from toolbox.tool import Tool

log = logging.getLogger("lc")


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
    max_retries: int = 2,
) -> tuple[list[Message], str]:
    """Answer the prompt with the model behind `base_url`, which may call the tools for at most `max_rounds` requests.

    Returns all messages, as Chat Completions dicts, and the stop reason, a word of `protocol.STOP_REASONS`.
    With `stream` the replies come as Server-Sent Events. `timeout` is in seconds: for one whole reply by hand, for
    each wait in the framework. Progress is logged at level INFO.
    """
    llm = chat_model(base_url, model, api_key, stream, timeout, max_retries)
    return follow(build(llm, tools), opening(prompt, system), max_rounds)


def build(llm: ChatOpenAI, tools: Sequence[Tool]) -> CompiledStateGraph[MessagesState]:
    """The textbook graph: the model, the tools while it asks for any, and the model again."""
    offered = [as_langchain(tool) for tool in tools]
    bound = llm.bind_tools(offered)

    def call_model(state: MessagesState) -> dict[str, list[AnyMessage]]:
        return {"messages": [bound.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode(offered))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def chat_model(base_url: str, model: str, api_key: str, stream: bool, timeout: float, max_retries: int) -> ChatOpenAI:
    """The client of the model server, with the framework's defaults for all that a lane is not told."""
    key = SecretStr(api_key)
    return ChatOpenAI(
        base_url=base_url, model=model, api_key=key, streaming=stream, timeout=timeout, max_retries=max_retries
    )


def follow(
    graph: CompiledStateGraph[Any, Any, Any, Any], messages: list[Message], max_rounds: int
) -> tuple[list[Message], str]:
    """Let a graph whose state is messages go on from these; returns all messages and the stop reason.

    The graph's model node and tool node are one step each. What is no error of the model server is raised as it comes.
    """
    start: Any = {"messages": messages}
    # Each request and each round of tools is one step; the step after the last allowed one raises.
    config: RunnableConfig = {"recursion_limit": 2 * max_rounds}
    history: list[AnyMessage] = []
    try:
        for state in graph.stream(start, config, stream_mode="values"):
            narrate(state["messages"], history)
            history = state["messages"]
    except GraphRecursionError:
        return as_dicts(history), "round-limit"
    except openai.APIStatusError as error:
        log.info("[error] HTTP %d: %s", error.status_code, error.message)
        return as_dicts(history), "http-error"
    except openai.APIConnectionError as error:
        log.info("[error] %s", error)
        return as_dicts(history), "connection-error"
    told = as_dicts(history)
    return told, ending(told[-1], history[-1].response_metadata.get("finish_reason"))
