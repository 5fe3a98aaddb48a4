"""Two argument strings compared: as text first, then as the values that they spell."""

import json
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.arguments import Compared, compare_arguments
from protocol import is_json


def test_equal_text_is_the_same() -> None:
    """Nothing is parsed where the bytes agree, be it JSON or not."""
    assert Compared("same") == compare_arguments('{"a": 1', '{"a": 1')


@pytest.mark.parametrize(
    ("truth", "got", "ways", "offset"),
    [
        ('{"a":1}', '{"a": 1}', ("spacing",), 5),
        ('{ "a":1}', '{"a": 1}', ("spacing",), 1),
        ('{"a":1}', '{"a":1}\n', ("spacing",), 7),
        ('{"a":1.10}', '{"a":1.1}', ("number spelling",), 8),
        ('{"a":1e400}', '{"a":10E399}', ("number spelling",), 6),
        ('{"a":1e400}', '{"a":1E+400}', ("number spelling",), 6),
        ('{"a":100}', '{"a":1e2}', ("number spelling",), 6),
        ('{"a":"计"}', '{"a":"\\u8ba1"}', ("escapes",), 6),
        ('{"a":"/"}', '{"a":"\\/"}', ("escapes",), 6),
        ('{"计":1}', '{"\\u8ba1":1}', ("escapes",), 2),
        ('{"a":"one\ntwo"}', '{"a":"one\\ntwo"}', ("escapes",), 9),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', ("key order",), 2),
        ('{"x":{"a":1,"b":2}}', '{"x":{"b":2,"a":1}}', ("key order",), 7),
        ('{"a":1,"b":"计"}', '{"b": "\\u8ba1", "a": 1.0}', ("escapes", "key order", "number spelling", "spacing"), 2),
    ],
)
def test_other_text_of_the_same_value_is_re_serialised(
    truth: str, got: str, ways: tuple[str, ...], offset: int
) -> None:
    """Each way to write one value otherwise has its name, and the first byte that differs is given."""
    assert Compared("re-serialised", ways, offset) == compare_arguments(truth, got)


@pytest.mark.parametrize(
    ("truth", "got", "change", "offset"),
    [
        ('{"a":1}', '{"a":2}', "$.a: 1 became 2", 5),
        ('{"a":1}', '{"a":"1"}', '$.a: 1 became "1"', 5),
        ('{"a":1}', '{"a":true}', "$.a: 1 became true", 5),
        ('{"a":null}', '{"a":false}', "$.a: null became false", 5),
        ('{"a":1e400}', '{"a":1e401}', "$.a: 1e400 became 1e401", 9),
        ('{"a":0.1}', '{"a":0.1000000000000000055}', "$.a: 0.1 became 0.1000000000000000055", 8),
        ('{"a":9007199254740993}', '{"a":9007199254740992.0}', "$.a: 9007199254740993 became 9007199254740992.0", 20),
        ('{"a":"计"}', '{"a":"计 "}', '$.a: "计" became "计 "', 9),
        ('{"a":1}', "{}", "$.a: lost", 1),
        ("{}", '{"a":1}', "$.a: added", 1),
        ('{"x":[{"a":1}]}', '{"x":[{"a":2}]}', "$.x[0].a: 1 became 2", 11),
        ('{"a":[1,2]}', '{"a":[1]}', "$.a: 2 entries became 1", 7),
        ('{"a":[]}', '{"a":{}}', "$.a: [] became {}", 5),
        ('{"a":1,"a":2}', '{"a":2}', "$: 2 times the key 'a' became 1 times", 5),
        ('{"a":2}', '{"a":2,"a":2}', "$: 1 times the key 'a' became 2 times", 6),
        ('{"a":1,"a":2}', '{"a":3,"a":2}', "$.a: 1 became 3", 5),
        ("null", "{}", "$: null became {}", 0),
        ('{"a":NaN}', '{"a":null}', "the model's text is not JSON, and other text came back", 5),
        ('{"a":1e400}', '{"a":Infinity}', "what came back is not JSON", 5),
        ('{"a":1', "{}", "the model's text is not JSON, and other text came back", 1),
    ],
)
def test_another_value_is_changed(truth: str, got: str, change: str, offset: int) -> None:
    """A change says where and from what to what, and gives the first byte that differs."""
    assert Compared("changed", (change,), offset) == compare_arguments(truth, got)


def test_deep_nesting_is_no_fault_of_ours() -> None:
    """What cannot be compared for its depth counts as changed, instead of ending the judge."""
    deep = '{"":' * 700 + "1" + "}" * 700
    compared = compare_arguments(deep, f"{deep} ")
    assert Compared("changed", ("nested too deeply to be compared",), len(deep)) == compared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", True),
        ('{"a": 1e400}', True),
        ('{"a": "\\ud83d"}', True),
        ("", False),
        ('{"a": NaN}', False),
        ('{"a": "one\ntwo"}', False),
        ('{"a": 1', False),
        ("[" * 100_000, False),
    ],
)
def test_json_is_meant_to_the_letter(text: str, expected: bool) -> None:
    """NaN and a raw line break are read by lenient parsers, and are no JSON."""
    assert expected is is_json(text)


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any, order: random.Random) -> Any:
    """The value with the keys of each object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(inner, order) for inner in value] if isinstance(value, list) else value


@given(VALUES, st.randoms(use_true_random=False), st.booleans(), st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_writing_a_value_anew_never_changes_it(
    value: Any, order: random.Random, ascii_only: bool, indent: int | str | None, compact: bool
) -> None:
    """Other spacing, escapes and key order are not a change; and where the text differs, a way is named."""
    separators = (",", ":") if compact else None
    again = json.dumps(shuffled(value, order), ensure_ascii=ascii_only, indent=indent, separators=separators)
    compared = compare_arguments(json.dumps(value), again)
    assert compared.verdict != "changed"
    assert bool(compared.ways) == (compared.verdict == "re-serialised")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all that holds nothing else."""
    if isinstance(value, dict) and value:
        return [found for key in value for found in leaves(value[key], (*path, key))]
    if isinstance(value, list) and value:
        return [found for index, inner in enumerate(value) for found in leaves(inner, (*path, index))]
    return [path]


def with_leaf(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """The value with another leaf."""
    if not path:
        return leaf
    if isinstance(value, dict):
        return {key: with_leaf(inner, path[1:], leaf) if key == path[0] else inner for key, inner in value.items()}
    return [with_leaf(inner, path[1:], leaf) if index == path[0] else inner for index, inner in enumerate(value)]


@given(VALUES, LEAVES, st.data())
def test_another_leaf_is_always_a_change(value: Any, leaf: Any, data: st.DataObject) -> None:
    """Whatever leaf takes the place of another of another spelling in JSON and another value, it is seen."""
    path = data.draw(st.sampled_from(leaves(value)))
    other = with_leaf(value, path, leaf)
    changed = compare_arguments(json.dumps(value), json.dumps(other)).verdict == "changed"
    assert unlike(value, other) == changed


def unlike(one: Any, other: Any) -> bool:
    """Whether two values differ by Python's own comparison, made to tell true from 1 and to go by digits."""
    return bool(typed(one) != typed(other))


def typed(value: Any) -> Any:
    """The value with each truth value named, and each number as its digits have it."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: typed(inner) for key, inner in value.items()}
    return [typed(inner) for inner in value] if isinstance(value, list) else value
