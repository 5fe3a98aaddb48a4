"""The loop in smolagents: a ToolCallingAgent, which ends by a tool of its own, `final_answer`."""

from collections.abc import Sequence
from typing import Any

import smolagents
from rich.console import Console
from smolagents.models import get_clean_message_list, tool_role_conversions

from protocol import Message
from toolbox import Tool


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
    """Answer the prompt as every lane does; what the framework raises escapes."""
    client = {"timeout": timeout}
    agent = smolagents.ToolCallingAgent(
        [as_smolagents(tool) for tool in tools],
        smolagents.OpenAIServerModel(model, base_url, api_key, client_kwargs=client),
        instructions=system,
        max_steps=max_rounds,
        stream_outputs=stream,
        logger=smolagents.AgentLogger(smolagents.LogLevel.OFF, Console(quiet=True)),
        return_full_result=True,
    )
    result = agent.run(prompt)
    # As the framework itself writes them for the model.
    messages = get_clean_message_list(agent.write_memory_to_messages(), tool_role_conversions)
    return messages, "answer" if result.state == "success" else "round-limit"


def as_smolagents(tool: Tool) -> Any:
    """The tool with its parameters as the framework has them: each with a type and a description, no more."""
    inputs = {
        name: {"type": schema["type"], "description": schema.get("description", name)}
        | ({} if name in tool.parameters.get("required", ()) else {"nullable": True})
        for name, schema in tool.parameters["properties"].items()
    }
    members = {
        "name": tool.name,
        "description": tool.description,
        "inputs": inputs,
        "output_type": "any",
        "forward": lambda self, **arguments: tool.function(**arguments),
        "skip_forward_signature_validation": True,
    }
    return type("HostTool", (smolagents.Tool,), members)()
