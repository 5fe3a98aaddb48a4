"""What may differ without a difference in meaning: each tolerance is one function, and its docstring is printed.

Each is asked about one key of a message: the key, the value that the model sent, the value that came back (MISSING
where there is none), and the message or call that the model's value stands in.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compare.results import says
from compare.values import MISSING, equal, parse
from protocol import TYPES, UNNAMED, is_json

Tolerance = Callable[[str, Any, Any, Mapping[str, Any]], bool]


def blank_content(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """Beside tool calls, content that is null, empty or missing says the same."""
    blank = (None, "", MISSING)
    return key == "content" and bool(beside.get("tool_calls")) and truth in blank and got in blank


def absent_null(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """A key of a reply that holds null or an empty list says the same as no key."""
    return key not in ("content", "arguments") and (truth is None or truth == []) and got is MISSING


def default_type(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """A tool call without a type that is known is a function call."""
    return key == "type" and truth not in TYPES and got == "function"


def default_name(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """A tool call without a name calls nothing, and goes back under a name that providers take."""
    return key == "name" and not (isinstance(truth, str) and truth) and got == UNNAMED


def default_role(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """A reply without a role is an assistant message."""
    return key == "role" and truth in (None, MISSING) and got == "assistant"


def arguments_as_text(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """Arguments that came as an object go back as the JSON text that the protocol asks for."""
    if key != "arguments" or not isinstance(truth, dict) or not isinstance(got, str):
        return False
    try:
        return equal(parse(got), truth)
    except ValueError:
        return False


def repaired_arguments(key: str, truth: Any, got: Any, beside: Mapping[str, Any]) -> bool:
    """Arguments that are no JSON go back as {}, because some providers refuse every later turn with them."""
    if key != "arguments" or got != "{}" or isinstance(truth, dict):
        return False
    return not isinstance(truth, str) or not is_json(truth)


TOLERANCES: dict[str, tuple[Tolerance, ...]] = {
    "message": (blank_content, default_role, absent_null),
    "call": (default_type, absent_null),
    "function": (default_name, arguments_as_text, repaired_arguments, absent_null),
}
"""Those for assistant messages that go back to the model, by the object whose keys they are asked about."""


def key_order(one: Any, other: Any) -> bool:
    """The keys of an object may stand in any order."""
    return equal(one, other)


def argument_bytes(kinds: Iterable[str]) -> bool:
    """Arguments that spell the same value in other bytes ask for the same call (and break a prefix cache)."""
    return set(kinds) == {"re-serialised"}


def result_envelope(one: Any, other: Any, result: Any) -> bool:
    """The same result may be told bare or inside {"ok": true, "result": ...}."""
    return says(one, result) and says(other, result)


def error_wording(one_succeeded: bool, other_succeeded: bool) -> bool:
    """The same failure may be told to the model in other words."""
    return not one_succeeded and not other_succeeded


ROW_TOLERANCES = (key_order, argument_bytes, result_envelope, error_wording)
"""Those between two lanes."""


def name_of(tolerance: Callable[..., bool]) -> str:
    """How a report names a tolerance."""
    return tolerance.__name__.replace("_", "-")


def reason_of(tolerance: Callable[..., bool]) -> str:
    """The sentence that a report prints for it."""
    return (tolerance.__doc__ or "").splitlines()[0]


def legend() -> dict[str, str]:
    """Each tolerance by its name, with its sentence."""
    messages = [tolerance for place in TOLERANCES.values() for tolerance in place]
    known: list[Callable[..., bool]] = [*messages, *ROW_TOLERANCES]
    return {name_of(tolerance): reason_of(tolerance) for tolerance in known}
