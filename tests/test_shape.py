"""The shapes of a request: the JSON Schema, what it finds, and that it does not repeat what a rule says better."""

import copy
import json
from typing import Any

import fastjsonschema
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.profiles import breaches, rules_of
from compare.shape import ENVELOPE, MESSAGE, SCHEMA, passes, validator
from protocol.profile import profile
from tests.evidence import USER, answering, asking, call, result
from toolbox import CALCULATOR

TOOLS = [CALCULATOR.schema()]
REASONED = asking(call()) | {"reasoning_content": "One and one."}
TURN = [USER, asking(call()), result()]
NO_ID = [USER, asking(call(None)), result(None)]

KEYS = ["role", "content", "name", "tool_calls", "tool_call_id", "id", "type", "function", "arguments", "custom",
        "model", "tools", "tool_choice", "stop", "n", "temperature", "text", "response_format"]  # fmt: skip
SIMPLE = st.sampled_from(
    ["user", "assistant", "tool", "function", "custom", "text", "auto", "", None, 1, 0.5, 1.0, True]
)
ODD = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


def shaped(messages: list[Any], envelope: dict[str, Any] | None = None) -> list[str]:
    """Where a request has not the shape of the schema, and what is wrong there."""
    found = breaches(messages, rules_of(profile("openai")), 0, envelope)
    return [f"{breach.path}: {breach.text}" for breach in found if breach.rule.id == "request-shape"]


def test_the_schema_is_one() -> None:
    """The schema itself is legal, so that it can refuse."""
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("messages", "envelope"),
    [
        (TURN, {"model": "m", "tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True}),
        (
            [USER, REASONED, result()],
            {"model": "m", "stop": ["a"], "temperature": 0.5, "stream": True, "vendor": {}},
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}]}], {"model": "m", "max_tokens": None}),
        ([USER], {"model": "m", "tool_choice": {"type": "function", "function": {"name": "f"}}}),
        ([USER], {"model": "m", "response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}),
    ],
)
def test_a_request_of_legal_shape_passes(messages: list[Any], envelope: dict[str, Any]) -> None:
    """Keys of a provider's own are let pass."""
    assert shaped(messages, envelope) == []


@pytest.mark.parametrize(
    ("messages", "envelope", "found"),
    [
        ([USER | {"name": 3}], None, 'messages[0].name: 3, against type "string"'),
        ([{"role": "user", "content": [{"type": "text"}]}], None, "messages[0].content[0].text: missing"),
        ([{"role": "user", "content": [{"type": "video"}]}], None, "messages[0].content[0].type: "),
        ([{"role": "function", "content": "x"}], None, "messages[0].name: missing"),
        ([answering() | {"refusal": 1}], None, "messages[0].refusal: 1, against type "),
        (
            [asking({"id": "c", "type": "custom", "custom": {"name": "f"}}), result("c")],
            None,
            "messages[0].tool_calls[0].custom.input: missing",
        ),
        ([USER], {}, "model: missing"),
        ([USER], {"model": "m", "temperature": "hot"}, 'temperature: "hot", against type '),
        ([USER], {"model": "m", "temperature": 3}, "temperature: 3, against maximum 2"),
        ([USER], {"model": "m", "tools": [{"type": "function"}]}, "tools[0].function: missing"),
        ([USER], {"model": "m", "tool_choice": "any"}, 'tool_choice: "any", against enum '),
        ([USER], {"model": "m", "stop": [1]}, "stop: "),
    ],
)
def test_a_shape_that_is_wrong_is_named(messages: list[Any], envelope: Any, found: str) -> None:
    """The path, and what was against what."""
    (one,) = shaped(messages, envelope)
    assert one.startswith(found)


@pytest.mark.parametrize("part", [MESSAGE, ENVELOPE])
@given(st.data())
def test_the_two_validators_agree(part: str, data: st.DataObject) -> None:
    """The one that is fast passes nothing that the one that is thorough would name."""
    value = data.draw(st.dictionaries(st.sampled_from(KEYS), ODD, max_size=5))
    try:
        passes(part)(value)
    except fastjsonschema.JsonSchemaValueException:
        assert not validator(part).is_valid(value)
    else:
        assert validator(part).is_valid(value)


def test_what_another_rule_tells_is_not_told_twice() -> None:
    """The schema knows roles, contents and calls too; the rule with the better name speaks."""
    messages = NO_ID
    before = copy.deepcopy(messages)
    found = [breach.rule.id for breach in breaches(messages, rules_of(profile("openai")))]
    assert "call-shape" in found
    assert [at for at in shaped(messages) if "tool_calls[0].id" in at] == []
    assert messages == before
