"""The parts of `lc.sturdy` one by one, each in a graph that has nothing else of them."""

import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Overwrite

from lc.sturdy.approval import Decision, ask
from lc.sturdy.effects import Journal, Key
from lc.sturdy.events import MODES, Event, Listener
from lc.sturdy.history import append, healed
from lc.sturdy.limits import Limits, Used, exhausted, nothing, used_by
from lc.sturdy.model import SturdyChatOpenAI
from lc.sturdy.tools import Batch, Tools
from toolbox.execute import failure


def with_model(llm: SturdyChatOpenAI, tools: Sequence[BaseTool]) -> CompiledStateGraph[MessagesState]:
    """The textbook graph, on the model part."""
    bound = llm.bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def with_tools(llm: Runnable[Any, Any], tools: Tools) -> CompiledStateGraph[MessagesState]:
    """A graph of its own around the tools part, on any chat model that the tools are bound to."""

    def run_tools(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        message: Any = state["messages"][-1]
        plans = {plan.position: plan for plan in tools.plan(message)}
        batch = Batch(message.id or "", thread=None, seconds=None, decisions={}, plans=plans)
        return {"messages": tools.run(batch, config)}

    def after_model(state: MessagesState) -> str:
        message: Any = state["messages"][-1]
        # Not tools_condition: it sees no call whose arguments are broken.
        return "tools" if message.tool_calls or message.invalid_tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [llm.invoke(state["messages"])]})
    graph.add_node("tools", run_tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", after_model, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile()


class Counted(MessagesState):
    """A conversation, and what its run has used."""

    used: Used
    stop: str


def with_limits(llm: Runnable[Any, Any], limits: Limits) -> CompiledStateGraph[Counted]:
    """A graph that lets the model go on until it says DONE, or a limit is reached."""

    def model(state: Counted) -> dict[str, Any]:
        started, used = time.monotonic(), state.get("used") or nothing()
        reply = llm.invoke(state["messages"])
        now: Used = {
            **used,
            "rounds": used["rounds"] + 1,
            "tokens": used["tokens"] + used_by(reply),
            "seconds": used["seconds"] + time.monotonic() - started,
        }
        stop = "answer" if "DONE" in reply.text else exhausted(limits, now)
        if not stop and now["rounds"] >= limits.rounds:
            stop = "round-limit"
        return {"messages": [reply, *([] if stop else [HumanMessage("Go on.")])], "used": now, "stop": stop}

    graph = StateGraph(Counted)
    graph.add_node("model", model)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: END if state["stop"] else "model", ["model", END])
    return graph.compile()


class Kept(TypedDict):
    """A conversation whose checkpoints hold only what is new."""

    messages: Annotated[list[AnyMessage], DeltaChannel(append, snapshot_frequency=1000)]


def with_memory(llm: Runnable[Any, Any], checkpointer: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Kept]:
    """One request per turn, on a history that is mended first: what a run left open is answered."""

    def mend(state: Kept) -> dict[str, Any]:
        whole = healed(state["messages"], lambda message, position: failure("not_run", "the program ended"))
        return {} if whole is None else {"messages": Overwrite(whole)}

    graph = StateGraph(Kept)
    graph.add_node("mend", mend)
    graph.add_node("model", lambda state: {"messages": [llm.invoke(state["messages"])]})
    graph.add_edge(START, "mend")
    graph.add_edge("mend", "model")
    return graph.compile(checkpointer=checkpointer)


class Payment(TypedDict, total=False):
    """What is to be paid, what a person said, and what came of it. There is no model here."""

    order: str
    arguments: str
    decisions: list[Decision]
    outcome: str


def with_approval(pay: Any, journal: Journal, checkpointer: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Payment]:
    """Pay once, when a person has agreed. The two are nodes of their own: one that asks begins anew when it goes on."""

    def decide(state: Payment) -> Payment:
        call = {"name": "pay", "arguments": state["arguments"], "id": state["order"], "position": 0}
        return {"decisions": ask([call])}

    def carry_out(state: Payment) -> Payment:
        (decision,) = state["decisions"]
        if decision["type"] == "reject":
            return {"outcome": decision["message"]}
        arguments = decision.get("arguments", state["arguments"])
        key = Key("payments", state["order"], 0)
        return {"outcome": journal.once(key, "pay", arguments, lambda: pay(arguments))}

    graph = StateGraph(Payment)
    graph.add_node("decide", decide)
    graph.add_node("carry_out", carry_out)
    graph.add_edge(START, "decide")
    graph.add_edge("decide", "carry_out")
    return graph.compile(checkpointer=checkpointer)


def listening(graph: CompiledStateGraph[Any], given: Any) -> Iterator[Event]:
    """The events of any graph whose model node is named `model`; a last one, `stop`, only sturdy's own state knows."""
    listener = Listener()
    for mode, chunk in graph.stream(given, stream_mode=MODES):
        yield from listener.heard(mode, chunk)
