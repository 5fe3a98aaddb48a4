"""How a conversation grows: messages are only ever added, and each call is answered once, directly behind it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    InvalidToolCall,
    RemoveMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

Answer: TypeAlias = Callable[[AIMessage, int], str]
"""The observation for a call that has no result: it gets the message and the position of the call in it."""


def append(state: list[AnyMessage], writes: Sequence[Any]) -> list[AnyMessage]:
    """The history with the writes behind it, one after another: the reducer of the channel `messages`.

    A write is a message, what LangChain makes one of (a dict, a text, a pair of role and text), or a list of these.
    Every message gets an id that no other has: one that comes with an id which is taken is added under a new one, and
    the message that was there stays. LangGraph's own reducers replace it, so that a server with a constant id
    overwrites the conversation.

    A list that holds the ids of all messages there are, in order, is a whole history, which a sub-graph returns: only
    what is new in it is taken, where it stands. `RemoveMessage` is obeyed, for one id and for all.

    The result depends on nothing but the arguments, and not on how the writes come in batches: langgraph's
    DeltaChannel calls it again on what it saved.
    """
    messages = list(_read(state))
    ids = {message.id for message in messages}
    for write in writes:
        given = _read(write)
        if _is_whole(given, messages, ids):
            known = {message.id: message for message in messages}
            last = messages[-1].id
            messages = [known.get(message.id) or _with_own_id(message, ids, last) for message in given]
            continue
        for message in given:
            if not isinstance(message, RemoveMessage):
                messages.append(_with_own_id(message, ids, messages[-1].id if messages else None))
            elif message.id == REMOVE_ALL_MESSAGES:
                messages, ids = [], set()
            elif message.id in ids:  # an id that is not there is what was asked for: raising would spoil every replay
                messages = [one for one in messages if one.id != message.id]
                ids.remove(message.id)
    return messages


def _read(write: Any) -> list[AnyMessage]:
    """The messages of a write. A list of nothing but messages, the usual case, is not walked in Python."""
    given = write if isinstance(write, list) else [write]
    if all(issubclass(kind, BaseMessage) and not issubclass(kind, BaseMessageChunk) for kind in set(map(type, given))):
        return given
    return [cast("AnyMessage", message_chunk_to_message(message)) for message in convert_to_messages(given)]


def _is_whole(given: list[AnyMessage], messages: list[AnyMessage], ids: set[str | None]) -> bool:
    if not messages or len(given) < len(messages) or any(isinstance(message, RemoveMessage) for message in given):
        return False
    return [message.id for message in given if message.id in ids] == [message.id for message in messages]


def _with_own_id(message: AnyMessage, ids: set[str | None], last: str | None) -> AnyMessage:
    """The message, or a copy with an id that is not among `ids`, which then has it.

    `last` is the id of the message at the end. A new id is made of it, not of a count: a count is the same again once
    messages were removed, and the journal of effects knows a call by the id of its message.
    """
    new, number = message.id, 0
    while not new or new in ids:
        new, number = str(uuid5(NAMESPACE_OID, f"{last} {message.id} {number}")), number + 1
    ids.add(new)
    return message if new == message.id else message.model_copy(update={"id": new})


def unanswered(messages: Sequence[AnyMessage]) -> list[tuple[AIMessage, int]]:
    """The calls without a result: each as its message and the position of the call in it, in order."""
    return [
        (cast("AIMessage", message), position)
        for message, results in _paired(messages)
        for position, result in enumerate(results)
        if result is None
    ]


def healed(messages: Sequence[AnyMessage], answer: Answer) -> list[AnyMessage] | None:
    """The history as a provider takes it, or None where it is so already.

    Behind each message with calls stand their results, one for each, in the order of the calls. A result that stands
    further down is brought up; a missing one is made of what `answer` says; one that answers nothing, or what is
    answered already, is left out. Calls with one id in one message are answered in order.
    """
    whole: list[AnyMessage] = []
    for message, results in _paired(messages):
        whole.append(message)
        for position, result in enumerate(results):
            whole.append(result or _result(cast("AIMessage", message), position, answer))
    same = len(whole) == len(messages) and all(one is other for one, other in zip(whole, messages, strict=True))
    return None if same else whole


def _result(message: AIMessage, position: int, answer: Answer) -> ToolMessage:
    call = _calls(message)[position]
    return ToolMessage(answer(message, position), tool_call_id=_id(call), name=call["name"], status="error")


def _paired(messages: Sequence[AnyMessage]) -> list[tuple[AnyMessage, list[ToolMessage | None]]]:
    """Each message that is no result, with the results of its calls; None stands for one that is missing."""
    paired: list[tuple[AnyMessage, list[ToolMessage | None]]] = []
    waiting: dict[str, list[tuple[list[ToolMessage | None], int]]] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            if places := waiting.get(message.tool_call_id):
                results, position = places.pop(0)
                results[position] = message
            continue
        results = []
        paired.append((message, results))
        if isinstance(message, AIMessage) and (calls := _calls(message)):
            results.extend([None] * len(calls))
            # A server may use its ids again in each turn: a result is for the last call that has its id.
            waiting.update({_id(call): [] for call in calls})
            for position, call in enumerate(calls):
                waiting[_id(call)].append((results, position))
    return paired


def _calls(message: AIMessage) -> list[ToolCall | InvalidToolCall]:
    """The calls in the order in which ChatOpenAI sends them: the invalid ones, of messages made by others, last."""
    return [*message.tool_calls, *message.invalid_tool_calls] if message.invalid_tool_calls else [*message.tool_calls]


def _id(call: ToolCall | InvalidToolCall) -> str:
    return call["id"] or ""
