"""What the hand-written loop does with one tool call: run it, or say to the model why not."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from toolbox import execute
from toolbox.tool import Tool

log = logging.getLogger("raw")

CUT_OFF = (
    "the turn was cut off (finish_reason length), so this call was not run: it may lack an end. Send it again, shorter"
)
NOT_WHOLE = (
    "the turn was cut off (the stream just ended), so this call was not run: it may lack an end. Send it again, shorter"
)
NOT_A_FUNCTION = "only calls of type function, with a name and arguments, can be run"


def observe(tools: Mapping[str, Tool], call: Any, finish_reason: Any, whole: bool) -> str:
    """The observation that answers a call as the model wrote it, as JSON text.

    A turn that ended by `length`, or whose stream just ended, runs nothing: even arguments that parse may be half of
    what was meant.
    """
    match call:
        case {"type": str(kind)} if kind != "function":
            return refusal("not_a_function", NOT_A_FUNCTION)
        case {"function": {**function}}:
            name: Any = function.get("name")
            arguments: Any = arguments_text(function.get("arguments"))
        case _:
            return refusal("not_a_function", NOT_A_FUNCTION)
    log.info("[tool] %s(%s)", name, arguments)
    if whole and finish_reason != "length":
        observation = execute(tools, name, arguments)
    else:
        observation = refusal("cut_off", CUT_OFF if whole else NOT_WHOLE)
    log.info("[result] %s", observation)
    return observation


def arguments_text(arguments: Any) -> Any:
    """Arguments as the text that the protocol asks for, where a server sends an object, or nothing, in its place."""
    match arguments:
        case dict():
            return json.dumps(arguments, ensure_ascii=False)
        case None:
            return ""
    return arguments


def refusal(error_type: str, error: str) -> str:
    """The observation for a call that was not run."""
    return json.dumps({"ok": False, "error_type": error_type, "error": error})
