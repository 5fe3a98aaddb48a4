"""What a message of the conversation shows in the terminal: its text, its calls with their markers, its other keys."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compare.terminal.layout import shown

CIRCLED = 20  # Unicode has narrow circled numbers up to here
UNKNOWN = "?"
EMPTY = "(empty)"


@dataclass(frozen=True)
class Item:
    """One entry of a message. `marker` names the call that it belongs to; `key` names the entry itself."""

    marker: str
    text: str
    key: str = ""


class Markers:
    """A short sign for each call of a comparison, the same in all lanes: by its round and its place in the round."""

    def __init__(self, lanes: Sequence[dict[str, Any]]) -> None:
        self.calls: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for lane in lanes:
            for call in lane["calls"]:
                self.calls.setdefault((lane["name"], call["round"]), []).append(call)
        most: dict[int, int] = {}
        for (_, number), calls in self.calls.items():
            most[number] = max(most.get(number, 0), len(calls))
        self.places = [(number, place) for number in sorted(most) for place in range(most[number])]
        self.signs = {place: sign(count) for count, place in enumerate(self.places, 1)}

    def said(self, number: int) -> list[str]:
        """The signs of the calls that the model made in a round, in order."""
        return [self.signs[place] for place in self.places if place[0] == number]

    def of(self, lane: str, number: int, path: str | None) -> str:
        """The sign of the call that stands at a path of a lane's conversation."""
        paths = [call["path"] for call in self.calls.get((lane, number), [])]
        return self.signs[number, paths.index(path)] if path in paths else UNKNOWN

    def sent(self, lane: str, number: int, message: Any) -> list[str]:
        """The signs of the calls in the assistant message that a lane sent back, found by their ids."""
        free = dict(zip(self.said(number), self.calls.get((lane, number), []), strict=False))
        entries = message.get("tool_calls") if isinstance(message, dict) else None
        found = []
        for entry in entries if isinstance(entries, list) else []:
            own = entry.get("id") if isinstance(entry, dict) else None
            found.append(next((mark for mark, call in free.items() if call["sent_id"] == own), UNKNOWN))
            free.pop(found[-1], None)
        return found

    def answered(self, lane: str, number: int, call_id: Any) -> str:
        """The sign of the call of a round that a tool message with this id answers."""
        signs = zip(self.said(number), self.calls.get((lane, number), []), strict=False)
        known = {call["sent_id"] or call["id"]: mark for mark, call in signs if call["sent_id"] or call["id"]}
        return known.get(call_id, UNKNOWN) if isinstance(call_id, str) else UNKNOWN


def sign(number: int) -> str:
    """The marker with this number: ① to ⑳, then (21)."""
    return chr(ord("①") + number - 1) if number <= CIRCLED else f"({number})"


def message_items(message: Any, signs: Sequence[str], role: str) -> list[Item]:
    """All of a message but its role, where that is the expected one; null and empty values are left out."""
    if not isinstance(message, dict):
        return [Item("", json.dumps(message, ensure_ascii=False), "message")]
    return list(_entries(message, signs, role)) or [Item("", EMPTY)]


def _entries(message: dict[str, Any], signs: Sequence[str], role: str) -> Iterator[Item]:
    if message.get("role", role) != role:
        yield Item("", f"role: {shown(message['role'])}", "role")
    content, calls = message.get("content"), message.get("tool_calls")
    if content not in (None, ""):
        yield Item("", shown(content), "content")
    if isinstance(calls, list):
        for number, call in enumerate(calls):
            yield from call_items(call, signs[number] if number < len(signs) else UNKNOWN)
    for key, value in message.items():
        if key in ("role", "content") or value in (None, "", []) or (key == "tool_calls" and calls):
            continue
        yield Item("", f"{key}: {shown(value)}", key)


def call_items(call: Any, marker: str) -> Iterator[Item]:
    """A call in one entry, and each key that a plain call does not have in one of its own."""
    if not isinstance(call, dict):
        yield Item(marker, json.dumps(call, ensure_ascii=False), marker)
        return
    function: Any = call.get("function")
    if not isinstance(function, dict):
        function = {}
    yield Item(marker, signature(call.get("id"), function.get("name"), function.get("arguments")), marker)
    others = {key: value for key, value in call.items() if key not in ("id", "type", "function")}
    others |= {key: value for key, value in function.items() if key not in ("name", "arguments")}
    if call.get("type", "function") != "function":
        others = {"type": call["type"], **others}
    for key, value in others.items():
        yield Item(marker, f"{key}: {shown(value)}", f"{key} of {marker}")


def signature(call_id: Any, name: Any, arguments: Any) -> str:
    """A call as `id name(arguments)`: arguments in their own bytes, and marked as JSON where they are no text."""
    own = call_id if isinstance(call_id, str) and call_id else "(no id)" if call_id is None else shown(call_id)
    tool = name if isinstance(name, str) and name else "(no name)"
    if arguments is None:
        return f"{own} {tool}(–)"
    return f"{own} {tool}({arguments if isinstance(arguments, str) else 'JSON ' + shown(arguments)})"


def result_items(message: Any, marker: str, executed: str, role: str) -> list[Item]:
    """A tool message as an arrow from its content to the marker of its call, and each unusual key."""
    if not isinstance(message, dict):
        return [Item(marker, f"{executed}← {json.dumps(message, ensure_ascii=False)}", "message")]
    whose = f"for {shown(message.get('tool_call_id'))} " if marker == UNKNOWN else ""
    content = message.get("content")
    told = EMPTY if content == "" else shown(content)
    items = [Item(marker, f"{executed}{whose}← {told}", "content")]
    if message.get("role", role) != role:
        items.append(Item(marker, f"role: {shown(message['role'])}", "role"))
    others = [key for key in message if key not in ("role", "content", "tool_call_id")]
    return items + [Item(marker, f"{key}: {shown(message[key])}", key) for key in others]
