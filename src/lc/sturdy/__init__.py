"""The lane in LangGraph to build on: each of the framework's gaps closed by one small part."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lc.sturdy.graph import arun, build, run

__all__ = ["arun", "build", "run"]


def __getattr__(name: str) -> Any:
    """Fetch a name when it is first asked for: `python -m lc.sturdy --help` need not wait for LangChain's import."""
    if name in __all__:
        from lc.sturdy import graph

        return getattr(graph, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
