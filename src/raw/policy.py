"""What the hand-written loop does with one tool call: run it, or say to the model why not."""

import logging
from collections.abc import Mapping
from typing import Any

from toolbox import execute
from toolbox.refusal import cut_off, not_a_function, wanted
from toolbox.tool import Tool

log = logging.getLogger("raw")


def observe(tools: Mapping[str, Tool], call: Any, finish_reason: Any, whole: bool) -> str:
    """The observation that answers a call as the model wrote it, as JSON text.

    A turn that ended by `length`, or whose stream just ended, runs nothing.
    """
    function = wanted(call)
    if function is None:
        return not_a_function()
    name, arguments = function
    log.info("[tool] %s(%s)", name, arguments)
    observation = cut_off(finish_reason, whole) or execute(tools, name, arguments)
    log.info("[result] %s", observation)
    return observation
