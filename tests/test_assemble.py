"""Deltas to a message: each rule for a stream that is not quite as the protocol has it."""

import ast
import inspect
import json
from typing import Any

import pytest

import tests.test_sse
from protocol import DEVIATIONS, Assembled, BadReply, assemble

DONE = "[DONE]"
A, B = '{"a":1', ',"b":2}'
ADD = {"id": "c1", "function": {"name": "add", "arguments": A + B}}


def chunk(delta: Any = None, finish_reason: Any = None, **more: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], **more})


def entry(arguments: str | None = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    """An entry of tool_calls; a key that is not given is not there."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**more, **({"function": function} if function else {})}


def streamed(*deltas: Any, finish: str = "tool_calls") -> Assembled:
    """What a stream of these deltas assembles to, well ended."""
    return assemble([*map(chunk, deltas), chunk({}, finish), DONE])


def calls_of(*entries: dict[str, Any] | list[Any]) -> tuple[list[Any], set[str]]:
    """The calls of a stream with these entries, one delta each, or a list of them in one; and the deviations."""
    deltas = [{"tool_calls": one if isinstance(one, list) else [one]} for one in entries]
    told = streamed({"role": "assistant"}, *deltas)
    return told.message.get("tool_calls", []), set(told.deviations)


def add(arguments: str = A + B, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "function": {"name": "add", "arguments": arguments}, **more}


def get(arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"id": "c2", "function": {"name": "get", "arguments": arguments}, **more}


def test_a_stream_as_openai_sends_it() -> None:
    """Role, text, calls, finish reason and usage make the message of a plain reply, without any deviation."""
    told = assemble(
        [
            chunk({"role": "assistant", "content": None}),
            chunk({"tool_calls": [entry("", "add", index=0, id="c1", type="function")]}),
            chunk({"tool_calls": [entry(A, index=0)]}),
            chunk({"tool_calls": [entry(B, index=0)]}),
            chunk({"tool_calls": [entry("", "get", index=1, id="c2", type="function")]}),
            chunk({"tool_calls": [entry("{}", index=1)]}),
            chunk({}, "tool_calls"),
            json.dumps({"choices": [], "usage": {"total_tokens": 3}}),
            DONE,
        ]
    )
    calls = [add(type="function"), get(type="function")]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    assert told == Assembled(message, "tool_calls", {"total_tokens": 3}, True, ())


CALL_RULES: list[tuple[list[Any], list[Any], set[str]]] = [
    # No index: an id opens a call, what has none goes on with the last.
    ([entry(A, "add", id="c1"), entry(B)], [add()], {"index-missing"}),
    ([entry(A, "add", id="c1"), entry(B), entry("{}", "get", id="c2")], [add(), get()], {"index-missing"}),
    ([entry(A, "add", id="c1"), entry(B, index=0)], [add()], {"index-missing"}),
    ([entry(A, "add", id="c1", index=0), entry(B)], [add()], {"index-missing"}),
    ([entry(A, "add", id="c1"), entry(B, index=0, id="c1")], [add()], {"index-missing", "id-repeated"}),
    ([entry(A, "add", id="c1", index=None), entry(B, id="c1", index=None)], [add()], {"index-missing", "id-repeated"}),
    (
        [entry(A, "add", id="c1"), entry("{}", "get", id="c2"), entry(B, id="c1")],
        [add(), get()],
        {"index-missing", "id-repeated"},
    ),
    ([entry(A, "add", id="c1", index=-1), entry(B, index=True)], [add()], {"index-missing"}),
    # Neither index nor id: a name opens a call where it cannot belong to the last.
    (
        [entry("{}", "get"), entry("{}", "get"), entry(A, "add"), entry(B)],
        [{"function": get()["function"]}, {"function": get()["function"]}, {"function": add()["function"]}],
        {"index-missing", "id-missing"},
    ),
    (
        [entry(A, "add"), entry("", "get"), entry("{}")],
        [{"function": {"name": "add", "arguments": A}}, {"function": get()["function"]}],
        {"index-missing", "id-missing"},
    ),
    (
        [[entry("", "get"), entry("", "add")]],
        [{"function": {"name": name, "arguments": ""}} for name in ("get", "add")],
        {"index-missing", "id-missing"},
    ),
    # Index as text, shared, with gaps, from 1, descending.
    ([entry(A, "add", id="c1", index="0"), entry(B, index=0)], [add()], {"index-as-text"}),
    ([entry(A, "add", id="c1", index=0.0), entry(B, index="0")], [add()], {"index-as-text"}),
    ([entry(A + B, "add", id="c1", index=0), entry("{}", "get", id="c2", index=0)], [add(), get()], {"index-shared"}),
    (
        [
            entry(A, "add", id="c1", index=0),
            entry("", "get", id="c2", index=0),
            entry("{}", index=0),
            entry(B, id="c1", index=0),
        ],
        [add(), get()],
        {"index-shared", "id-repeated"},
    ),
    (
        [entry(A + B, "add", index=0), entry("{}", "get", index=0)],
        [{"function": add()["function"]}, {"function": get()["function"]}],
        {"index-shared", "id-missing"},
    ),
    (
        [entry("{}", "get", index=0), entry("{}", "get", index=0)],
        [{"function": get()["function"]}] * 2,
        {"index-shared", "id-missing"},
    ),
    ([entry(A, "add", id="c1", index=1), entry(B, index=1)], [add()], {"index-gap"}),
    ([entry(A + B, "add", id="c1", index=0), entry("{}", "get", id="c2", index=2)], [add(), get()], {"index-gap"}),
    (
        [entry("{}", "get", id="c2", index=1), entry(A + B, "add", id="c1", index=0)],
        [add(), get()],
        {"index-descending"},
    ),
    (
        [entry(A, "add", id="c1", index=0), entry(B, id="c1", index=1)],
        [add()],
        {"index-changed", "id-repeated"},
    ),
    # Interleaved, and several entries in one delta.
    (
        [
            entry(A, "add", id="c1", index=0),
            entry("{", "get", id="c2", index=1),
            entry(B, index=0),
            entry("}", index=1),
        ],
        [add(), get()],
        set(),
    ),
    ([[entry(None, "add", id="c1", index=0), entry(A, index=0)], entry(B, index=0)], [add()], set()),
    ([[entry(A + B, "add", id="c1", index=0), entry("{}", "get", id="c2", index=1)]], [add(), get()], set()),
    # Ids: empty, null, late, changing, and the same for two calls.
    ([entry(A, "add", id="c1", index=0), entry(B, id="", index=0)], [add()], {"id-empty"}),
    ([entry(A, "add", id="c1", index=0), entry(B, id=None, index=0)], [add()], {"id-empty"}),
    ([entry(A, "add", id=None, index=0), entry(B, index=0)], [add(id=None)], {"id-empty", "id-missing"}),
    ([entry(A, "add", id=7, index=0), entry(B, index=0)], [add(id=7)], {"id-empty", "id-missing"}),
    ([entry(A, "add", index=0), entry(B, id="c1", index=0)], [add()], {"id-late"}),
    ([entry(A, "add"), entry(B, id="c1")], [add()], {"id-late", "index-missing"}),
    ([entry(A, "add", id="c1", index=0), entry(B, id="c2", index=0)], [add()], {"id-changed"}),
    ([entry(A, "add", id="c1"), entry(B, id="c2")], [add()], {"id-changed", "index-missing"}),
    (
        [entry("{}", "get", id="c1", index=0), entry(A, "add", id="c1", index=1), entry(B, index=1)],
        [get(id="c1"), add()],
        set(),
    ),
    # Names: repeated, split, null.
    (
        [entry(A, "add", id="c1", index=0), entry(B, "add", id="c1", index=0)],
        [add()],
        {"name-repeated", "id-repeated"},
    ),
    ([entry(A, "add", id="c1", index=0), entry(B, "add", index=0)], [add()], {"name-repeated"}),
    ([entry(None, "ad", id="c1", index=0), entry(A, "d", index=0), entry(B, index=0)], [add()], {"name-split"}),
    ([entry(A, "add", id="c1", index=0), entry(B, "", index=0)], [add()], set()),
    (
        [{"index": 0, "id": "c1", "function": {"name": None, "arguments": "{}"}}, entry("{}", index=0)],
        [{"id": "c1", "function": {"name": None, "arguments": "{}{}"}}],
        set(),
    ),
    # Entries without what they should have.
    ([entry(A, "add", id="c1", index=0), {"index": 0}, entry(B, index=0)], [add()], {"function-missing"}),
    ([add(index=0), {"index": 1, "type": "function"}, {"index": 1, "function": None}], [add()], {"function-missing"}),
    ([{"index": 0, "id": "c1", "type": "function"}], [{"id": "c1", "type": "function"}], {"function-missing"}),
    ([[None, "x", 3, add(index=0)]], [add()], {"entry-no-object"}),
    # Arguments as an object, and keys of vendors.
    ([add({"a": 1}, index=0), entry("", index=0)], [add({"a": 1})], set()),  # type: ignore[arg-type]
    (
        [add(A, index=0, extra={"s": 1}), {"index": 0, "extra": None, "function": {"arguments": B, "x": 1}}],
        [{"id": "c1", "function": {"name": "add", "arguments": A + B, "x": 1}, "extra": {"s": 1}}],
        set(),
    ),
    ([add(index=0, extra=1), {"index": 0, "extra": 2}], [add(extra=2)], {"value-replaced", "function-missing"}),
]


@pytest.mark.parametrize(("entries", "calls", "deviations"), CALL_RULES)
def test_calls_are_put_together(entries: list[Any], calls: list[Any], deviations: set[str]) -> None:
    """Each way to send a call's pieces makes the calls that were meant, and is named."""
    assert calls_of(*entries) == (calls, deviations)


def test_a_call_sent_twice_does_not_become_two() -> None:
    """A whole call that comes again with its id makes arguments that are no JSON, rather than a second run."""
    calls, _ = calls_of(add(index=0), add(index=0))
    assert [call["function"]["arguments"] for call in calls] == [(A + B) * 2]


USAGE = {"prompt_tokens": 10, "completion_tokens": 3}
SAID = {"role": "assistant", "content": "ab"}
MESSAGE_RULES: list[tuple[list[str], dict[str, Any], Any, set[str]]] = [
    ([chunk(SAID), chunk(None), chunk([], "stop"), DONE], SAID, "stop", {"null-delta"}),
    ([json.dumps({"choices": [{"delta": SAID, "finish_reason": "stop"}]}), DONE], SAID, "stop", set()),
    ([chunk(SAID), chunk({"role": "assistant"}, "stop"), DONE], SAID, "stop", {"role-repeated"}),
    ([chunk(SAID), chunk({"role": ""}, "stop"), DONE], SAID, "stop", {"role-empty"}),
    ([chunk({"role": ""}), chunk(SAID, "stop"), DONE], SAID, "stop", {"role-empty"}),
    ([chunk({"role": "", "content": "a"}, "stop"), DONE], {"content": "a"}, "stop", {"role-empty"}),
    ([chunk({"role": "assistant", "content": "a"}), chunk({"content": "b"}, "stop"), DONE], SAID, "stop", set()),
    ([chunk(SAID, ""), chunk({}, "stop"), DONE], SAID, "stop", {"finish-empty"}),
    ([chunk(SAID, "stop"), chunk({}, "length"), DONE], SAID, "stop", {"finish-repeated"}),
    ([chunk(SAID, "end_turn"), DONE], SAID, "end_turn", {"finish-unknown"}),
    ([chunk(SAID, ["x"]), DONE], SAID, ["x"], {"finish-unknown"}),
    ([chunk(SAID), DONE], SAID, None, {"no-finish-reason"}),
    ([chunk(SAID, "stop")], SAID, "stop", {"no-done"}),
    ([chunk({"content": "a"}, "stop"), chunk({"content": "b"}), DONE], {"content": "ab"}, "stop",
     {"delta-after-finish"}),
    ([chunk(SAID, "stop"), DONE, chunk({"content": "c"}), "{"], SAID, "stop", set()),
    ([chunk(SAID, "stop"), "", " ", DONE], SAID, "stop", {"empty-event"}),
    ([chunk(SAID, "stop"), "[]", "null", "3", DONE], SAID, "stop", {"event-no-object"}),
    ([chunk(SAID, "stop"), '{"object": "ping"}', '{"choices": null}', DONE], SAID, "stop", {"choices-missing"}),
    ([chunk(SAID, "stop"), '{"choices": [null, 3]}', DONE], SAID, "stop", {"choice-no-object"}),
    (
        [
            json.dumps({"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": SAID}]}),
            json.dumps({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}),
            chunk({}, "stop"),
            DONE,
        ],
        SAID,
        "stop",
        {"other-choice"},
    ),
    ([chunk({"refusal": "n"}), chunk({"refusal": "o", "content": None}, "stop"), DONE],
     {"refusal": "no", "content": None}, "stop", set()),
    ([chunk({"reasoning": "h"}), chunk({"reasoning": "m", "reasoning_content": "x"}),
      chunk({"reasoning_content": "y"}, "stop"), DONE], {"reasoning": "hm", "reasoning_content": "xy"}, "stop", set()),
    ([chunk({"x": "a", "l": [1]}), chunk({"x": "b", "l": [2]}, "stop"), DONE], {"x": "b", "l": [1, 2]}, "stop",
     {"value-replaced"}),
    ([chunk({"x": "a"}), chunk({"x": "a"}), chunk({"x": None}, "stop"), DONE], {"x": "a"}, "stop", set()),
    ([chunk({"content": "a"}), chunk({"content": [{"text": "b"}]}, "stop"), DONE], {"content": [{"text": "b"}]},
     "stop", {"value-replaced"}),
    ([chunk({"function_call": {"name": "f", "arguments": ""}}), chunk({"function_call": {"arguments": "{"}}),
      chunk({"function_call": {"name": "f", "arguments": "}"}}, "function_call"), DONE],
     {"function_call": {"name": "f", "arguments": "{}"}}, "function_call", {"name-repeated"}),
    ([chunk({"tool_calls": None}), chunk({"tool_calls": []}, "stop"), DONE], {"tool_calls": None}, "stop", set()),
    ([chunk({"tool_calls": []}, "stop"), DONE], {"tool_calls": []}, "stop", set()),
    ([chunk({"tool_calls": {"index": 0}}, "stop"), DONE], {"tool_calls": {"index": 0}}, "stop", {"calls-no-list"}),
    ([json.dumps({"choices": [{"message": SAID, "finish_reason": "stop"}]})], SAID, "stop", {"plain-body"}),
    ([json.dumps({"choices": [{"message": SAID, "finish_reason": None}], "error": {"x": 1}})], SAID, None,
     {"plain-body"}),
    ([chunk(SAID), json.dumps({"choices": [{"message": {}, "finish_reason": "stop"}]}), DONE], SAID, "stop",
     {"second-message"}),
    ([json.dumps({"choices": [{"message": SAID, "finish_reason": "stop"}]}), chunk({"content": "c"}), DONE], SAID,
     "stop", {"plain-body", "second-message"}),
]  # fmt: skip


