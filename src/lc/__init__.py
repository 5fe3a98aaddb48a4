"""The lane in LangGraph, with the framework's defaults."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lc.graph import run

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    """Fetch `run` when it is first asked for: `python -m lc --help` need not wait for LangChain's import."""
    if name == "run":
        from lc.graph import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
