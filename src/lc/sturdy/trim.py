"""How a history gets shorter by whole turns: a turn begins with a user message and ends before the next.

No call is parted from its results, what remains begins with a user message behind the system messages, and the last
turn always remains. `langchain_core.messages.trim_messages` promises less: by default it parts calls from results;
told to start with a user message, it leaves nothing of a last turn that is too large on its own; and of several
system messages it keeps one, even where nothing had to go.
"""

from collections.abc import Callable, Sequence

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

SUMMARY = "Summary of the conversation so far:\n\n"
"""What stands before a summary, so that the model does not take it for a question."""

MARK = "is_summary"
"""The key of `additional_kwargs` by which a summary is known again; ChatOpenAI does not send it."""


def trimmed(
    messages: Sequence[AnyMessage], at_most: int, size: Callable[[AnyMessage], int] = lambda message: 1
) -> list[AnyMessage]:
    """The history without its oldest turns, so that its size is `at_most`; the last turn remains even if it is larger.

    `size` measures one message: as 1 by default, or in tokens. To trim at each turn costs the provider's prefix cache
    at each turn: wait until a larger limit is passed, and then trim to much less.
    """
    head, turns = _parted(messages)
    room = at_most - sum(map(size, head))
    kept: list[list[AnyMessage]] = []
    for turn in reversed(turns):
        room -= sum(map(size, turn))
        if kept and room < 0:
            break
        kept.insert(0, turn)
    return _joined(head, kept)


def summarised(
    messages: Sequence[AnyMessage], keep_turns: int, summarise: Callable[[list[AnyMessage]], str]
) -> list[AnyMessage]:
    """The history with one summary in place of all but its last `keep_turns` turns, of which it keeps one at least.

    `summarise` gets what goes: an earlier summary first, so that nothing of it is lost, then the turns.
    Raises ValueError where it gives no text.

    The summary is a user message. A system message that is not the first is refused by the templates of many open
    models, and the words of users and tools must not come back with the authority of instructions.
    """
    head, turns = _parted(messages)
    kept = max(keep_turns, 1)
    if len(turns) <= kept:
        return list(messages)
    earlier = [message for message in head if _is_summary(message)]
    text = summarise(_joined(earlier, turns[:-kept]))
    if not text.strip():
        raise ValueError("the summary is empty: the turns that it stands for would be lost")
    summary = HumanMessage(SUMMARY + text, additional_kwargs={MARK: True})
    system = [message for message in head if not _is_summary(message)]
    return _joined([*system, summary], turns[-kept:])


def _parted(messages: Sequence[AnyMessage]) -> tuple[list[AnyMessage], list[list[AnyMessage]]]:
    """What always remains (the system messages at the front, and a summary), and the turns.

    What stands before the first user message, if anything does, is a turn of its own.
    """
    start = 0
    while start < len(messages) and (isinstance(messages[start], SystemMessage) or _is_summary(messages[start])):
        start += 1
    turns: list[list[AnyMessage]] = []
    for message in messages[start:]:
        if isinstance(message, HumanMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    return list(messages[:start]), turns


def _is_summary(message: AnyMessage) -> bool:
    return isinstance(message, HumanMessage) and message.additional_kwargs.get(MARK) is True


def _joined(head: list[AnyMessage], turns: list[list[AnyMessage]]) -> list[AnyMessage]:
    return [*head, *(message for turn in turns for message in turn)]
