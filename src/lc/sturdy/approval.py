"""How a person decides about tool calls: what is asked, and what the answer means.

A call is a dict: `name`, `arguments` (the JSON text as the model wrote it), `id`, and its `position` in the message.
Question and answer have the form of LangChain's HumanInTheLoopMiddleware, so that its interfaces can show them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from langgraph.types import interrupt

from lc.sturdy.wire import BEYOND_MSGPACK, storable
from protocol import read_json
from toolbox.execute import failure

DECISIONS = ("approve", "edit", "reject")
REFUSED = "a person refused this call; it was not run"

Call = Mapping[str, Any]


class Decision(TypedDict):
    """What was decided about the call at a position of the message: plain data, so that any checkpoint holds it."""

    position: int
    type: Literal["approve", "edit", "reject"]
    arguments: NotRequired[str]
    """The JSON text to run an edited call with."""
    message: NotRequired[str]
    """Why a call was rejected."""


def ask(calls: Sequence[Call]) -> list[Decision]:
    """Interrupt the graph until a person has decided about the calls; returns one decision for each, in their order.

    An answer that cannot be used is asked for again, with what is wrong with it under `problem`. For a node that does
    nothing before it: a node that is resumed begins anew.
    """
    question = request(calls)
    while True:
        answer = interrupt(question)
        try:
            return decided(answer, calls)
        except ValueError as error:
            question = {**request(calls), "problem": str(error)}


def request(calls: Sequence[Call]) -> dict[str, Any]:
    """What is asked about the calls, as any checkpoint can store it.

    Each has its `args` as an object to look at, in which integers beyond 64 bits are their digits, and which is empty
    where the arguments are no JSON object; and its `arguments`, the text that counts. Half a surrogate pair, which
    no checkpoint takes, is spelled as an escape.
    """
    return {
        "action_requests": [
            {
                "name": storable(call["name"]),
                "args": _looked_at(call["arguments"]),
                "description": f"{storable(call['name'])} waits for approval: {storable(call['arguments'])}",
                "id": _shown(call["id"]),
                "position": call["position"],
                "arguments": storable(call["arguments"]),
            }
            for call in calls
        ],
        "review_configs": [
            {"action_name": storable(call["name"]), "allowed_decisions": list(DECISIONS)} for call in calls
        ],
    }


def decided(resume: Any, calls: Sequence[Call]) -> list[Decision]:
    """What an answer means for each of the calls, in their order.

    It is `{"decisions": [...]}`, or just the list, with one decision per call; or one decision for all calls. A
    decision is `{"type": "approve"}`, `{"type": "reject", "message": why}` or `{"type": "edit", "edited_action":
    {"name": ..., "args": {...}}}`, or the word `approve` or `reject`. An edited action may have `arguments`, a JSON
    text, instead of `args`: for integers beyond 64 bits, which no checkpoint takes in an object.

    Raises ValueError, in one line, for anything else.
    """
    given = resume["decisions"] if isinstance(resume, dict) and "decisions" in resume else resume
    if not isinstance(given, list):
        given = [given] * len(calls)
        if len(calls) > 1 and _type(given[0]) == "edit":
            raise ValueError(f"an edit is for one call, but {len(calls)} calls wait: give a list of decisions")
    if len(given) != len(calls):
        raise ValueError(f"there must be {len(calls)} decisions, one for each call in order, not {len(given)}")
    try:
        return [_decision(one, call, place) for place, (one, call) in enumerate(zip(given, calls, strict=True))]
    except RecursionError:
        raise ValueError("the decisions are nested too deeply") from None


def rejected(decision: Decision) -> str:
    """The observation of a call that was rejected."""
    return failure("rejected", decision["message"])


def edited(observation: str, decision: Decision) -> str:
    """The observation of a call that ran with edited arguments: it stays, text for text, and these are added.

    An observation that is no JSON object, as tools of LangChain's own give, becomes the `result` of one.
    """
    inside = observation.rstrip().removesuffix("}") if _object(observation) else '{"result": ' + _text(observation)
    return f'{inside}, "edited_arguments": {decision["arguments"]}}}'


def _type(given: Any) -> Any:
    return given.get("type") if isinstance(given, dict) else given


def _decision(given: Any, call: Call, place: int) -> Decision:
    position, where = call["position"], f"decisions[{place}]"
    match given:
        case "approve" | {"type": "approve"}:
            return {"position": position, "type": "approve"}
        case "reject":
            return {"position": position, "type": "reject", "message": REFUSED}
        case {"type": "reject", **rest}:
            message = rest.get("message")
            if not isinstance(message, str | None):
                raise ValueError(f"{where}: the message of a rejection must be text, not {_brief(message)}")
            return {"position": position, "type": "reject", "message": storable(message or REFUSED)}
        case {"type": "edit", "edited_action": dict(action)}:
            return _edit(action, call, where)
        case {"type": "edit"}:
            raise ValueError(f"{where}: an edit needs an edited_action, an object with name and args")
    raise ValueError(f"{where}: a decision is of type {', '.join(DECISIONS)}, not {_brief(_type(given))}")


def _edit(action: dict[str, Any], call: Call, where: str) -> Decision:
    name, original = storable(call["name"]), _object(call["arguments"])
    if action.get("name", name) != name:
        raise ValueError(f"{where}: an edit may not change the tool, which is {name}, to {_brief(action['name'])}")
    if "arguments" in action:
        text = action["arguments"]
        args = _object(text)
        if args is None:
            raise ValueError(f"{where}: the edited arguments must be the text of a JSON object, not {_brief(text)}")
        text = storable(text) or "{}"
    else:
        args = action.get("args")
        if not isinstance(args, dict):
            raise ValueError(f"{where}: the edited args must be an object, not {_brief(args)}")
        args = _untouched(args, original)
        try:
            text = _text(args)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: the edited args cannot be written as JSON: {error}") from None
    # An edit that changes nothing is an approval: else the model would be told of a change that was not made.
    if json.dumps(args, sort_keys=True) == json.dumps(original, sort_keys=True):
        return {"position": call["position"], "type": "approve"}
    return {"position": call["position"], "type": "edit", "arguments": text}


def _untouched(given: Any, original: Any) -> Any:
    """What was given, with what still is as it was shown put back to what the model wrote: digits to their integer.

    In an array that became longer or shorter, nothing is put back.
    """
    if isinstance(given, dict) and isinstance(original, dict):
        return {key: _untouched(one, original[key]) if key in original else one for key, one in given.items()}
    if isinstance(given, list) and isinstance(original, list) and len(given) == len(original):
        return [_untouched(one, before) for one, before in zip(given, original, strict=True)]
    shown = _shown(original)
    return original if type(given) is type(shown) and given == shown else given


def _text(value: Any) -> str:
    text: str = storable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    return text


def _object(text: Any) -> dict[str, Any] | None:
    """The object that a JSON text is; None where it is none. Empty text counts as one: some servers send it for {}."""
    if text == "":
        return {}
    try:
        value = read_json(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _looked_at(text: str) -> Any:
    try:
        return _shown(_object(text) or {})
    except RecursionError:
        return {}


def _shown(value: Any) -> Any:
    """The value as any checkpoint can store it."""
    match value:
        case dict():
            return {storable(key): _shown(inner) for key, inner in value.items()}
        case list():
            return [_shown(inner) for inner in value]
        case int():
            return value if -BEYOND_MSGPACK <= value < BEYOND_MSGPACK else str(value)
    return storable(value)


def _brief(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:100] + "…"
