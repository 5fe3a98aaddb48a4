"""What streams do otherwise than the protocol has it, and what is made of it: one name for each rule."""

from collections.abc import Callable

Flag = Callable[[str], None]
"""Enters the name of a rule that had to be applied."""

DEVIATIONS = {
    "event-without-blank-line": "the last event counts although no blank line ends it",
    "line-without-end": "the last line counts although it has no line end: it is [DONE] or a whole JSON object",
    "half-line": "a last line that is neither ended nor whole is dropped",
    "empty-event": "an event without data says nothing",
    "event-no-object": "an event whose data is JSON and no object says nothing",
    "plain-body": "a whole message where pieces were asked for is taken as it is",
    "second-message": "of a whole message and pieces of one, that which came first counts",
    "choices-missing": "a chunk whose choices are missing or no list says nothing but its usage",
    "choice-no-object": "a choice that is no object is skipped",
    "other-choice": "only the choice with index 0 is read",
    "null-delta": "a choice whose delta is missing, null or no object adds nothing",
    "role-empty": "an empty role says nothing",
    "role-repeated": "the first role counts",
    "value-replaced": "of values that cannot be joined the last counts",
    "usage-repeated": "the last usage counts; usages are never added up",
    "finish-empty": "an empty finish reason says nothing",
    "finish-repeated": "the first finish reason counts",
    "finish-unknown": "a finish reason outside the list is kept as it came",
    "delta-after-finish": "what comes behind the finish reason still belongs to the message",
    "no-finish-reason": "no finish reason came, and none is made up",
    "no-done": "the stream ended without [DONE]",
    "calls-no-list": "tool_calls that are no list are kept as a value, and hold no call",
    "entry-no-object": "an entry of tool_calls that is no object is skipped",
    "function-missing": "an entry without a function adds its other keys; one that has none opens no call",
    "index-missing": "without an index, a new id or a new name opens a call; all else goes on with the last one",
    "index-as-text": "an index written as text, or as 1.0, counts as the number",
    "index-shared": "a new id with a name, or a name behind whole arguments, opens a call at an index in use",
    "index-changed": "a piece without a name belongs to the call that has its id, whatever its index",
    "index-gap": "indexes that do not run from 0 without gaps only give the order",
    "index-descending": "calls stand in the order of their indexes, not of their coming",
    "id-empty": "an id that is empty, null or no text counts as none",
    "id-missing": "a call for which no id came stays without one",
    "id-repeated": "an id that comes again means the same call",
    "id-late": "an id that comes behind the first piece of a call is that call's id",
    "id-changed": "another id without a name opens no call: the first id of a call counts",
    "name-repeated": "a name that comes again is not appended",
    "name-split": "a name that comes in pieces is joined",
}
"""The names of the rules, each with the sentence that a report prints for it."""
