"""How arguments are checked against a JSON Schema, and in which words a model is told what is wrong."""

import json
from collections.abc import Callable
from typing import Any


def compile_check(schema: dict[str, Any]) -> Callable[[Any], Any]:
    """A function that raises a ValueError, for `explain`, when its argument does not fit the schema.

    Nothing is converted and no default filled in. Raises fastjsonschema's JsonSchemaDefinitionException, a
    ValueError, for a schema that is wrong itself.
    """
    import fastjsonschema  # here, because loading it takes longer than all the rest of this package

    check: Callable[[Any], Any] = fastjsonschema.compile(schema, use_default=False)
    return check


def explain(error: Any) -> str:
    """What fastjsonschema found, naming the field, in words that do not change with its version."""
    field = error.name.removeprefix("data").removeprefix(".")
    inside = f" in {field!r}" if field else ""
    known = error.definition.get("properties", {})
    match error.rule:
        case "required":
            missing = [name for name in error.definition["required"] if name not in error.value]
            return f"missing {_fields(missing)}{inside}"
        case "additionalProperties":
            unknown = [name for name in error.value if name not in known]
            return f"unknown {_fields(unknown)}{inside}; the fields are {', '.join(known) or 'none'}"
        case "type":
            wanted = error.rule_definition
            wanted = " or ".join([wanted] if isinstance(wanted, str) else wanted)
            return f"{field!r} must be of type {wanted}, not {json_type(error.value)}"
    rule = json.dumps(error.rule_definition, ensure_ascii=False)
    return f"{repr(field) if field else 'the object'} does not fit {error.rule}: {rule}"


def json_type(value: object) -> str:
    """The JSON Schema name of a value's type, or the Python name of what JSON does not have."""
    names: dict[type, str] = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)


def _fields(names: list[str]) -> str:
    quoted = ", ".join(repr(name if len(name) <= 100 else name[:100] + "…") for name in names[:10])
    return f"{'field' if len(names) == 1 else 'fields'} {quoted}{' and more' if len(names) > 10 else ''}"
