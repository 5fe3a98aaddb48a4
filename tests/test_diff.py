"""Two messages compared, what may differ without a difference, and what each tolerance does not forgive."""

import json
from typing import Any

import pytest

from compare import tolerances
from compare.comparison import compare_scenario
from compare.diff import Difference, diff, message_differences
from compare.lanes import load_lanes
from compare.scenario import find
from compare.values import equal, parse, same

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def with_function(**changes: Any) -> dict[str, Any]:
    """The assistant message with its function changed."""
    return {**ASSISTANT, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": '{"a":1}', **changes}}]}


def kinds(truth: Any, got: Any) -> list[tuple[str, str]]:
    """The class and path of each difference of two messages."""
    return [(one.kind, one.path) for one in diff(truth, got, "m").differences]


@pytest.mark.parametrize(
    ("truth", "got", "expected"),
    [
        ({"role": "assistant", "x": 1}, {"role": "assistant"}, [("lost-field", "m.x")]),
        ({"role": "assistant"}, {"role": "assistant", "x": None}, [("added-field", "m.x")]),
        ({"x": [1, 2]}, {"x": [1]}, [("lost-field", "m.x[1]")]),
        ({"x": [1]}, {"x": [1, 2]}, [("added-field", "m.x[1]")]),
        ({"x": {"y": 1}}, {"x": {"y": 2}}, [("changed-value", "m.x.y")]),
        ({"x": 1}, {"x": True}, [("changed-value", "m.x")]),
        ({"x": 0}, {"x": False}, [("changed-value", "m.x")]),
        ({"x": "1"}, {"x": 1}, [("changed-value", "m.x")]),
        ({"x": None}, {"x": "null"}, [("changed-value", "m.x")]),
        ({"x": {}}, {"x": []}, [("changed-value", "m.x")]),
        ({"reasoning_content": "so"}, {"reasoning": "so"}, [("renamed-parameter", "m.reasoning_content")]),
        ({"x": True}, {"y": True}, [("lost-field", "m.x"), ("added-field", "m.y")]),
        (
            {"x": "a", "y": "a"},
            {"z": "a"},
            [("renamed-parameter", "m.x"), ("lost-field", "m.y")],
        ),
        ({"a": 1, "b": [{"c": 2}]}, {"b": [{"c": 2}], "a": 1}, []),
    ],
)
def test_each_way_to_part_has_its_class_and_place(truth: Any, got: Any, expected: list[tuple[str, str]]) -> None:
    """A key is lost, added, renamed or changed, and the path says where."""
    assert expected == kinds(truth, got)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("1.10", "1.1", "re-serialised"),
        ("1.0", "1", "re-serialised"),
        ("1e400", "10e399", "re-serialised"),
        ("1e400", "1e500", "changed-value"),
        ("0.1", "0.1000000000000000055", "changed-value"),
        ("1e999999999999999999999", "1e999999999999999999998", "changed-value"),
    ],
)
def test_numbers_are_compared_by_their_digits(one: str, other: str, kind: str) -> None:
    """Two spellings that one float stands for are still two numbers, and one number has many spellings."""
    assert [(kind, "m.x")] == kinds(parse(f'{{"x": {one}}}'), parse(f'{{"x": {other}}}'))


def test_a_number_under_the_same_spelling_is_the_same() -> None:
    """What Python cannot hold is no difference either, as long as it came back as it was written."""
    text = '{"x": [1e400, 1.10, -0.0]}'
    assert [] == kinds(parse(text), parse(text))


def test_argument_strings_say_how_and_from_which_byte() -> None:
    """The arguments of a call are compared as JSON; the offset counts UTF-8 bytes."""
    truth, got = with_function(arguments='{"计":1}'), with_function(arguments='{"计": 1}')
    path = "m.tool_calls[0].function.arguments"
    expected = [Difference("re-serialised", path, '{"计":1}', '{"计": 1}', "spacing", 7)]
    assert expected == diff(truth, got, "m").differences


