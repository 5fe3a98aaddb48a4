"""The ground floor's second half: what Chat Completions says, as pure functions on dicts."""

from protocol.messages import (
    BadReply,
    Message,
    ending,
    error_text,
    opening,
    read_reply,
    tool_calls,
    tool_message,
)
from protocol.repair import REPAIRS, made_up_ids, sendable
from protocol.stop import STOP_REASONS
from protocol.text import NotJsonError, is_json, read_json, reader

__all__ = [
    "REPAIRS",
    "STOP_REASONS",
    "BadReply",
    "Message",
    "NotJsonError",
    "ending",
    "error_text",
    "is_json",
    "made_up_ids",
    "opening",
    "read_json",
    "read_reply",
    "reader",
    "sendable",
    "tool_calls",
    "tool_message",
]