@pytest.mark.parametrize(("events", "message", "finish_reason", "deviations"), MESSAGE_RULES)
def test_messages_are_put_together(
    events: list[str], message: dict[str, Any], finish_reason: Any, deviations: set[str]
) -> None:
    """Each rule beside the calls does what its sentence says, and is named."""
    told = assemble(events)
    assert (told.message, told.finish_reason, set(told.deviations)) == (message, finish_reason, deviations)
    assert told.whole


@pytest.mark.parametrize(
    ("events", "deviations"),
    [
        ([chunk(SAID, "stop"), json.dumps({"choices": [], "usage": USAGE}), DONE], set()),
        ([chunk(SAID, "stop"), json.dumps({"usage": USAGE}), DONE], {"choices-missing"}),
        ([chunk(SAID, "stop"), json.dumps({"choices": None, "usage": USAGE}), DONE], {"choices-missing"}),
        ([chunk(SAID, usage={"prompt_tokens": 10, "completion_tokens": 1}), chunk({}, "stop", usage=USAGE), DONE],
         {"usage-repeated"}),
        ([chunk(SAID, "stop", usage=USAGE), chunk({}, usage=None), DONE], set()),
    ],
)  # fmt: skip
def test_the_last_usage_counts(events: list[str], deviations: set[str]) -> None:
    """Wherever it stands, and never summed."""
    told = assemble(events)
    assert (told.usage, set(told.deviations)) == (USAGE, deviations)


