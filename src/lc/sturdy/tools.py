"""LangGraph's ToolNode, so kept that every call is answered exactly once, in order, whatever happens."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from lc.sturdy.approval import Decision, edited, rejected
from lc.sturdy.bounded import TooLong, awithin, threaded, within
from lc.sturdy.calls import Planned, apart, as_langchain, offered, planned, prepared
from lc.sturdy.effects import Journal, Key, NoJournal
from toolbox.execute import failure, raised
from toolbox.tool import Tool

Outcome = ToolMessage | Command[Any]
OVER = "not run: the time of this run is over"

Execute = Callable[[ToolCallRequest], Any]


@dataclass(frozen=True)
class Batch:
    """The calls of one turn, by position, and what each is run with; what comes of them goes into `outcomes`.

    `thread` is None without a checkpointer; `seconds` is what was left to the run at `began`, None without a deadline.
    """

    message_id: str
    thread: str | None
    seconds: float | None
    decisions: dict[int, Decision]
    plans: dict[int, Planned]
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        """Seconds that are left to the run now: calls that run in order share them."""
        return None if self.seconds is None else self.seconds - (time.monotonic() - self.began)


class Tools:
    """Runs tool calls through a ToolNode of langgraph.prebuilt.

    ToolNode by default lets a tool's exception end the run, with the results of its siblings; here it becomes the
    call's result. `timeout` is in seconds, for one call. `parallel` runs the calls of a turn side by side; a turn with
    a call that has effects always runs in order, one call after the other. With a `journal`, a call with effects is run
    at most once, also when the process dies before its result is saved.
    """

    def __init__(
        self,
        tools: Sequence[Tool | BaseTool],
        *,
        parallel: bool = True,
        timeout: float | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.offered = offered(tools)
        self._parallel, self._timeout, self._journal = parallel, timeout, journal
        self._node = ToolNode(
            [as_langchain(tool) if isinstance(tool, Tool) else apart(tool) for tool in tools],
            handle_tool_errors=False,
            wrap_tool_call=self._guard,
            awrap_tool_call=self._aguard,
        )

    def plan(self, message: AIMessage, decisions: Sequence[Decision] = ()) -> list[Planned]:
        """What is to be done with each call of the message, after what a person decided."""
        by_position = {decision["position"]: decision for decision in decisions}
        return [self._decided(plan, by_position.get(plan.position)) for plan in planned(message, self.offered)]

    def _decided(self, plan: Planned, decision: Decision | None) -> Planned:
        if decision is None or plan.refusal:
            return plan
        if decision["type"] == "reject":
            return replace(plan, refusal=rejected(decision))
        if decision["type"] == "edit":
            edited_plan = replace(plan, text=decision["arguments"])
            return prepared(edited_plan, plan.name, decision["arguments"], self.offered)
        return plan

    def run(self, batch: Batch, config: RunnableConfig) -> list[Outcome]:
        """The outcomes of the batch's calls, in order."""
        for group in self._groups(batch):
            self._node.invoke(group, config)
        return _in_order(batch)

    async def arun(self, batch: Batch, config: RunnableConfig) -> list[Outcome]:
        """As `run`, in an event loop."""
        for group in self._groups(batch):
            await self._node.ainvoke(group, config)
        return _in_order(batch)

    def _groups(self, batch: Batch) -> list[list[dict[str, Any]]]:
        """The calls to run, as ToolNode takes them: those of one list are run side by side."""
        plans = [plan for plan in batch.plans.values() if not plan.refusal]
        calls = [
            {
                "type": "tool_call",
                "id": plan.id,
                "name": plan.name,
                "args": plan.arguments,
                "position": plan.position,
                "batch": batch,
            }
            for plan in plans
        ]
        if self._parallel and not any(plan.effects for plan in plans):
            return [calls] if calls else []
        return [[call] for call in calls]

    def _guard(self, request: ToolCallRequest, execute: Execute) -> Any:
        """Run one call, in time, and at most once where it has effects."""
        batch, plan = _of(request)
        if _late(request, batch, plan):
            return batch.outcomes[plan.position]
        started = _started(request, plan)

        def work() -> Any:
            return within(self._seconds(batch), lambda: execute(request))

        try:
            outcome = self._once(batch, plan, work)
        except (GraphBubbleUp, NoJournal):  # what is not the tool's doing
            raise
        except Exception as error:  # noqa: BLE001 # whatever a tool raises is its result
            outcome = observed(plan, _said(error))
        return _keep(request, batch, plan, outcome, started)

    async def _aguard(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        batch, plan = _of(request)
        if _late(request, batch, plan):
            return batch.outcomes[plan.position]
        started = _started(request, plan)

        async def work() -> Any:
            return await awithin(self._seconds(batch), execute(request))

        try:
            outcome = await self._aonce(batch, plan, work)
        except (GraphBubbleUp, NoJournal):  # what is not the tool's doing
            raise
        except Exception as error:  # noqa: BLE001 # whatever a tool raises is its result
            outcome = observed(plan, _said(error))
        return _keep(request, batch, plan, outcome, started)

    def _seconds(self, batch: Batch) -> float | None:
        bounds = [bound for bound in (self._timeout, batch.left()) if bound is not None]
        return min(bounds, default=None)

    def _once(self, batch: Batch, plan: Planned, work: Callable[[], Any]) -> Any:
        if self._journal is None or batch.thread is None or not plan.effects:
            return work()

        made: list[Any] = []

        def noted() -> str:
            try:
                made.append(work())
            except (TooLong, GraphBubbleUp):
                raise  # it may still be at work, or asks a person: the journal must not say that it is done
            except Exception as error:  # noqa: BLE001 # a tool's exception is its result, and is kept as such
                return raised(error)
            return _text(made[0])

        key = Key(batch.thread, batch.message_id, plan.position)
        try:
            text = self._journal.once(key, plan.name, plan.text, noted)
        except GraphBubbleUp:
            self._journal.forget(key)
            raise
        return made[0] if made else observed(plan, text)

    async def _aonce(self, batch: Batch, plan: Planned, work: Callable[[], Awaitable[Any]]) -> Any:
        journal = self._journal
        if journal is None or batch.thread is None or not plan.effects:
            return await work()

        made: list[Any] = []

        async def noted() -> str:
            try:
                made.append(await work())
            except (TooLong, GraphBubbleUp):
                raise
            except Exception as error:  # noqa: BLE001 # a tool's exception is its result, and is kept as such
                return raised(error)
            return _text(made[0])

        key = Key(batch.thread, batch.message_id, plan.position)
        try:
            text = await journal.aonce(key, plan.name, plan.text, noted)
        except GraphBubbleUp:
            await threaded(lambda: journal.forget(key))
            raise
        return made[0] if made else observed(plan, text)


def _of(request: ToolCallRequest) -> tuple[Batch, Planned]:
    call: Any = request.tool_call
    batch: Batch = call["batch"]
    return batch, batch.plans[call["position"]]


def _late(request: ToolCallRequest, batch: Batch, plan: Planned) -> bool:
    """Answer the call without running it where the time of the run is over; whether that is so."""
    left = batch.left()
    if left is None or left > 0:
        return False
    refusal = failure("not_run", OVER)
    batch.outcomes[plan.position] = observed(plan, refusal)
    told = {"id": plan.id, "name": plan.name, "arguments": plan.text, "result": refusal}
    request.runtime.stream_writer({"type": "tool-refused", **told})
    return True


def _started(request: ToolCallRequest, plan: Planned) -> float:
    request.runtime.stream_writer({"type": "tool-start", "id": plan.id, "name": plan.name, "arguments": plan.text})
    return time.monotonic()


def _keep(request: ToolCallRequest, batch: Batch, plan: Planned, outcome: Any, started: float) -> Any:
    """Put the outcome where the batch collects them, and tell whoever listens."""
    result = _text(outcome)
    decision = batch.decisions.get(plan.position)
    if decision is not None and decision["type"] == "edit" and isinstance(outcome, ToolMessage):
        outcome = observed(plan, edited(result, decision))
    outcome = batch.outcomes[plan.position] = _answering(plan, outcome)
    seconds = time.monotonic() - started
    request.runtime.stream_writer(
        {"type": "tool-end", "id": plan.id, "name": plan.name, "result": result, "seconds": seconds}
    )
    return outcome


def _answering(plan: Planned, outcome: Any) -> Any:
    """The outcome, with the one result that the call is owed, under its id: a tool may have given another, or none."""
    if isinstance(outcome, ToolMessage) and outcome.tool_call_id != plan.id:
        return outcome.model_copy(update={"tool_call_id": plan.id})
    if isinstance(outcome, Command) and outcome.graph is None and not outcome.update:
        return replace(outcome, update={"messages": [observed(plan, '{"ok": true, "result": null}')]})
    return outcome


def observed(plan: Planned, observation: str) -> ToolMessage:
    """The tool message that answers the call; `status` is for LangChain's eyes, and not sent."""
    status = "success" if observation.startswith('{"ok": true') else "error"
    return ToolMessage(observation, tool_call_id=plan.id, name=plan.name, status=status)


def _in_order(batch: Batch) -> list[Outcome]:
    """One outcome for each call, in the order of the calls."""
    return [
        observed(plan, plan.refusal) if plan.refusal else batch.outcomes[plan.position] for plan in batch.plans.values()
    ]


def _said(error: Exception) -> str:
    """The observation for what came out of a call."""
    return failure("timeout", str(error)) if isinstance(error, TooLong) else raised(error)


def _text(outcome: Any) -> str:
    """What a call gave, as text; of a command, the results in it."""
    if isinstance(outcome, Command):
        update = outcome.update if isinstance(outcome.update, dict) else {}
        return "\n".join(one.text for one in update.get("messages", []) if isinstance(one, ToolMessage))
    return outcome.text if isinstance(outcome, ToolMessage) else str(outcome)
