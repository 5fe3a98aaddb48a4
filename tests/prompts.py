"""How the tests ask the demo model, and what they read of its reply."""

import json
from typing import Any

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {}}}
    for name in ("calculator", "read_text_file", "list_directory", "search_text")
]


def asked(prompt: Any, *turn: dict[str, Any], tools: Any = TOOLS) -> dict[str, Any]:
    """A request with one prompt, and the messages since."""
    return {"model": "demo", "messages": [{"role": "user", "content": prompt}, *turn], "tools": tools}


def calls_of(reply: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """The name and the arguments of each call in a reply."""
    functions = [call["function"] for call in reply["message"].get("tool_calls", [])]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]