def test_a_stream_that_just_ends_is_not_whole() -> None:
    """Neither a finish reason nor [DONE]: what came is there, and no ending is made up."""
    told = assemble([chunk(SAID), chunk(None, "")])
    assert (told.message, told.finish_reason, told.whole) == (SAID, None, False)
    assert {"no-finish-reason", "no-done"} <= set(told.deviations)


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([], "no message"),
        ([DONE], "no message"),
        (["", '{"choices": []}', DONE], "no message"),
        ([chunk(SAID), '{"error": {"message": "overloaded"}}'], "overloaded"),
        ([chunk(SAID, "error", error={"message": "overloaded"})], "overloaded"),
        (["{"], "not JSON"),
        (['{"a": NaN}'], "not JSON"),
        (["[" * 100_000], "not JSON"),
        (['{"choices": [{"delta": {"content": "\udcff"}}]}'], "not JSON"),
        (["<html>"], "not JSON"),
    ],
)
def test_a_stream_without_a_message_says_what_it_is(events: list[str], text: str) -> None:
    """An error object, even in mid-stream, and what cannot be read, end the reading."""
    with pytest.raises(BadReply, match=text):
        assemble(events)


def test_numbers_are_read_as_asked() -> None:
    """The reader of JSON can be given, as for a plain reply."""
    told = assemble([chunk({"x": 1.5}, "stop"), DONE], lambda text: json.loads(text, parse_float=str))
    assert told.message == {"x": "1.5"}


def test_every_deviation_has_a_test() -> None:
    """A rule that is named and never shown would be a promise without proof."""
    tested = {name for rule in (*CALL_RULES, *MESSAGE_RULES) for name in rule[-1]} | {"usage-repeated"}
    sources = ast.walk(ast.parse(inspect.getsource(tests.test_sse)))
    tested |= {node.value for node in sources if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert set(DEVIATIONS) - tested == set()
