"""A compiled graph whose own limits count, however it is called."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from lc.sturdy.limits import Limits
from lc.sturdy.state import State

STEPS_BESIDE_ROUNDS = 2
"""The steps of a run that belong to no round: the start, and one to spare."""


class Agent(CompiledStateGraph[State]):
    """A compiled graph that always has room for the rounds of its limits.

    LangGraph allows about 10,000 steps when a graph is invoked or streamed by itself, and 25 when it is called by
    batch, astream_events or a chain, or from inside another runnable; `with_config` loses against that. Here the steps
    are as many as the rounds need, so that the limit that ends a run is the one in its state.

    What a step did is saved before the next begins: LangGraph's default saves while the next step runs already, and a
    process that is killed then would have run a tool whose call nobody remembers.
    """

    steps: int = 0

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], limits: Limits) -> "Agent":
        """The compiled graph with room for these limits."""
        agent = cls(**{key: value for key, value in vars(graph).items() if key != "__orig_class__"})
        agent.steps = 3 * limits.rounds + STEPS_BESIDE_ROUNDS
        return agent

    def copy(self, update: dict[str, Any] | None = None) -> "Agent":
        """A copy with other settings, as `with_config` makes it."""
        attributes = {key: value for key, value in vars(self).items() if key not in ("__orig_class__", "steps")}
        copied = type(self)(**{**attributes, **(update or {})})
        copied.steps = self.steps
        return copied

    def stream(self, input: Any, config: RunnableConfig | None = None, **how: Any) -> Iterator[Any]:  # noqa: A002
        """As LangGraph's, with room for every round."""
        return super().stream(input, self._roomy(config), **self._saving(how))

    def astream(self, input: Any, config: RunnableConfig | None = None, **how: Any) -> AsyncIterator[Any]:  # noqa: A002
        """As LangGraph's, with room for every round."""
        return super().astream(input, self._roomy(config), **self._saving(how))

    def _saving(self, how: dict[str, Any]) -> dict[str, Any]:
        """How the run is called, with the steps saved first where there is something to save them in."""
        unsaid = how.get("durability") is None and isinstance(self.checkpointer, BaseCheckpointSaver)
        return {**how, "durability": "sync"} if unsaid else how

    def _roomy(self, config: RunnableConfig | None) -> RunnableConfig:
        given: RunnableConfig = config or {}
        return {**given, "recursion_limit": max(self.steps, given.get("recursion_limit", 0))}
