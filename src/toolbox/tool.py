"""What a tool is: a name, a description, a JSON Schema for its arguments, the function that does the work."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolbox.schema_check import compile_check


@dataclass(frozen=True)
class Tool:
    """One tool that a host offers to a model.

    `parameters` is a JSON Schema of type object; `function` is called with the checked arguments as keywords.
    What it returns must be writable as JSON; what it raises becomes an observation in `execute`. `effects` says that
    it changes something outside of the conversation, so that a host may ask a person first, and must not run it twice.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    effects: bool = False

    def schema(self) -> dict[str, Any]:
        """The entry for the `tools` list of a Chat Completions request."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    @cached_property
    def check(self) -> Callable[[Any], Any]:
        """Raises ValueError for arguments that do not fit `parameters`; compiled once, at the first call."""
        return compile_check(self.parameters)
