"""The loop in LlamaIndex: a FunctionAgent with tools made from plain functions."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai.utils import to_openai_message_dicts
from llama_index.llms.openai_like import OpenAILike
from openai import AsyncOpenAI
from workflows.errors import WorkflowRuntimeError

from protocol import Message, ending, opening
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
        known = {"is_chat_model": True, "is_function_calling_model": True}
        llm = OpenAILike(model=model, api_key=api_key, async_openai_client=client, **known)
        offered = [FunctionTool.from_defaults(one.function, one.name, one.description) for one in tools]
        agent = FunctionAgent(tools=offered, llm=llm, system_prompt=system, streaming=stream)
        memory = ChatMemoryBuffer.from_defaults(llm=llm)
        running = agent.run(prompt, memory=memory, max_iterations=max_rounds)
        stop, unsaved = "", []
        try:
            await running
        except WorkflowRuntimeError as error:
            if "Max iterations" not in str(error):
                raise
            stop, unsaved = "round-limit", await running.ctx.store.get(agent.scratchpad_key)
        told: Any = to_openai_message_dicts([*await memory.aget_all(), *unsaved])
    return [*opening(prompt, system)[:-1], *told], stop or ending(told[-1], None)
