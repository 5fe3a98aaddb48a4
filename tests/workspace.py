"""How the tests call the file tools, and what they read of a refusal."""

from collections.abc import Callable
from typing import Any

import pytest

from toolbox import Tool

Tools = dict[str, Callable[..., Any]]


def functions(tools: list[Tool]) -> Tools:
    """The functions by their tools' names."""
    return {tool.name: tool.function for tool in tools}


def refusal(function: Callable[..., Any], *arguments: str) -> tuple[type[Exception], str]:
    """The class and text of the exception."""
    with pytest.raises((OSError, ValueError)) as caught:
        function(*arguments)
    return type(caught.value), str(caught.value)
