"""The loop in Pydantic AI: an Agent with tools made from their JSON Schemas."""

import asyncio
from collections.abc import AsyncIterable, Sequence
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent, RunContext, UsageLimitExceeded, UsageLimits, capture_run_messages
from pydantic_ai import Tool as AgentTool
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from protocol import Message, ending
from toolbox import Tool


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
    """The same, in the framework's own asynchronous form."""
    async with AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout) as client:
        llm = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
        offered = [AgentTool.from_schema(one.function, one.name, one.description, one.parameters) for one in tools]
        agent = Agent(llm, system_prompt=() if system is None else system, tools=offered)
        limits = UsageLimits(request_limit=max_rounds)
        used_up = False
        with capture_run_messages() as history:
            try:
                await agent.run(prompt, usage_limits=limits, event_stream_handler=read if stream else None)
            except UsageLimitExceeded:
                used_up = True
        # As the framework itself writes them in Chat Completions form; it has no public way to say so.
        messages: list[Any] = await llm._map_messages(history, ModelRequestParameters())
    reason = getattr(history[-1], "finish_reason", None)
    return messages, "round-limit" if used_up else ending(messages[-1], reason)


async def read(_: RunContext[Any], events: AsyncIterable[Any]) -> None:
    """Let the events of a stream come; with a reader of them, the framework asks for streams."""
    async for _event in events:
        continue
