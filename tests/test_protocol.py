"""What Chat Completions says: replies, endings, repairs, and what a provider refuses."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import (
    REPAIRS,
    STOP_REASONS,
    BadReply,
    ending,
    made_up_ids,
    opening,
    read_reply,
    sendable,
    tool_calls,
    tool_message,
)
from protocol.profile import profile
from protocol.rules import check

OPENAI = profile("openai").rules
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def assistant(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def repaired(message: dict[str, Any]) -> dict[str, Any]:
    return sendable(message, made_up_ids())


def repaired_call(call: Any) -> Any:
    return repaired(assistant(call))["tool_calls"][0]


def test_the_first_choice_is_read() -> None:
    """Of several choices the first counts."""
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}, {"message": {"content": "b"}}]}
    assert read_reply(json.dumps(body).encode()) == ({"content": "a"}, "stop")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<html>", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no choices"),
        (b"{}", "no choices"),
        (b'{"choices": []}', "no message"),
        (b'{"choices": null}', "no message"),
        (b'{"choices": [{"message": null}]}', "no message"),
        (b'{"error": {"message": "overloaded"}}', "overloaded"),
        (b'{"error": "overloaded", "choices": null}', "overloaded"),
    ],
)
def test_a_reply_without_a_message_says_what_it_is(body: bytes, text: str) -> None:
    """Each kind of unreadable reply is named."""
    with pytest.raises(BadReply, match=text):
        read_reply(body)


@pytest.mark.parametrize(
    ("message", "finish_reason", "stop"),
    [
        ({"content": "a"}, "stop", "answer"),
        ({"content": "a"}, None, "answer"),
        ({"content": ""}, "stop", "empty-answer"),
        ({}, "tool_calls", "empty-answer"),
        ({"content": "a"}, "length", "cut-off"),
        ({"content": None}, "content_filter", "filtered"),
        ({"content": None, "refusal": "no"}, "stop", "filtered"),
        (assistant(CALL), "stop", "unanswered-calls"),
        (assistant(), "tool_calls", "empty-answer"),
    ],
)
def test_an_ending_goes_by_what_the_message_holds(message: dict[str, Any], finish_reason: Any, stop: str) -> None:
    """The finish reason only tells a whole answer from a cut or withheld one."""
    assert ending(message, finish_reason) == stop
    assert stop in STOP_REASONS


def test_a_legal_message_is_sent_back_itself() -> None:
    """Nothing is copied where nothing needs a repair."""
    for message in (assistant(CALL, extra=[1]), {"role": "assistant", "content": "a"}):
        assert sendable(message, made_up_ids()) is message


@pytest.mark.parametrize(
    ("repair", "came", "goes"),
    [
        ("missing-role", {"content": "a"}, {"role": "assistant", "content": "a"}),
        (
            "empty-tool-calls",
            {"role": "assistant", "content": "a", "tool_calls": []},
            {"role": "assistant", "content": "a"},
        ),
        ("null-content", {"role": "assistant", "content": None}, {"role": "assistant", "content": ""}),
        ("null-content", {"role": "assistant"}, {"role": "assistant", "content": ""}),
    ],
)
def test_messages_are_repaired(repair: str, came: dict[str, Any], goes: dict[str, Any]) -> None:
    """Each repair of a message does what its sentence says, on a copy."""
    before = copy.deepcopy(came)
    assert repair in REPAIRS
    assert repaired(came) == goes
    assert came == before


@pytest.mark.parametrize(
    ("repair", "change", "goes"),
    [
        ("made-up-id", {"id": None}, {"id": "made_up_1"}),
        ("made-up-id", {"id": ""}, {"id": "made_up_1"}),
        ("made-up-id", {"id": 7}, {"id": "made_up_1"}),
        ("missing-type", {"type": None}, {"type": "function"}),
        ("missing-type", {"type": "plugin"}, {"type": "function"}),
        *[
            ("missing-name", {"function": {"name": name, "arguments": "{}"}},
             {"function": {"name": "unnamed", "arguments": "{}"}})
            for name in ("", None, 3)
        ],
        *[
            ("unparsable-arguments", {"function": {"name": "f", "arguments": arguments}},
             {"function": {"name": "f", "arguments": "{}"}})
            for arguments in ("", "{", "{'a': 1}", '{"a": NaN}', '{"a": "\n"}', "[" * 100_000, None, 3, ["{}"])
        ],
        (
            "arguments-as-object",
            {"function": {"name": "f", "arguments": {"a": "ä"}}},
            {"function": {"name": "f", "arguments": '{"a": "ä"}'}},
        ),
    ],
)  # fmt: skip
def test_calls_are_repaired(repair: str, change: dict[str, Any], goes: dict[str, Any]) -> None:
    """Each repair of a call does what its sentence says, on a copy."""
    came = {**CALL, **change}
    before = copy.deepcopy(came)
    assert repair in REPAIRS
    assert repaired_call(came) == {**CALL, **goes}
    assert came == before


def test_a_repeated_id_is_kept_by_the_first_call() -> None:
    """Each call of a message has an id of its own, so that no result is for two."""
    sent = repaired(assistant(CALL, CALL, {**CALL, "id": "other"}, CALL))
    assert [CALL["id"], "made_up_1", "other", "made_up_2"] == [call["id"] for call in sent["tool_calls"]]


def test_every_repair_has_a_test() -> None:
    """A repair that is named and never shown would be a promise without proof."""
    tested = {"repeated-id"}
    for test in (test_messages_are_repaired, test_calls_are_repaired):
        tested |= {case[0] for case in test.pytestmark[0].args[1]}
    assert tested == set(REPAIRS)


@pytest.mark.parametrize(
    "arguments", ['{"a":1}', "[1]", "null", '"x"', '{"a": 1.10, "a": 1e400}', ' {"ä": "\\ud83d"} ']
)
def test_arguments_that_are_json_go_back_byte_for_byte(arguments: str) -> None:
    """Whatever parses is the model's own business."""
    message = assistant({**CALL, "function": {"name": "f", "arguments": arguments}})
    assert sendable(message, made_up_ids()) is message


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
odd_call = anything | st.fixed_dictionaries(
    {},
    optional={
        "id": anything,
        "type": st.sampled_from(["function", None, "custom", 3]),
        "function": anything | st.fixed_dictionaries({}, optional={"name": anything, "arguments": anything}),
    },
)


