"""What the graph keeps between its steps, and what a checkpointer stores of it."""

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel

from lc.sturdy.approval import Decision
from lc.sturdy.history import append
from lc.sturdy.limits import Used

SNAPSHOT_EVERY = 1000
"""Updates between two whole copies of the messages in the checkpoints. Between them only what is new is stored; loading
reads at most so many updates one by one."""


class State(TypedDict, total=False):
    """`messages` is the conversation; the rest is about the current run.

    `stop` is a word of protocol.STOP_REASONS once the run has ended, and empty before. `asked` are the calls that a
    person is asked about, as lc.sturdy.approval has them, and `decisions` what was decided about them.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(append, snapshot_frequency=SNAPSHOT_EVERY)]
    used: Used
    stop: str
    asked: list[dict[str, Any]]
    decisions: list[Decision]
