"""Which tool calls are not run, whatever the tool: cut-off ones, and those that are no function calls."""

import json
from typing import Any

from toolbox.execute import failure

CUT_OFF = (
    "the turn was cut off (finish_reason length), so this call was not run: it may lack an end. Send it again, shorter"
)
NOT_WHOLE = (
    "the turn was cut off (the stream just ended), so this call was not run: it may lack an end. Send it again, shorter"
)
NOT_A_FUNCTION = "only calls of type function, with a name and arguments, can be run"


def wanted(call: Any) -> tuple[Any, Any] | None:
    """The name and the arguments of a call as the model wrote it; None for what is no function call."""
    match call:
        case {"type": str(kind)} if kind != "function":
            return None
        case {"function": {**function}}:
            return function.get("name"), arguments_text(function.get("arguments"))
    return None


def cut_off(finish_reason: Any, whole: bool) -> str | None:
    """The observation for every call of a turn that ended by `length`, or whose stream just ended.

    Even arguments that parse may be half of what was meant. None for a turn that came to its end.
    """
    if whole and finish_reason != "length":
        return None
    return failure("cut_off", CUT_OFF if whole else NOT_WHOLE)


def not_a_function() -> str:
    """The observation for what is no function call."""
    return failure("not_a_function", NOT_A_FUNCTION)


def arguments_text(arguments: Any) -> Any:
    """Arguments as the text that the protocol asks for, where a server sends an object, or nothing, in its place."""
    match arguments:
        case dict():
            return json.dumps(arguments, ensure_ascii=False)
        case None:
            return ""
    return arguments
