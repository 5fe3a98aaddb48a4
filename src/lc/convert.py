"""What stands between this project's built-ins and LangChain's classes: tools one way, messages the other."""

import json
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, convert_to_openai_messages
from langchain_core.tools import StructuredTool

from protocol import Message
from toolbox.tool import Tool

log = logging.getLogger("lc")


def as_langchain(tool: Tool) -> StructuredTool:
    """The tool as LangChain makes one from a plain function: the schema comes from its signature."""
    return StructuredTool.from_function(tool.function, name=tool.name, description=tool.description)


def as_dicts(messages: Sequence[AnyMessage]) -> list[Message]:
    """The messages as LangChain itself writes them in Chat Completions form."""
    converted: Any = convert_to_openai_messages(messages)
    return list(converted)


def narrate(messages: Sequence[AnyMessage], before: Sequence[AnyMessage]) -> None:
    """Log what has joined the state, wherever it stands there: replies, their tool calls, and results."""
    known = {id(message) for message in before}
    for index, message in enumerate(messages):
        if id(message) in known:
            continue
        if isinstance(message, AIMessage):
            log.info("[round %d]", sum(isinstance(one, AIMessage) for one in messages[: index + 1]))
            for call in message.tool_calls:
                log.info("[tool] %s(%s)", call["name"], json.dumps(call["args"], ensure_ascii=False))
        elif isinstance(message, ToolMessage):
            log.info("[result] %s", message.content)
