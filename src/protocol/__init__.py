"""The ground floor's second half: what Chat Completions says, as pure functions on dicts."""

from protocol.assemble import Assembled, Assembly, assemble
from protocol.deviations import DEVIATIONS
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
from protocol.repair import REPAIRS, TYPES, UNNAMED, made_up_ids, sendable
from protocol.sse import SseReader
from protocol.stop import STOP_REASONS
from protocol.text import NotJsonError, encodable, encode_json, is_json, read_json, reader

__all__ = [
    "DEVIATIONS",
    "REPAIRS",
    "STOP_REASONS",
    "TYPES",
    "UNNAMED",
    "Assembled",
    "Assembly",
    "BadReply",
    "Message",
    "NotJsonError",
    "SseReader",
    "assemble",
    "encodable",
    "encode_json",
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
