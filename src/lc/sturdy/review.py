"""How a person at the terminal decides about tool calls, one after the other."""

from collections.abc import Callable, Mapping
from typing import Any

from lc.sturdy.approval import decided
from toolbox.console import tell

QUESTION = "run it? y(es), n(o), e(dit), or why not: "
NOBODY = "nobody was there to approve this call; it was not run"

Read = Callable[[str, str], str]
"""Gives the line that a person types behind a prompt, with a text to begin with. Raises EOFError."""


def review(request: Mapping[str, Any], read: Read) -> list[Any]:
    """Ask about each call of a request that `lc.sturdy.approval` made; returns what resumes the graph.

    An answer that is neither yes, no nor edit is the reason for a rejection. The end of the input rejects.
    """
    if "problem" in request:
        tell(f"[problem] {request['problem']}")
    return [_decision(call, read) for call in request["action_requests"]]


def _decision(call: Mapping[str, Any], read: Read) -> Any:
    tell(f"[approval] {call['name']}({call['arguments']})")
    try:
        while True:
            answer = read(QUESTION, "").strip()
            match answer.lower():
                case "":
                    continue
                case "y" | "yes":
                    return "approve"
                case "n" | "no":
                    return "reject"
                case "e" | "edit":
                    edit = _edit(call, read("arguments: ", call["arguments"]))
                    if edit is None:
                        continue
                    return edit
            return {"type": "reject", "message": answer}
    except EOFError:
        return {"type": "reject", "message": NOBODY}


def _edit(call: Mapping[str, Any], arguments: str) -> dict[str, Any] | None:
    """The edit, or None where the graph would not take it."""
    edit = {"type": "edit", "edited_action": {"name": call["name"], "arguments": arguments}}
    try:
        decided([edit], [call])
    except ValueError as error:
        tell(f"[problem] {error}")
        return None
    return edit
