"""The demo model's turn: the calls that a prompt asks for, and, when they have come back, the answer."""

from itertools import count
from typing import Any

from compare.demo.observations import outcomes
from compare.demo.odd import dicts, sendable, text_of
from compare.demo.rules import SUBJECTS, Wish, wishes
from compare.demo.wording import words_for
from compare.replies import compact


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The demo model's turn: `{"message": ..., "finish_reason": "tool_calls" or "stop"}`.

    `request` is the parsed body of a Chat Completions request. The rules of `wishes` are tried on its last
    user message, and the offered tools that they name are called, all in one turn; when that has happened,
    the answer is made from the tool messages. Everything follows from the request alone: no state, no time,
    no chance. A request of any shape gets a message that can be sent as UTF-8; nothing is raised.
    """
    body: dict[str, Any] = request if isinstance(request, dict) else {}
    messages = dicts(body.get("messages"))
    last = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=None)
    prompt = "" if last is None else sendable(text_of(messages[last].get("content")))
    words = words_for(prompt)
    if last is None:
        return _says(words["no prompt"])
    offered, wanted = _offered(body), wishes(prompt)
    lacking = [
        words["not offered"].format(tool=wish.tool, subject=wish.arguments[SUBJECTS[wish.tool]])
        for wish in wanted
        if wish.tool not in offered
    ]
    calls = [wish for wish in wanted if wish.tool in offered]
    told = outcomes(messages[last + 1 :], words)
    if calls and not told:
        return _asks(calls, messages)
    return _says("\n".join(told + lacking) or words["no rule"])


def _says(text: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": sendable(text)}, "finish_reason": "stop"}


def _asks(wanted: list[Wish], messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The turn that makes the calls, under ids that the conversation has not seen."""
    before = [call.get("id") for message in messages for call in dicts(message.get("tool_calls"))]
    used = {name for name in before if isinstance(name, str)}
    fresh = (name for name in map("call_{}".format, count(1)) if name not in used)
    functions = [{"name": wish.tool, "arguments": compact(wish.arguments)} for wish in wanted]
    calls = [{"id": next(fresh), "type": "function", "function": function} for function in functions]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"message": message, "finish_reason": "tool_calls"}


def _offered(body: dict[str, Any]) -> set[str]:
    """The names of the tools that may be called in this turn."""
    if body.get("tool_choice") == "none":
        return set()
    functions = dicts([tool.get("function") for tool in dicts(body.get("tools"))])
    return {function["name"] for function in functions if isinstance(function.get("name"), str)}
