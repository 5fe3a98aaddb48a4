"""What is to be done with each call of an assistant message, decided before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from lc.sturdy.bounded import threaded
from lc.sturdy.wire import came_message
from protocol import tool_calls
from toolbox.execute import carry_out, prepare
from toolbox.refusal import cut_off, not_a_function, wanted
from toolbox.tool import Tool


@dataclass(frozen=True)
class Planned:
    """One call: its place in the message, its id as it goes back, and either its tool and arguments or a refusal.

    `text` is the text of the arguments as the model wrote it; `refusal` is the observation of a call that is not run.
    """

    position: int
    id: str
    name: str
    text: str
    tool: Tool | None = None
    arguments: dict[str, Any] | None = None
    refusal: str = ""

    @property
    def effects(self) -> bool:
        """Whether running it changes something outside of the conversation."""
        return self.tool is not None and self.tool.effects


def planned(message: AIMessage, tools: Mapping[str, Tool]) -> list[Planned]:
    """The calls of the message, in order. Nothing of a turn that was cut off is run, and nothing that does not fit."""
    metadata = message.response_metadata
    cut = cut_off(metadata.get("finish_reason"), metadata.get("whole", True))
    calls = tool_calls(came_message(message))
    listed = [*message.tool_calls, *message.invalid_tool_calls]  # the latter only in messages that others made
    return [
        _plan(position, one["id"] or "", one["name"] or "", call, tools, cut)
        for position, (call, one) in enumerate(zip(calls, listed, strict=True))
    ]


def _plan(position: int, call_id: str, name: str, call: Any, tools: Mapping[str, Tool], cut: str | None) -> Planned:
    function = wanted(call)
    if function is None:
        return Planned(position, call_id, name, "", refusal=not_a_function())
    return prepared(Planned(position, call_id, name, shown_arguments(function[1])), *function, tools, cut)


def prepared(plan: Planned, name: Any, arguments: Any, tools: Mapping[str, Tool], cut: str | None = None) -> Planned:
    """The plan with its tool and checked arguments, or with the refusal that says why not."""
    ready = cut or prepare(tools, name, arguments)
    if isinstance(ready, str):
        return Planned(plan.position, plan.id, plan.name, plan.text, refusal=ready)
    return Planned(plan.position, plan.id, plan.name, plan.text, *ready)


def shown_arguments(arguments: Any) -> str:
    """The text of arguments that should be one, and may be anything."""
    return arguments if isinstance(arguments, str) else str(arguments)


class _Unnamed(StructuredTool):
    """A tool whose function gets its arguments as one dict.

    By name, LangChain would put its own in the place of `config` and `run_manager`, and `self` could not be passed.
    """

    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input,), {}


def as_langchain(tool: Tool) -> StructuredTool:
    """A tool of ours for ToolNode: with our own schema, called with checked arguments, never raising."""

    def function(arguments: dict[str, Any]) -> str:
        return carry_out(tool, arguments)

    async def coroutine(arguments: dict[str, Any]) -> Any:
        return await threaded(lambda: carry_out(tool, arguments))

    return _Unnamed(
        name=tool.name,
        description=tool.description,
        args_schema=tool.parameters,
        func=function,
        coroutine=coroutine,
        metadata={"effects": tool.effects},
    )


def apart(tool: BaseTool) -> BaseTool:
    """A tool of LangChain's for an event loop: what is no coroutine there works in a daemon thread of its own.

    LangChain puts it into the pool of the event loop. A few that never end leave no thread there for any other run, and
    the end of the loop waits for them.
    """
    if not isinstance(tool, StructuredTool) or tool.coroutine is not None or tool.func is None:
        return tool
    func = tool.func

    @wraps(func)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        return await threaded(lambda: func(*args, **kwargs))

    return tool.model_copy(update={"coroutine": coroutine})


def as_offered(tool: Tool | BaseTool) -> Tool:
    """Any tool as what its calls are checked against: LangChain's own with the schema that the model is shown.

    Arguments that the schema does not name are refused, where LangChain would drop them, and none is converted.
    A tool of LangChain's says with `metadata={"effects": True}` that it changes something.
    """
    if isinstance(tool, Tool):
        return tool
    function = convert_to_openai_tool(tool)["function"]
    parameters = {"additionalProperties": False, **function.get("parameters", {"type": "object", "properties": {}})}
    effects = bool((tool.metadata or {}).get("effects"))
    return Tool(tool.name, function["description"], parameters, tool.invoke, effects)


def offered(tools: Sequence[Tool | BaseTool]) -> dict[str, Tool]:
    """The tools by name. Raises ValueError for a name given twice: only one of the two could be called."""
    by_name = {tool.name: as_offered(tool) for tool in tools}
    if len(by_name) < len(tools):
        names = [tool.name for tool in tools]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two tools are named {twice}; rename one")
    return by_name
