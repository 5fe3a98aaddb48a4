"""How the deltas of a stream become the assistant message that a plain reply would have held."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.call_deltas import CallDeltas, add_function
from protocol.messages import BadReply, Message, error_text
from protocol.pieces import Growing, Text, empty
from protocol.sse import DONE
from protocol.text import read_json

TEXTS = ("content", "refusal", "reasoning", "reasoning_content")
"""The keys of a delta whose texts are joined. Of other keys, lists are extended and else the last value counts."""

FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")


@dataclass(frozen=True)
class Assembled:
    """A message put together from a stream.

    `message` is what a plain reply would have held, `finish_reason` and `usage` are None where none came. `whole` is
    False when the stream just ended, with neither a finish reason nor [DONE]. `deviations` names the rules that had
    to be applied, in the order of their first use, in words of DEVIATIONS.
    """

    message: Message
    finish_reason: Any
    usage: Any
    whole: bool
    deviations: tuple[str, ...]


def assemble(events: Iterable[str], parse: Callable[[str], Any] = read_json) -> Assembled:
    """The message in the data texts of a stream's events, [DONE] included. Raises BadReply as Assembly does."""
    assembly = Assembly(parse)
    for text in events:
        assembly.add(text)
    return assembly.finished()


class Assembly:
    """A message that is being put together; `done` once [DONE] has come, behind which nothing is read."""

    def __init__(self, parse: Callable[[str], Any] = read_json) -> None:
        self.done = False
        self._parse = parse
        self._deviations: dict[str, None] = {}
        self._message = Growing(self._flag)
        self._calls = CallDeltas(self._flag)
        self._plain: Message | None = None
        self._finish_reason: Any = None
        self._usage: Any = None
        self._heard = False

    @property
    def whole(self) -> bool:
        """Whether the message has come to its end."""
        return self.done or self._finish_reason is not None or self._plain is not None

    @property
    def content(self) -> Sequence[str]:
        """The pieces of the content so far, for whoever shows them as they come."""
        pieces = self._message.values.get("content")
        return pieces if isinstance(pieces, Text) else ()

    def add(self, text: str) -> None:
        """Take in the data text of one event.

        Raises BadReply for a text that is not JSON, and for an error object, even in mid-stream.
        """
        text = text.strip()
        if self.done or text == DONE:
            self.done = True
            return
        if not text:
            self._flag("empty-event")
            return
        try:
            text.encode()  # bytes that were no UTF-8 stand here as lone surrogates
            event = self._parse(text)
        except (ValueError, RecursionError) as error:
            raise BadReply(f"an event of the stream is not JSON: {error}") from None
        match event:
            case {"choices": [{"message": dict()}, *_]}:
                self._chunk(event)
            case {"error": problem} if problem:
                raise BadReply(f"the stream holds an error: {shown(problem)}")
            case dict():
                self._chunk(event)
            case _:
                self._flag("event-no-object")

    def finished(self) -> Assembled:
        """The message, when no more events come. Raises BadReply when none of them had a piece of one."""
        if not self._heard:
            raise BadReply("the stream holds no message")
        if self._plain is None:
            if self._finish_reason is None:
                self._flag("no-finish-reason")
            if not self.done:
                self._flag("no-done")
        calls = self._calls.whole()
        message = self._message.whole() if self._plain is None else self._plain
        if calls and self._plain is None:
            message["tool_calls"] = calls
        return Assembled(message, self._finish_reason, self._usage, self.whole, tuple(self._deviations))

    def _flag(self, name: str) -> None:
        self._deviations[name] = None

    def _chunk(self, chunk: dict[str, Any]) -> None:
        """One chunk: its usage, which some servers send with each (langchain-ai/langchain#30429), and its choices."""
        if chunk.get("usage") is not None:
            if self._usage is not None:
                self._flag("usage-repeated")
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            self._flag("choices-missing")
            return
        for choice in choices:
            if not isinstance(choice, dict):
                self._flag("choice-no-object")
            elif choice.get("index") not in (None, 0, "0"):
                self._flag("other-choice")
            else:
                self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> None:
        """One piece of the answer: of a message that grows, or a whole one."""
        self._heard = True
        delta, message = choice.get("delta"), choice.get("message")
        if not isinstance(delta, dict) and isinstance(message, dict):
            if self._plain is not None or self._message.values:
                self._flag("second-message")
            else:
                self._flag("plain-body")
                self._plain = message
        elif not isinstance(delta, dict):
            self._flag("null-delta")
        elif self._plain is not None:
            self._flag("second-message")
        else:
            self._delta(delta)
        self._finish(choice.get("finish_reason"))

    def _finish(self, reason: Any) -> None:
        """The finish reason: the first that says something (sgl-project/sglang#3912 sends empty ones on the way)."""
        if reason is None:
            return
        if not reason:
            self._flag("finish-empty")
        elif self._finish_reason is not None:
            self._flag("finish-repeated")
        else:
            self._finish_reason = reason
            if reason not in FINISH_REASONS:
                self._flag("finish-unknown")

    def _delta(self, delta: dict[str, Any]) -> None:
        if self._finish_reason is not None and not all(map(empty, delta.values())):
            self._flag("delta-after-finish")
        for key, value in delta.items():
            if key == "role":
                self._role(value)
            elif key == "tool_calls" and isinstance(value, list):
                # The key keeps its place even where the list is empty, as in a plain reply.
                self._message.values.setdefault(key, [])
                self._calls.add(value)
            elif key == "function_call" and isinstance(value, dict):
                add_function(self._message.inner(key), value, self._flag)
            else:
                if key == "tool_calls" and value is not None:
                    self._flag("calls-no-list")
                self._message.add(key, value, joined=key in TEXTS)

    def _role(self, role: Any) -> None:
        """The first role that says something counts; many servers repeat it with each piece."""
        known = self._message.values.get("role")
        if role == "":
            self._flag("role-empty")
        elif not known:
            self._message.values["role"] = role
        elif role:
            self._flag("role-repeated")


def shown(problem: Any) -> str:
    """The sentence inside an error object, if it can be written: a deep nest can be read and not written."""
    try:
        return error_text(problem)
    except RecursionError:
        return "one that is nested too deeply to be shown"
