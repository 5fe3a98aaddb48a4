"""The nodes of the graph, and the edges that decide: each small, each leaving a history that can be sent."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import openai
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END
from langgraph.types import Command, Overwrite

from lc.sturdy.approval import ask
from lc.sturdy.calls import Planned
from lc.sturdy.effects import Journal, Key
from lc.sturdy.history import healed
from lc.sturdy.limits import Limits, Used, exhausted, left, nothing, used_by
from lc.sturdy.state import State
from lc.sturdy.tools import OVER, Batch, Outcome, Tools
from lc.sturdy.wire import came_message, storable
from protocol import BadReply, ending
from toolbox.execute import failure

log = logging.getLogger("lc")

Trim = Callable[[Sequence[AnyMessage]], list[AnyMessage]]
"""Makes a history shorter; what it returns must be legal, as what lc.sturdy.trim returns is."""

Approve = Literal["ask", "never", "always"]

LIMIT_REACHED = {
    "token-limit": "not run: the tokens of this run are used up",
    "deadline": OVER,
}
CALL_LIMIT = "not run: the limit of tool calls for this run is reached"
NEVER = "not run: this host runs no tool that changes anything"


class Nodes:
    """What the graph does, step by step. The arguments are those of `lc.sturdy.graph.build`."""

    def __init__(
        self,
        llm: Runnable[Any, AnyMessage],
        tools: Tools,
        limits: Limits,
        system: str | None,
        approve: Approve,
        trim: Trim | None,
        journal: Journal | None,
    ) -> None:
        self._llm, self._tools, self._limits = llm, tools, limits
        self._system = [SystemMessage(system)] if system is not None else []
        self._approve, self._trim, self._journal = approve, trim, journal

    def begin(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """The start of a turn: nothing is used yet, and what an earlier turn left open is closed.

        A run that failed, was killed or was never approved may have left calls without results, which providers refuse.
        """
        thread = thread_of(config)

        def closed(message: AIMessage, position: int) -> str:
            known = self._journal and thread and self._journal.outcome(Key(thread, message.id or "", position))
            return known or failure("not_run", "not run: the turn ended before its turn came")

        messages = state.get("messages", [])
        whole = healed(messages, closed)
        if self._trim is not None:
            whole = self._trim(whole or messages)
        update = {} if whole is None or same(whole, messages) else {"messages": Overwrite(whole)}
        return {**update, "used": nothing(), "stop": "", "asked": [], "decisions": []}

    def model(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """One request. Its failure ends the run with a stop reason, and leaves the history as it was."""
        started = time.monotonic()
        log.info("[round %d]", state["used"]["rounds"] + 1)
        try:
            reply = self._llm.invoke(self._shown(state), config, **self._bounds(state))
        except (openai.APIError, BadReply) as error:
            return self._unanswered(state, error, started)
        return self._answered(state, reply, started)

    async def amodel(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """As `model`, in an event loop."""
        started = time.monotonic()
        log.info("[round %d]", state["used"]["rounds"] + 1)
        try:
            reply = await self._llm.ainvoke(self._shown(state), config, **self._bounds(state))
        except (openai.APIError, BadReply) as error:
            return self._unanswered(state, error, started)
        return self._answered(state, reply, started)

    def approve(self, state: State) -> dict[str, Any]:
        """Ask a person about the calls with effects. Nothing else happens here: a resumed node begins anew.

        The question is the one in the state, because a graph that was built anew meanwhile may have other tools: what
        would run now and was not asked about is asked about too.
        """
        asked = state["asked"]
        decisions = ask(asked)
        if more := [call for call in self._waiting(last(state)) if call not in asked]:
            decisions += ask(more)
        return {"decisions": decisions, "stop": ""}

    def tools(self, state: State, config: RunnableConfig) -> Any:
        """Run the calls of the last message, or say why not: each gets exactly one result."""
        started = time.monotonic()
        batch = self._batch(state, config)
        return self._ran(state, batch, self._tools.run(batch, config), started)

    async def atools(self, state: State, config: RunnableConfig) -> Any:
        """As `tools`, in an event loop."""
        started = time.monotonic()
        batch = self._batch(state, config)
        return self._ran(state, batch, await self._tools.arun(batch, config), started)

    def after_model(self, state: State) -> str:
        """Where the run goes when a reply is there: to a person, to the tools, or to its end."""
        if state["stop"] == "awaiting-approval":
            return "approve"
        return END if state["stop"] else "tools"

    def after_tools(self, state: State) -> str:
        """Where the run goes when the results are there."""
        return END if state["stop"] else "model"

    def _shown(self, state: State) -> list[AnyMessage]:
        return [*self._system, *state["messages"]]

    def _bounds(self, state: State) -> dict[str, Any]:
        """Who hears of retries, and what the limits make necessary: a time for the request, the usage of a stream."""
        bounds: dict[str, Any] = {"told": get_stream_writer()}
        if self._limits.seconds is not None:
            bounds["at_most"] = left(self._limits, state["used"])
        if self._limits.tokens is not None:
            # Servers say what a stream has used only when asked, and some know no such question.
            bounds["stream_usage"] = True
        return bounds

    def _unanswered(self, state: State, error: Exception, started: float) -> dict[str, Any]:
        log.info("[error] %s", error)
        get_stream_writer()({"type": "error", "error": str(error)})
        return {"used": self._more(state, started, rounds=1), "stop": stop_of(error)}

    def _answered(self, state: State, reply: AnyMessage, started: float) -> dict[str, Any]:
        assert isinstance(reply, AIMessage)  # noqa: S101 # what a chat model returns
        used = self._more(state, started, rounds=1, tokens=used_by(reply))
        metadata = reply.response_metadata
        if not reply.tool_calls:
            whole = metadata.get("whole", True)
            stop = ending(came_message(reply), metadata.get("finish_reason")) if whole else "cut-off"
            return {"messages": [reply], "used": used, "stop": stop}
        asking = self._approve == "ask" and not exhausted(self._limits, used)
        asked = self._waiting(reply) if asking else []
        return {"messages": [reply], "used": used, "stop": "awaiting-approval" if asked else "", "asked": asked}

    def _waiting(self, message: AIMessage) -> list[dict[str, Any]]:
        """The calls that a person has to be asked about, as any checkpointer can store them."""
        return [
            storable({"name": plan.name, "arguments": plan.text, "id": plan.id, "position": plan.position})
            for plan in self._tools.plan(message)
            if plan.effects
        ]

    def _batch(self, state: State, config: RunnableConfig) -> Batch:
        message, decisions = last(state), state.get("decisions") or []
        plans = self._allowed(self._tools.plan(message, decisions), state["used"])
        for plan in plans:
            if plan.refusal:
                told = {"id": plan.id, "name": plan.name, "arguments": plan.text, "result": plan.refusal}
                get_stream_writer()({"type": "tool-refused", **told})
        return Batch(
            message.id or "",
            thread_of(config),
            left(self._limits, state["used"]),
            {decision["position"]: decision for decision in decisions},
            {plan.position: plan for plan in plans},
        )

    def _allowed(self, plans: Sequence[Planned], used: Used) -> list[Planned]:
        """The plans, with a refusal for each call that the limits or the host do not allow."""
        over, run = exhausted(self._limits, used), used["calls"]
        allowed = []
        for plan in plans:
            why = ""
            if not plan.refusal:
                if over:
                    why = LIMIT_REACHED[over]
                elif plan.effects and self._approve == "never":
                    why = NEVER
                elif self._limits.calls is not None and run >= self._limits.calls:
                    why = CALL_LIMIT
                else:
                    run += 1
            allowed.append(replace(plan, refusal=failure("not_run", why)) if why else plan)
        return allowed

    def _ran(self, state: State, batch: Batch, outcomes: Sequence[Outcome], started: float) -> Any:
        plans = batch.plans.values()
        used = self._more(state, started, calls=sum(not plan.refusal for plan in plans))
        stop = exhausted(self._limits, state["used"]) or exhausted(self._limits, used)
        if not stop and failure("not_run", CALL_LIMIT) in [plan.refusal for plan in plans]:
            stop = "call-limit"
        if not stop and used["rounds"] >= self._limits.rounds:
            stop = "round-limit"
        messages, commands = parted(outcomes)
        update = {"messages": messages, "used": used, "stop": stop, "asked": [], "decisions": []}
        return [update, *commands] if commands else update

    def _more(self, state: State, started: float, rounds: int = 0, calls: int = 0, tokens: int = 0) -> Used:
        used = state["used"]
        return {
            "rounds": used["rounds"] + rounds,
            "calls": used["calls"] + calls,
            "tokens": used["tokens"] + tokens,
            "seconds": used["seconds"] + time.monotonic() - started,
        }


def last(state: State) -> AIMessage:
    """The message whose calls are to be run."""
    message = state["messages"][-1]
    assert isinstance(message, AIMessage)  # noqa: S101 # the edges see to it
    return message


def same(one: Sequence[AnyMessage], other: Sequence[AnyMessage]) -> bool:
    """Whether the two hold the very same messages."""
    return len(one) == len(other) and all(left is right for left, right in zip(one, other, strict=True))


def parted(outcomes: Sequence[Outcome]) -> tuple[list[AnyMessage], list[Command[Any]]]:
    """The tool messages of all outcomes, in order, and what else the tools command."""
    messages: list[AnyMessage] = []
    commands = []
    for outcome in outcomes:
        if not isinstance(outcome, Command):
            messages.append(outcome)
        elif outcome.graph is None and isinstance(outcome.update, dict):
            update = dict(outcome.update)
            messages += update.pop("messages", [])
            if update or outcome.goto:
                commands.append(replace(outcome, update=update))
        else:
            commands.append(outcome)
    return messages, [_with_results(command, messages) for command in commands]


def _with_results(command: Command[Any], results: Sequence[AnyMessage]) -> Command[Any]:
    """The command; one that hands the messages over to a parent graph takes the results of its siblings along.

    LangGraph drops what else the node gives then, and whoever goes on would take those calls for never run.
    """
    if command.graph != Command.PARENT or not isinstance(command.update, dict) or "messages" not in command.update:
        return command
    given = command.update["messages"]
    whole = [*(given if isinstance(given, list) else [given]), *results]
    return replace(command, update={**command.update, "messages": whole})


def thread_of(config: RunnableConfig) -> str | None:
    """The id of the conversation that a checkpointer keeps, if one does."""
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def stop_of(error: Exception) -> str:
    """The stop reason for a request that failed."""
    match error:
        case openai.APITimeoutError():
            return "deadline"
        case openai.APIConnectionError():
            return "connection-error"
        case openai.APIStatusError():
            return "http-error"
    return "bad-reply"
