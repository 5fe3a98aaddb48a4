"""What a tool message says, against what the tool did."""

import json
from typing import Any

from compare.runner import Execution
from compare.values import equal


def envelope(content: Any) -> dict[str, Any] | None:
    """The observation inside a tool message of the `{"ok": ..., ...}` form; None for any other content."""
    if not isinstance(content, str) or not content.startswith("{"):
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("ok"), bool) else None


def says(content: Any, result: Any) -> bool:
    """Whether a tool message carries this result: bare, as JSON text, or inside the envelope."""
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "".join(str(part.get("text", "")) for part in content)
    observation = envelope(content)
    if observation is not None:
        return observation["ok"] is True and equal(observation.get("result"), plain(result))
    if content == result or content == str(result):
        return True
    try:
        return bool(isinstance(content, str) and equal(json.loads(content), plain(result)))
    except (ValueError, RecursionError):
        return False


def plain(result: Any) -> Any:
    """The result as JSON carries it: tuples as lists, keys as text."""
    try:
        return json.loads(json.dumps(result))
    except (TypeError, ValueError):
        return result


def succeeded(content: Any, execution: Execution | None) -> bool:
    """Whether a tool message tells the model that the call went well."""
    observation = envelope(content)
    if observation is not None:
        return bool(observation["ok"])
    return execution is not None and execution.error is None