def test_only_the_arguments_of_a_function_are_read_as_json() -> None:
    """A vendor's key of the same name holds any text."""
    assert [("changed-value", "m.x.arguments")] == kinds({"x": {"arguments": "1.0"}}, {"x": {"arguments": "1"}})


TAKEN = [
    ("blank-content", ASSISTANT, {**ASSISTANT, "content": ""}),
    ("blank-content", {**ASSISTANT, "content": ""}, {"role": "assistant", "tool_calls": [CALL]}),
    ("absent-null", {**ASSISTANT, "refusal": None}, ASSISTANT),
    (
        "absent-null",
        {"role": "assistant", "content": "a", "tool_calls": []},
        {"role": "assistant", "content": "a"},
    ),
    ("absent-null", {**ASSISTANT, "tool_calls": [{**CALL, "index": None}]}, ASSISTANT),
    (
        "default-type",
        {**ASSISTANT, "tool_calls": [{"id": "call_1", "function": CALL["function"]}]},
        ASSISTANT,
    ),
    ("default-type", {**ASSISTANT, "tool_calls": [{**CALL, "type": None}]}, ASSISTANT),
    ("default-type", {**ASSISTANT, "tool_calls": [{**CALL, "type": "plugin"}]}, ASSISTANT),
    *[("default-name", with_function(name=name), with_function(name="unnamed")) for name in ("", None, 7)],
    ("default-role", {"content": "a"}, {"role": "assistant", "content": "a"}),
    ("arguments-as-text", with_function(arguments={"a": 1}), with_function(arguments='{"a": 1}')),
    ("repaired-arguments", with_function(arguments='{"a": 1'), with_function(arguments="{}")),
    ("repaired-arguments", with_function(arguments='{"a": NaN}'), with_function(arguments="{}")),
    ("repaired-arguments", with_function(arguments='{"a": "1\n"}'), with_function(arguments="{}")),
    ("repaired-arguments", with_function(arguments=[1]), with_function(arguments="{}")),
    (
        "repaired-arguments",
        {**ASSISTANT, "tool_calls": [{**CALL, "function": {"name": "f"}}]},
        with_function(arguments="{}"),
    ),
]


@pytest.mark.parametrize(("name", "truth", "got"), TAKEN)
def test_a_tolerance_forgives_what_it_names(name: str, truth: Any, got: Any) -> None:
    """There is no difference, and the tolerance is named."""
    compared = diff(truth, got, "m")
    assert ([], [name]) == (compared.differences, list(compared.tolerances))


