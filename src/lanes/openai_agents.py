"""The loop in openai-agents: an Agent with function tools, run by its Runner over Chat Completions."""

import asyncio
from collections.abc import Sequence
from typing import Any

from agents import Agent, FunctionTool, MaxTurnsExceeded, OpenAIChatCompletionsModel, RunConfig, Runner
from agents.models.chatcmpl_converter import Converter
from openai import AsyncOpenAI

from protocol import Message, ending, opening
from toolbox import Tool, execute


def run(prompt: str, tools: Sequence[Tool], **more: Any) -> tuple[list[Message], str]:
    """Answer the prompt as every lane does; what the framework raises escapes."""
    return asyncio.run(answer(prompt, tools, **more))


async def answer(
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
) -> tuple[list[Message], str]:
    """The same, asynchronously."""
    async with AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout) as client:
        offered: list[Any] = [as_agents(tool) for tool in tools]
        agent = Agent("assistant", instructions=system, model=OpenAIChatCompletionsModel(model, client), tools=offered)
        stop, made, quiet = "", [], RunConfig(tracing_disabled=True)  # it uploads its traces otherwise
        try:
            if stream:
                result: Any = Runner.run_streamed(agent, prompt, max_turns=max_rounds, run_config=quiet)
                async for _ in result.stream_events():
                    continue
            else:
                result = await Runner.run(agent, prompt, max_turns=max_rounds, run_config=quiet)
            made = result.new_items
        except MaxTurnsExceeded as error:
            stop, made = "round-limit", error.run_data.new_items if error.run_data else []
    # As the framework itself writes them in Chat Completions form; it keeps no finish reason.
    told: Any = Converter.items_to_messages([item.to_input_item() for item in made])
    messages = [*opening(prompt, system), *map(dict, told)]
    return messages, stop or ending(messages[-1], None)


def as_agents(tool: Tool) -> FunctionTool:
    """The tool with its schema as it is, which the framework would make strict."""

    async def invoke(_: Any, arguments: str) -> str:
        return execute({tool.name: tool}, tool.name, arguments)

    return FunctionTool(tool.name, tool.description, tool.parameters, invoke, strict_json_schema=False)
