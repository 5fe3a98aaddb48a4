"""The ids of calls in two conversations: what each id of the one is called in the other."""

from collections.abc import Iterator, Sequence
from typing import Any


def names_of_ids(one: Sequence[Any], other: Sequence[Any]) -> dict[str, str]:
    """What each id of the second list of messages is called in the first: both by the order in which they come up."""
    left, right = (list(dict.fromkeys(each for message in side for each in ids_in(message))) for side in (one, other))
    return dict(zip(right, left, strict=False))


def ids_in(message: Any) -> Iterator[str]:
    """The ids of calls that a message holds, in order."""
    if not isinstance(message, dict):
        return
    calls = message.get("tool_calls")
    for call in [*(calls if isinstance(calls, list) else []), {"id": message.get("tool_call_id")}]:
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield call["id"]


def with_ids(message: Any, names: dict[str, str]) -> Any:
    """The message with its ids renamed."""
    if not isinstance(message, dict):
        return message
    renamed = dict(message)
    if isinstance(message.get("tool_call_id"), str):
        renamed["tool_call_id"] = names.get(message["tool_call_id"], message["tool_call_id"])
    if isinstance(message.get("tool_calls"), list):
        renamed["tool_calls"] = [
            {**call, "id": names.get(call["id"], call["id"])}
            if isinstance(call, dict) and isinstance(call.get("id"), str)
            else call
            for call in message["tool_calls"]
        ]
    return renamed
