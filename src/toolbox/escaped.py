"""Which exceptions the tools raised, and whether one that came out of a loop is one of them."""

import functools
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolbox.tool import Tool


def noting(tool: Tool, raised: list[BaseException]) -> Tool:
    """The tool, entering what it raises into `raised`. Its signature stays: loops may build a schema from it.

    Arguments that do not fit the signature raise TypeError as before, and are the loop's fault: they are not entered.
    """
    signature = inspect.signature(tool.function)

    @functools.wraps(tool.function)
    def function(*values: Any, **named: Any) -> Any:
        signature.bind(*values, **named)
        try:
            return tool.function(*values, **named)
        except BaseException as error:
            raised.append(error)
            raise

    return replace(tool, function=function)


def came_of(error: BaseException | None, causes: Sequence[BaseException]) -> bool:
    """Whether the error is one of the causes, or was raised from or while handling one of them."""
    seen: list[BaseException] = []
    while error is not None and not any(error is one for one in seen):  # a chain can be tied into a ring
        if any(error is cause for cause in causes):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False
