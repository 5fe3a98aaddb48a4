"""What a rule of a provider can look for in a request: a table of checks, each a pure function."""

from collections.abc import Callable, Iterator

from protocol.checks.envelope import (
    envelope_key_needs,
    envelope_list_not_empty,
    no_envelope_key,
    strict_schemas,
    tool_names,
)
from protocol.checks.message import (
    arguments_parse,
    call_shapes,
    content_or_calls,
    content_types,
    ids_match,
    ids_not_null,
    key_in_role,
    known_roles,
    list_not_empty,
    no_empty_text,
)
from protocol.checks.pairing import (
    call_key_comes_back,
    calls_answered,
    last_calls_answered,
    message_key_comes_back,
    results_asked,
)
from protocol.checks.sent import Problem, Sent

__all__ = ["CHECKS", "Check", "Problem", "Sent"]

Check = Callable[..., Iterator[Problem]]

CHECKS: dict[str, Check] = {
    "known-roles": known_roles,
    "content-types": content_types,
    "no-empty-text": no_empty_text,
    "content-or-calls": content_or_calls,
    "key-in-role": key_in_role,
    "list-not-empty": list_not_empty,
    "call-shapes": call_shapes,
    "ids-match": ids_match,
    "ids-not-null": ids_not_null,
    "arguments-parse": arguments_parse,
    "calls-answered": calls_answered,
    "last-calls-answered": last_calls_answered,
    "results-asked": results_asked,
    "message-key-comes-back": message_key_comes_back,
    "call-key-comes-back": call_key_comes_back,
    "envelope-list-not-empty": envelope_list_not_empty,
    "envelope-key-needs": envelope_key_needs,
    "no-envelope-key": no_envelope_key,
    "tool-names": tool_names,
    "strict-schemas": strict_schemas,
}
"""What the key `check` of a rule may name; the function's parameters behind `sent` are the rule's other keys."""
