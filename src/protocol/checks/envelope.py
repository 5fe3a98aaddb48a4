"""The checks on a request's envelope: what stands beside its messages."""

import re
from collections.abc import Iterator
from typing import Any

from protocol.checks.sent import Problem, Sent, functions


def envelope_list_not_empty(sent: Sent, key: str) -> Iterator[Problem]:
    """Where the envelope has the key, no empty list stands there."""
    if (sent.envelope or {}).get(key) == []:
        yield key, "an empty list"


def envelope_key_needs(sent: Sent, key: str, needs: str) -> Iterator[Problem]:
    """The key stands only beside another one, `needs`, that is not empty."""
    envelope = sent.envelope or {}
    if envelope.get(key) is not None and not envelope.get(needs):
        yield key, f"there, and no {needs}"


def no_envelope_key(sent: Sent, key: str, instead: str = "") -> Iterator[Problem]:
    """The envelope has no such key; `instead` names the one that the provider knows, where there is one."""
    if (sent.envelope or {}).get(key) is not None:
        yield key, f"not known; it is called {instead} here" if instead else "not known"


def tool_names(sent: Sent, pattern: str) -> Iterator[Problem]:
    """The name of each function tool is a text like `pattern`."""
    for path, function in functions(sent):
        name = function.get("name")
        if not (isinstance(name, str) and re.fullmatch(pattern, name)):
            yield f"{path}.name", f"{name!r} does not match {pattern}"


def strict_schemas(sent: Sent) -> Iterator[Problem]:
    """Where a function says `strict`, each object of its schema is closed and requires all of its properties."""
    for path, function in functions(sent):
        if function.get("strict") is True:
            yield from _strict(function.get("parameters"), f"{path}.parameters")


def _strict(schema: Any, path: str) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, dict):
        if schema.get("additionalProperties") is not False:
            yield f"{path}.additionalProperties", "not false"
        required = schema.get("required") if isinstance(schema.get("required"), list) else []
        if missing := [name for name in properties or {} if name not in (required or [])]:
            yield f"{path}.required", f"lacks {', '.join(missing)}"
    for key, inner in schema.items():
        named = key in ("properties", "$defs", "definitions") and isinstance(inner, dict)
        if named:
            for name, one in inner.items():
                yield from _strict(one, f"{path}.{key}.{name}")
        elif key == "items":
            yield from _strict(inner, f"{path}.items")
        elif key == "anyOf" and isinstance(inner, list):
            for number, one in enumerate(inner):
                yield from _strict(one, f"{path}.anyOf[{number}]")