@given(
    st.fixed_dictionaries(
        {}, optional={"role": anything, "content": anything, "tool_calls": st.lists(odd_call, max_size=3) | anything}
    )
)
def test_any_message_can_be_sent_back_and_answered(message: dict[str, Any]) -> None:
    """Whatever a server sends, each call has an id that is text, and the message passes JSON."""
    goes = repaired(message)
    ids = [call["id"] for call in tool_calls(goes)]
    assert all(isinstance(call_id, str) and call_id for call_id in ids)
    assert len(ids) == len(tool_calls(message))
    json.dumps(goes)


def breaches(*messages: Any) -> list[str]:
    """The rules that a request with these messages breaks, with their paths."""
    return [f"{breach.rule.id} {breach.path}" for breach in check(list(messages), OPENAI)]


USER = opening("q", None)[0]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER, assistant(CALL), tool_message("c1", "1")], []),
        ([USER, assistant(CALL)], ["every-call-answered messages[1].tool_calls[0]"]),
        ([USER, assistant(CALL), USER], ["every-call-answered messages[1].tool_calls[0]"]),
        (
            [USER, assistant(CALL), USER, tool_message("c1", "1")],
            ["every-call-answered messages[1].tool_calls[0]", "no-orphan-result messages[3]"],
        ),
        (
            [USER, assistant(CALL), tool_message("c1", "1"), tool_message("c1", "1")],
            ["every-call-answered messages[1].tool_calls[0]"],
        ),
        ([USER, tool_message("c1", "1")], ["no-orphan-result messages[1]"]),
        (
            [USER, assistant(CALL), tool_message("c2", "1")],
            ["every-call-answered messages[1].tool_calls[0]", "no-orphan-result messages[2]"],
        ),
        ([{"role": "assistant", "content": "a", "tool_calls": []}], ["no-empty-tool-calls messages[0].tool_calls"]),
        ([{"role": "robot", "content": "a"}], ["known-roles messages[0].role"]),
        ([{"role": ["user"], "content": "a"}], ["known-roles messages[0].role"]),
        (["hello"], ["known-roles messages[0]"]),
        ([{"role": "user", "content": None}], ["content-type messages[0].content"]),
        ([{"role": "user", "content": 5}], ["content-type messages[0].content"]),
        ([{"role": "assistant"}], ["content-type messages[0].content"]),
        ([{"role": "assistant", "content": None, "refusal": "no"}], []),
        ([{"role": "tool", "content": [], "tool_call_id": "c1"}],
         ["content-type messages[0].content", "no-orphan-result messages[0]"]),
        (
            [assistant({**CALL, "id": None}), tool_message(None, "1")],
            ["call-shape messages[0].tool_calls[0].id"],
        ),
        (
            [assistant({**CALL, "type": None}), tool_message("c1", "1")],
            ["call-shape messages[0].tool_calls[0].type"],
        ),
        (
            [assistant({**CALL, "function": {"name": "a b", "arguments": {}}}), tool_message("c1", "1")],
            [f"call-shape messages[0].tool_calls[0].function.{key}" for key in ("name", "arguments")],
        ),
        ([assistant({**CALL, "type": "custom", "custom": {}}), tool_message("c1", "1")], []),
        ([assistant("call"), tool_message("c1", "1")],
         ["call-shape messages[0].tool_calls[0]", "every-call-answered messages[0].tool_calls[0]",
          "no-orphan-result messages[1]"]),
    ],
)  # fmt: skip
def test_a_breach_names_rule_and_place(messages: list[Any], expected: list[str]) -> None:
    """OpenAI's rules, each with the requests that keep and that break it."""
    assert breaches(*messages) == expected
