"""When two requests mean the same: key by key, and after tolerances that have a name."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from compare.diff import Diff, Difference, differences
from compare.live.failures import Asked, failed_at
from compare.live.ids import names_of_ids, with_ids
from compare.replies import compact
from compare.results import envelope, says
from compare.tolerances import argument_bytes, error_wording, key_order, name_of, reason_of, result_envelope
from compare.values import MISSING, equal

DEFAULTS: dict[str, Any] = {"stream": False, "n": 1, "tool_choice": "auto"}
"""Parameters that every server takes to have this value where a request lacks them."""
WORDING = ("description", "title", "additionalProperties", "default", "$schema")
"""Keys of a parameter's JSON Schema that name neither the parameter nor its type."""
SAYING_NOTHING: dict[str, tuple[Any, ...]] = {"required": ([],), "strict": (None, False)}
"""Values of other keys of a tool that say the same as no key."""


@dataclass
class Meaning:
    """What a comparison of two requests found: what is left after the tolerances, and the names of those it took."""

    differences: list[Difference] = field(default_factory=list)
    tolerances: dict[str, None] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether the two mean the same."""
        return not self.differences


def default_value(key: str, one: Any, other: Any) -> bool:
    """A parameter that holds its default, or null, says the same as none."""
    says_nothing = [value is MISSING or value is None or equal(value, DEFAULTS.get(key)) for value in (one, other)]
    return all(says_nothing)


def usage_in_streams(key: str, one: Any, other: Any) -> bool:
    """Whether a stream reports its usage is no part of what the model is asked."""
    return key == "stream_options"


def tool_wording(key: str, one: Any, other: Any) -> bool:
    """The same tools may have parameters with other descriptions: names, types and what is required count."""
    return key == "tools" and equal(bare(one), bare(other))


def text_parts(one: Any, other: Any) -> bool:
    """A text may come as a list of parts that are all text."""
    return joined(one) is not None and joined(one) == joined(other)


def renamed_ids(names: dict[str, str]) -> bool:
    """The ids of calls may be others, where the same calls and results carry them."""
    return any(old != new for old, new in names.items())


ENVELOPE_TOLERANCES = (default_value, usage_in_streams, tool_wording)
REQUEST_TOLERANCES = (*ENVELOPE_TOLERANCES, text_parts, renamed_ids)
"""Those for whole requests; the messages in them have also those of `compare.tolerances`."""


def request_legend() -> dict[str, str]:
    """Each tolerance for whole requests by its name, with its sentence."""
    return {name_of(tolerance): reason_of(tolerance) for tolerance in REQUEST_TOLERANCES}


def compare_requests(first: Asked, other: Asked) -> Meaning:
    """Compare two requests, neither of which is the truth: the envelope first, then message by message."""
    found = Meaning()
    found.differences += envelope_differences(first.envelope, other.envelope, found)
    names = names_of_ids(first.messages, other.messages)
    messages = other.messages
    if renamed_ids(names):
        found.tolerances.setdefault(name_of(renamed_ids))
        messages = [with_ids(message, names) for message in messages]
    for index, (one, two) in enumerate(zip_longest(first.messages, messages, fillvalue=MISSING)):
        path = f"messages[{index}]"
        if is_result(one) and is_result(two):
            failed = failed_at(first, index), failed_at(other, index)
            one, two = same_told(one, two, failed, found)
        elif isinstance(one, dict) and isinstance(two, dict):
            one, two = same_text(one, two, found)
        found.differences += message_difference(one, two, path, found)
    return found


def envelope_differences(one: dict[str, Any], other: dict[str, Any], found: Meaning) -> Iterator[Difference]:
    """What differs beside the messages."""
    for key in dict.fromkeys((*one, *other)):
        left, right = one.get(key, MISSING), other.get(key, MISSING)
        if left is right or compact_or_none(left) == compact_or_none(right):
            continue
        taken = [tolerance for tolerance in ENVELOPE_TOLERANCES if tolerance(key, left, right)]
        if MISSING not in (left, right) and equal(left, right):
            taken = [key_order]  # type: ignore[list-item] # it has two arguments, and is only named here
        for tolerance in taken[:1]:
            found.tolerances.setdefault(name_of(tolerance))
        if not taken:
            if key == "tools":  # or the first difference shown might be one of their wording
                left, right = bare(left), bare(right)
            yield from differences(left, right, key, "", Diff())


def compact_or_none(value: Any) -> str | None:
    """The value as JSON text; None for no value."""
    return None if value is MISSING else compact(value)


def message_difference(one: Any, other: Any, path: str, found: Meaning) -> Iterator[Difference]:
    """What differs between two messages."""
    if MISSING not in (one, other) and compact(one) == compact(other):
        return
    seen = Diff(both_ways=True)
    left = list(differences(one, other, path, "message", seen))
    found.tolerances |= seen.tolerances
    respelled = [each for each in left if argument_bytes([each.kind])]
    if respelled:
        found.tolerances.setdefault(name_of(argument_bytes))
    if not left and not seen.tolerances:
        found.tolerances.setdefault(name_of(key_order))
    yield from (each for each in left if each not in respelled)


def is_result(message: Any) -> bool:
    """Whether it is a tool message."""
    return isinstance(message, dict) and message.get("role") == "tool"


def same_told(one: Any, other: Any, failed: tuple[bool, bool], found: Meaning) -> tuple[Any, Any]:
    """Two tool messages; where they tell the same result or failure, the second with the first one's content."""
    said, told = one.get("content"), other.get("content")
    if equal(said, told):
        return one, other
    if error_wording(*(not one for one in failed)):
        taken = name_of(error_wording)
    elif any(tells(*pair) for pair in ((said, told), (told, said))):
        taken = name_of(result_envelope)
    else:
        return same_text(one, other, found)
    found.tolerances.setdefault(taken)
    return one, {**other, "content": said}


def tells(wrapped: Any, bare_content: Any) -> bool:
    """Whether the first is `{"ok": true, "result": ...}`, and the second carries that result."""
    observation = envelope(wrapped)
    return observation is not None and observation["ok"] is True and says(bare_content, observation.get("result"))


def same_text(one: Any, other: Any, found: Meaning) -> tuple[Any, Any]:
    """Two messages; where they have the same text in another form, the second with the first one's content."""
    said, told = one.get("content"), other.get("content")
    if equal(said, told) or not text_parts(said, told):
        return one, other
    found.tolerances.setdefault(name_of(text_parts))
    return one, {**other, "content": said}


def joined(content: Any) -> str | None:
    """The text of a content; None where it is no text, or has more in it than text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.keys() == {"type", "text"}]
    if len(texts) < len(content) or not all(isinstance(text, str) for text in texts):
        return None
    return "".join(map(str, texts))


def bare(schema: Any, names: bool = False) -> Any:
    """A list of tools without the wording of their parameters. `names` says that keys are names of parameters."""
    if isinstance(schema, list):
        return [bare(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    function = isinstance(schema.get("name"), str) and "parameters" in schema
    return {
        key: bare(value, names=key == "properties" and not names)
        for key, value in schema.items()
        # A function's own description is what the model chooses a tool by: that one counts.
        if names or key not in WORDING or (function and key == "description")
        if names or value not in SAYING_NOTHING.get(key, ())
    }
