"""The shapes of a request, checked by the JSON Schema beside this file: a rule that needs more than the ground has."""

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema

from protocol.checks import Problem, Sent
from protocol.rules import Breach, Rule

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

SCHEMA = Path(__file__).parent / "request_schema.json"
MESSAGE, ENVELOPE = "messages", "envelope"


def shape(sent: Sent) -> Iterator[Problem]:
    """Each message from `start` on, and the envelope where there is one, has the shape of the schema."""
    for index, message in enumerate(sent.messages[sent.start :], sent.start):
        yield from problems(MESSAGE, message, f"messages[{index}]")
    if sent.envelope is not None:
        yield from problems(ENVELOPE, sent.envelope, "")


REQUEST_SHAPE = Rule(
    "request-shape",
    "openai",
    "messages, tools and parameters have the keys and types of the API reference",
    400,
    "OpenAI API reference, Create chat completion; as compare/request_schema.json",
    "2023-11",
    shape,
)
"""Part of OpenAI's profile, and so of every one that extends it."""


def without_doubles(breaches: list[Breach]) -> list[Breach]:
    """The breaches without those of the shape that stand at, inside or around the place of another one."""
    others = [breach.path for breach in breaches if breach.rule is not REQUEST_SHAPE]
    return [
        breach
        for breach in breaches
        if breach.rule is not REQUEST_SHAPE
        or not any(inside(breach.path, path) or inside(path, breach.path) for path in others)
    ]


def inside(path: str, other: str) -> bool:
    """Whether a JSON path is the other one, or leads on from it."""
    return path.startswith(other) and path[len(other) : len(other) + 1] in ("", ".", "[")


@functools.cache
def schema_of(part: str) -> dict[str, Any]:
    """The schema of one message, or that of a request without its messages."""
    schema: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    if part == MESSAGE:
        return {"$defs": schema["$defs"], "$ref": "#/$defs/message"}
    rest = {key: value for key, value in schema["properties"].items() if key != MESSAGE}
    return {**schema, "required": ["model"], "properties": rest}


@functools.cache
def passes(part: str) -> Callable[[Any], Any]:
    """A function that raises for what breaks the schema, and says nothing more: nearly all requests are legal.

    Over a long conversation it takes a small part of the time of the validator that names what is wrong, and that one
    need not even be loaded.
    """
    compiled: Callable[[Any], Any] = fastjsonschema.compile(schema_of(part), use_default=False)
    return compiled


@functools.cache
def validator(part: str) -> "Draft202012Validator":
    """The validator that finds everything that is wrong."""
    from jsonschema import Draft202012Validator  # when it is needed: it takes longer to load than a run takes

    return Draft202012Validator(schema_of(part))


def problems(part: str, value: Any, path: str) -> list[Problem]:
    """What breaks the schema, each with the JSON path to it; a key that is missing with the path where it belongs."""
    try:
        passes(part)(value)
    except fastjsonschema.JsonSchemaValueException:
        return list(dict.fromkeys(problem(error, path) for error in validator(part).iter_errors(value)))
    return []


def problem(error: "ValidationError", path: str) -> Problem:
    """One error of the validator as path and text; of values only the type is told, because they may be long."""
    for step in error.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    if error.validator == "required":
        return f"{path}.{error.message.split(chr(39))[1]}".lstrip("."), "missing"
    wanted = json.dumps(error.validator_value)
    return path, f"{kind(error.instance)}, against {error.validator} {wanted}"


def kind(value: Any) -> str:
    """A short value itself, the type of a long one."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else type(value).__name__