@pytest.mark.parametrize(
    ("truth", "got"),
    [
        # blank-content
        (ASSISTANT, {**ASSISTANT, "content": " "}),
        ({**ASSISTANT, "content": "a"}, ASSISTANT),
        ({**ASSISTANT, "content": "a"}, {**ASSISTANT, "content": ""}),
        ({"role": "assistant", "content": ""}, {"role": "assistant", "content": None}),
        ({"role": "assistant", "content": ""}, {"role": "assistant"}),
        ({"role": "assistant", "content": "a"}, {"role": "assistant", "content": ""}),
        ({"role": "assistant", "content": None}, {"role": "assistant", "content": ""}),
        ({**ASSISTANT, "x": {"content": None}}, {**ASSISTANT, "x": {"content": ""}}),
        ({"role": "assistant", "content": None}, {"role": "assistant"}),
        # absent-null
        (ASSISTANT, {**ASSISTANT, "refusal": None}),
        ({**ASSISTANT, "refusal": False}, ASSISTANT),
        ({**ASSISTANT, "refusal": 0}, ASSISTANT),
        ({**ASSISTANT, "refusal": ""}, ASSISTANT),
        ({**ASSISTANT, "x": {}}, ASSISTANT),
        ({**ASSISTANT, "x": {"y": None, "z": 1}}, {**ASSISTANT, "x": {"z": 1}}),
        # default-type and default-role
        ({**ASSISTANT, "tool_calls": [{**CALL, "type": "custom"}]}, ASSISTANT),
        ({**ASSISTANT, "tool_calls": [{**CALL, "type": None}]}, {**ASSISTANT, "tool_calls": [{**CALL, "type": ""}]}),
        ({**ASSISTANT, "x": {"y": 1}}, {**ASSISTANT, "x": {"y": 1, "type": "function"}}),
        (ASSISTANT, {**ASSISTANT, "type": "function"}),
        ({"content": "a"}, {"role": "user", "content": "a"}),
        ({"role": "tool", "content": "a"}, {"role": "assistant", "content": "a"}),
        # default-name
        (with_function(name="f"), with_function(name="unnamed")),
        (with_function(name=""), with_function(name="calculator")),
        ({**ASSISTANT, "x": {"name": ""}}, {**ASSISTANT, "x": {"name": "unnamed"}}),
        # arguments-as-text
        (with_function(arguments={"a": 1}), with_function(arguments='{"a": 2}')),
        (with_function(arguments={"a": True}), with_function(arguments='{"a": 1}')),
        (with_function(arguments={"a": 1}), with_function(arguments="{}")),
        (with_function(arguments={"a": 1}), with_function(arguments='{"a": 1')),
        (with_function(arguments='{"a":1}'), with_function(arguments={"a": 1})),
        (with_function(arguments=[1]), with_function(arguments="[1]")),
        # repaired-arguments
        (with_function(arguments='{"a": 1}'), with_function(arguments="{}")),
        (with_function(arguments="null"), with_function(arguments="{}")),
        (with_function(arguments="[]"), with_function(arguments="{}")),
        (with_function(arguments='{"a": 1'), with_function(arguments='{"a": 1}')),
        (with_function(arguments='{"a": 1'), with_function(arguments="")),
        (with_function(arguments="{}"), with_function(arguments='{"a": 1')),
    ],
)
def test_a_tolerance_forgives_nothing_else(truth: Any, got: Any) -> None:
    """What is near to a tolerance, the other direction too, stays a difference."""
    compared = diff(truth, got, "m")
    assert (1, []) == (len(compared.differences), list(compared.tolerances))


@pytest.mark.parametrize(("name", "truth", "got"), TAKEN)
def test_between_two_lanes_a_tolerance_holds_either_way(name: str, truth: Any, got: Any) -> None:
    """Neither lane is the truth, so the order in which they are named must not matter."""
    for one, other in ((truth, got), (got, truth)):
        compared = diff(one, other, "m", both_ways=True)
        assert ([], [name]) == (compared.differences, list(compared.tolerances))


def test_no_tolerance_holds_outside_of_a_message() -> None:
    """Arguments and parameters mean what they say, whatever their keys are called."""
    truth: dict[str, Any] = {"content": None, "type": None, "role": None, "arguments": "not JSON", "x": []}
    got = {"content": "", "type": "function", "role": "assistant", "arguments": "{}"}
    compared = diff(truth, got, "executed", "")
    assert ([*truth], []) == (
        [one.path.removeprefix("executed.") for one in compared.differences],
        [*compared.tolerances],
    )


NEEDED = {
    "blank-content": "content-empty-beside-calls",
    "default-role": "role-missing",
    "absent-null": "vendor-keys-on-a-message",
    "default-type": "call-without-type",
    "default-name": "tool-name-empty",
    "arguments-as-text": "arguments-as-object",
    "repaired-arguments": "arguments-not-json",
    "key-order": "one-call",
    "argument-bytes": "arguments-compact",
    "result-envelope": "one-call",
    "error-wording": "arguments-wrong-type",
}


