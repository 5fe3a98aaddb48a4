"""The loop on the bare `openai` client: what most people write first."""

from collections.abc import Sequence
from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from protocol import Message, ending, opening, tool_message
from toolbox import Tool, execute


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
) -> tuple[list[Message], str]:
    """Answer the prompt as every lane does; what the client raises escapes."""
    messages: list[Any] = opening(prompt, system)
    by_name = {tool.name: tool for tool in tools}
    with openai.OpenAI(base_url=base_url, api_key=api_key, timeout=timeout) as client:
        for _ in range(max_rounds):
            request: Any = {"model": model, "messages": messages, "tools": [tool.schema() for tool in tools]}
            choice = (streamed if stream else whole)(client, request)
            messages.append(choice.message)  # the client's object, which it writes down itself
            if not choice.message.tool_calls:
                return as_dicts(messages), ending(choice.message.to_dict(), choice.finish_reason)
            for call in choice.message.tool_calls:
                observation = execute(by_name, call.function.name, call.function.arguments)
                messages.append(tool_message(call.id, observation))
    return as_dicts(messages), "round-limit"


def as_dicts(messages: Sequence[Any]) -> list[Message]:
    """The messages without the client's classes."""
    return [one if isinstance(one, dict) else one.to_dict() for one in messages]


def whole(client: openai.OpenAI, request: dict[str, Any]) -> Any:
    """The first choice of a reply that comes whole."""
    return client.chat.completions.create(**request).choices[0]


def streamed(client: openai.OpenAI, request: dict[str, Any]) -> Any:
    """The first choice of a reply that comes as a stream, put together by the client's own means."""
    state = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(stream=True, **request):
        state.handle_chunk(chunk)
    return state.get_final_completion().choices[0]
