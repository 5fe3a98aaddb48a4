"""What else people write such a loop in, each as a lane is called and with its defaults: for the figures only."""

import importlib
from collections.abc import Sequence
from typing import Any

from toolbox import Tool, execute


def openai_sdk(
    prompt: str, tools: Sequence[Tool], *, base_url: str, model: str, api_key: str, max_rounds: int
) -> object:
    """The loop of the openai SDK's own examples: each reply goes back as `model_dump` gives it."""
    import openai

    by_name = {tool.name: tool for tool in tools}
    schemas: Any = [tool.schema() for tool in tools]
    messages: list[Any] = [{"role": "user", "content": prompt}]
    with openai.OpenAI(base_url=base_url, api_key=api_key) as client:
        for _ in range(max_rounds):
            reply = client.chat.completions.create(model=model, messages=messages, tools=schemas)
            message: Any = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                text = execute(by_name, call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return messages[-1]["content"]


def openai_agents(
    prompt: str, tools: Sequence[Tool], *, base_url: str, model: str, api_key: str, max_rounds: int
) -> object:
    """An agent of the openai-agents package, on Chat Completions, with tracing off: it would call OpenAI."""
    import openai

    # Not a dependency of this project: an import statement would need its types.
    agents: Any = importlib.import_module("agents")
    client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key)
    agent = agents.Agent(
        name="echo",
        model=agents.OpenAIChatCompletionsModel(model=model, openai_client=client),
        tools=[agents.function_tool(tool.function) for tool in tools],
    )
    config = agents.RunConfig(tracing_disabled=True)
    return agents.Runner.run_sync(agent, prompt, max_turns=max_rounds, run_config=config).final_output


def pydantic_ai(
    prompt: str, tools: Sequence[Tool], *, base_url: str, model: str, api_key: str, max_rounds: int
) -> object:
    """An agent of pydantic-ai, on Chat Completions."""
    package: Any = importlib.import_module("pydantic_ai")
    chat: Any = importlib.import_module("pydantic_ai.models.openai")
    providers: Any = importlib.import_module("pydantic_ai.providers.openai")
    provider = providers.OpenAIProvider(base_url=base_url, api_key=api_key)
    agent = package.Agent(
        chat.OpenAIChatModel(model, provider=provider), tools=[package.Tool(tool.function) for tool in tools]
    )
    return agent.run_sync(prompt, usage_limits=package.UsageLimits(request_limit=max_rounds)).output
