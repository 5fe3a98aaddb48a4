"""How the demo model tells what its calls have brought, whichever lane sends the results."""

import re
from typing import Any

from compare.demo.odd import dicts, parsed, shown, text_of
from compare.demo.rules import SUBJECTS

LINES_QUOTED = 5
ITEMS_NAMED = 10
CHARACTERS_QUOTED = 200  # of one line, or of a result that no rule knows how to sum up

# The wordings of LangGraph's ToolNode; there, only the words tell a failure from a result.
_TOOL_NODE_ERROR = re.compile(
    r"Error(?:: | (?:invoking|executing) tool .*? with error:\n )(.*?)(?:\n Please fix [^\n]*)?", re.DOTALL
)
_EXCEPTION = re.compile(r"""\w+\((["'])(.*)\1\)""", re.DOTALL)


def outcomes(turn: list[dict[str, Any]], words: dict[str, str]) -> list[str]:
    """What became of each call in the messages since the prompt, in words.

    The results come first, in their order, each told as that of the call whose id it carries; then the
    calls without a result.
    """
    calls = [call for message in turn for call in dicts(message.get("tool_calls"))]
    results = [message for message in turn if message.get("role") == "tool"]
    lines = []
    for result in results:
        call = next((call for call in calls if call.get("id") == result.get("tool_call_id")), {})
        lines.append(_outcome(*_tool_and_subject(call), text_of(result.get("content")), words))
    answered = [result.get("tool_call_id") for result in results]
    for call in calls:
        if call.get("id") not in answered:
            tool, subject = _tool_and_subject(call)
            lines.append(words["unanswered"].format(id=shown(call.get("id")), tool=tool, subject=subject))
    return lines


def _tool_and_subject(call: dict[str, Any]) -> tuple[str, str]:
    """The name of the tool that was called, and what it was asked about."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    tool, written = text_of(function.get("name")), text_of(function.get("arguments"))
    arguments = parsed(written)
    subject = arguments.get(SUBJECTS.get(tool)) if isinstance(arguments, dict) else None
    return tool or "?", text_of(subject) or _cut(written)


def _outcome(tool: str, subject: str, content: str, words: dict[str, str]) -> str:
    """One observation in words."""
    succeeded, result = _observation(content)
    if tool not in SUBJECTS:
        return f"{tool}: {_cut(shown(result))}"
    if not succeeded:
        return words["failed"].format(subject=subject, error=result)
    if tool == "calculator":
        return words[tool].format(subject=subject, result=_cut(shown(result)))
    if tool == "read_text_file":
        lines = shown(result).removesuffix("\n").split("\n") if result else []
        return _summed_up(tool, subject, len(lines), _quoted(lines[:LINES_QUOTED]), "", words)
    return _items_in_words(tool, subject, result, words)


def _observation(content: str) -> tuple[bool, Any]:
    """Whether the tool succeeded, and its result or error: from our envelope, else from the bare text."""
    match parsed(content):
        case {"ok": True, "result": result, **rest} if not rest:
            return True, result
        case {"ok": False, "error": error}:
            return False, shown(error)
    failure = _TOOL_NODE_ERROR.fullmatch(content)
    if not failure:
        return True, content
    exception = _EXCEPTION.fullmatch(failure[1])
    return False, exception[2] if exception else failure[1]


def _items_in_words(tool: str, subject: str, result: Any, words: dict[str, str]) -> str:
    """A listing or the matches of a search: how many, the first ones, and what the tool left out."""
    value = parsed(result) if isinstance(result, str) else result
    whole = value if isinstance(value, dict) else {}
    lines = value if isinstance(value, list) else shown(result).splitlines()
    items = next((part for part in whole.values() if isinstance(part, list)), lines)
    cut, skipped = whole.get("cut"), whole.get("skipped")
    notes = [words["cut"].format(cut=shown(cut))] if cut else []
    if isinstance(skipped, dict) and skipped:
        pairs = ", ".join(f"{reason} {shown(number)}" for reason, number in skipped.items())
        notes.append(words["skipped"].format(skipped=pairs))
    named = [_item(item) for item in items[:ITEMS_NAMED]]
    if len(items) > ITEMS_NAMED:
        named.append(words["more"].format(count=len(items) - ITEMS_NAMED))
    text = _quoted(named) if tool in ("search_text", "search_docs") else ", ".join(map(_cut, named))
    return _summed_up(tool, subject, len(items), text, " ".join(notes), words)


def _summed_up(tool: str, subject: str, number: int, items: str, notes: str, words: dict[str, str]) -> str:
    wording = words[tool if number else f"{tool} empty"]
    return wording.format(subject=subject, count=number, items=items, notes=notes).rstrip()


def _item(item: Any) -> str:
    match item:
        case {"path": path, "line": line, "text": text}:
            return f"{shown(path)}:{shown(line)}: {shown(text)}"
        case {"title": title, "text": text}:
            return f"{shown(title)}: {shown(text)}"
        case {"name": name, **rest}:
            return shown(name) + ("/" if rest.get("kind") == "directory" else "")
    return shown(item)


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS_QUOTED else text[:CHARACTERS_QUOTED] + "…"


def _quoted(lines: list[str]) -> str:
    return "\n".join(f"> {_cut(line)}" for line in lines)