def test_every_tolerance_is_needed_by_a_scenario() -> None:
    """None is there for what might be: the two lanes need each of them somewhere in the catalogue."""
    lanes = load_lanes("raw,lc")
    for name, scenario in NEEDED.items():
        compared = compare_scenario(find(scenario)[0], lanes)
        taken = [one for judged in compared.lanes for names in judged.tolerances.values() for one in names]
        assert name in [*taken, *(one for row in compared.rows for one in row.tolerances)]
    assert set(NEEDED) == set(tolerances.legend())


def test_every_tolerance_is_one_printed_sentence() -> None:
    """The docstring is what the report prints."""
    for name, sentence in tolerances.legend().items():
        assert sentence[0].isupper(), name
        assert sentence.endswith("."), name
        assert ". " not in sentence, name
    functions = [one for place in tolerances.TOLERANCES.values() for one in place] + [*tolerances.ROW_TOLERANCES]
    assert all(len((one.__doc__ or "").splitlines()) == 1 for one in functions)


def test_between_rows_the_same_result_may_be_told_in_two_ways() -> None:
    """Bare or in the envelope; another result, or a failure, is not the same."""
    envelope = json.dumps({"ok": True, "result": {"a": 1}})
    assert tolerances.result_envelope('{"a": 1}', envelope, {"a": 1})
    assert not tolerances.result_envelope('{"a": 2}', envelope, {"a": 1})
    assert not tolerances.result_envelope('{"a": 1}', '{"ok": false, "result": {"a": 1}}', {"a": 1})


def test_between_rows_only_two_failures_may_differ_in_words() -> None:
    """A failure and a success are no matter of wording."""
    told = [(one, other) for one in (True, False) for other in (True, False) if tolerances.error_wording(one, other)]
    assert [(False, False)] == told


def test_between_rows_other_bytes_are_forgiven_only_where_nothing_else_differs() -> None:
    """One changed value among respelled ones stays a difference."""
    assert tolerances.argument_bytes(["re-serialised", "re-serialised"])
    assert not tolerances.argument_bytes(["re-serialised", "changed-value"])
    assert not tolerances.argument_bytes([])


def test_between_rows_key_order_forgives_no_value() -> None:
    """Keys may stand in any order; entries of a list may not, and 1 is not true."""
    assert tolerances.key_order({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1})
    assert not tolerances.key_order({"a": 1, "b": [1, 2]}, {"b": [2, 1], "a": 1})
    assert not tolerances.key_order({"a": 1}, {"a": True})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1.10", "1.1", (True, False)),
        ("1.10", "1.10", (True, True)),
        ("1", "1.0", (True, False)),
        ("1", "true", (False, False)),
        ("1.5", '"1.5"', (False, False)),
    ],
)
@pytest.mark.parametrize("around", ["%s", '{"a": [%s]}'])
def test_equal_goes_by_value_and_same_by_spelling(
    one: str, other: str, expected: tuple[bool, bool], around: str
) -> None:
    """At any depth."""
    left, right = parse(around % one), parse(around % other)
    assert expected == (equal(left, right), same(left, right))


USER, SYSTEM = {"role": "user", "content": "u"}, {"role": "system", "content": "s"}


@pytest.mark.parametrize(
    ("truth", "got", "expected"),
    [
        ([SYSTEM, USER], [USER], [("lost-field", "messages[0]")]),
        ([USER], [SYSTEM, USER], [("added-field", "messages[0]")]),
        ([USER], [USER, SYSTEM], [("added-field", "messages[1]")]),
        ([SYSTEM, USER], [{**SYSTEM, "role": "developer"}, USER], [("changed-value", "messages[0].role")]),
        ([USER, USER], [USER], [("lost-field", "messages[1]")]),
        ([SYSTEM, USER], [SYSTEM, USER], []),
        ([], [USER], [("added-field", "messages[0]")]),
    ],
)
def test_one_message_more_or_less_is_one_difference(truth: Any, got: Any, expected: Any) -> None:
    """What stands before and behind it is not dragged in."""
    assert expected == [(one.kind, one.path) for one in message_differences(truth, got)]
