"""What the model sent goes back as it came, and LangChain sees all of it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from compare.replies import ScriptedMessage
from lc.sturdy.wire import CAME, DEEPEST, SENT, Turn, came_message, encoded, received, sent_message
from protocol import REPAIRS, Message, encode_json, made_up_ids, read_json, sendable, tool_calls
from raw.history import History
from tests.servers import USAGE, says, serving
from tests.sturdy import sturdy_model
from tests.test_assemble_properties import MESSAGES

ASKED = HumanMessage("go")


def kept(message: Message, history: Sequence[BaseMessage] = (), **more: Any) -> AIMessage:
    """The AIMessage that keeps this message."""
    return AIMessage(**received(Turn(message, "tool_calls", None, **more), history, "m"))


def asks(*calls: Any, **more: Any) -> Message:
    """A message with these calls."""
    return {"role": "assistant", "content": None, **more, "tool_calls": list(calls)}


def call(arguments: Any = "{}", call_id: Any = "c1", name: Any = "echo", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


# --- back to the model

ODD_ARGUMENTS = [
    '{"text":"a"}',
    ' {  "text" :\t"a"\n}  ',
    '{"text": "a", "text": "b"}',
    '{"n": 1e400, "m": 1.10, "k": -0.0}',
    '{"n": 123456789012345678901234567890}',
    '{"text": "\\ud83d", "more": "\\u00e4ä\\/"}',
    '{"z": 1, "a": {"z": [], "a": {}}}',
    "[1,  2]",
    '"{\\"text\\": 1}"',
    "null",
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("arguments", ODD_ARGUMENTS)
def test_goes_back_byte_for_byte(arguments: str, streamed: bool) -> None:
    """Reasoning, vendor keys on message and call, the arguments' text and the order: what raw sends, over HTTP."""
    message = asks(
        call(arguments, "9z", extra_content={"google": {"thought_signature": "s=="}}), call('{"text":"b"}', "1a"),
        reasoning_content="hm\n", reasoning_details=[{"type": "x", "data": None}], x_vendor={"a": [1, None, "\ud83d"]},
    )  # fmt: skip
    results = [ToolMessage("1", tool_call_id="9z"), ToolMessage("2", tool_call_id="1a")]
    with serving(ScriptedMessage(json.dumps(message), "tool_calls", USAGE), says()) as server:
        model = sturdy_model(server, streaming=streamed)
        reply = model.invoke([ASKED])
        model.invoke([ASKED, reply, *results])
        sent = server.exchanges[1].request.body.raw()
    by_hand = History("m", [], [{"role": "user", "content": "go"}, message, *map(sent_message, results)], streamed)
    assert by_hand.request() == sent
    assert read_json(json.dumps(message)) == sent_message(reply)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing-role", {"content": "hello", "x": 1}),
        ("empty-tool-calls", {"role": "assistant", "content": "hello", "tool_calls": []}),
        ("null-content", {"role": "assistant", "content": None}),
        ("made-up-id", asks(call(call_id=None), call(call_id=""), call(call_id=7))),
        ("repeated-id", asks(call(), call('{"text": "b"}'))),
        ("missing-type", asks(call(type=None))),
        ("missing-name", asks(call(name=""), call(call_id="c2", name=None))),
        ("unparsable-arguments", asks(call('{"text": '), call(None, "c2"))),
        ("arguments-as-object", asks(call({"text": "ä"}))),
        ("", asks(None, 7, "text", {})),
    ],
)
def test_repairs_what_providers_refuse_and_keeps_what_came(name: str, message: Message) -> None:
    """What goes back is repaired as by hand; the tools get the message as the model wrote it."""
    reply = kept(message)
    assert sendable(message, made_up_ids()) == sent_message(reply)
    assert sent_message(reply) != message
    assert message == came_message(reply)
    assert name in ("", *REPAIRS)


def test_keeps_one_text_where_nothing_is_repaired() -> None:
    """The text that came is not stored twice."""
    reply = kept(asks(call()))
    assert {SENT} == reply.additional_kwargs.keys()
    assert sent_message(reply) == came_message(reply) == asks(call())
    assert {SENT, CAME} == kept(asks(call("{"))).additional_kwargs.keys()


def test_made_up_ids_are_new() -> None:
    """Unlike those that the history has, also across a pause, and unlike those beside them in the message."""
    first = kept(asks(call(call_id=None)))
    second = kept(asks(call(call_id=None), call(call_id="made_up_3"), call(call_id="")), [ASKED, first])
    ids = [[one["id"] for one in message.tool_calls] for message in (first, second)]
    assert [["made_up_1"], ["made_up_2", "made_up_3", "made_up_4"]] == ids
    assert ids[1] == [one["id"] for one in sent_message(second)["tool_calls"]]


# --- for LangChain to look at


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ('{"text": "a"}', {"text": "a"}),
        ({"text": "a"}, {"text": "a"}),
        ('{"n": 9223372036854775807}', {"n": 2**63 - 1}),
        ('{"n": 9223372036854775808, "m": [-9223372036854775809]}', {"n": str(2**63), "m": [str(-(2**63) - 1)]}),
        ('{"n": 1' + "0" * 5000 + "}", {}),
        ('{"\\ud83d": "\\ud83d"}', {"\\ud83d": "\\ud83d"}),
        ('{"n": ' + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1) + "}", None),
        ('{"n": ' + "[" * DEEPEST + "]" * DEEPEST + "}", {}),
        ('{"n": ' + "[" * 100_000 + "]" * 100_000 + "}", {}),
        ("[1]", {}),
        ("5", {}),
        ("null", {}),
        ('{"text": ', {}),
        ('{"n": NaN}', {}),
        ("", {}),
        (None, {}),
        (7, {}),
    ],
)
def test_lists_every_call_with_arguments_that_can_be_stored(arguments: Any, args: Any) -> None:
    """In order, none as invalid; what is no object, or too much for a checkpoint, is listed empty."""
    reply = kept(asks(call("{}", "c0"), call(arguments)))
    assert ["c0", "c1"] == [one["id"] for one in reply.tool_calls]
    assert [] == reply.invalid_tool_calls
    if args is not None:
        assert args == reply.tool_calls[1]["args"]
    assert stored(reply) == reply


def stored(message: AIMessage) -> Any:
    """The message after a checkpoint."""
    serde = JsonPlusSerializer()
    return serde.loads_typed(serde.dumps_typed(message))


def test_names_what_is_no_name() -> None:
    """A custom call, and one whose name is no text, are listed too, under ids that can be answered."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    reply = kept(asks(custom, call(call_id="c2", name={"a": 1}), call(call_id="c3", name="\ud83d")))
    assert ["c1", "c2", "c3"] == [one["id"] for one in reply.tool_calls]
    assert all(isinstance(one["name"], str) for one in reply.tool_calls)
    assert custom == sent_message(reply)["tool_calls"][0]
    assert stored(reply) == reply


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("hi", "hi"),
        ("\ud83d", "\\ud83d"),
        (None, ""),
        (7, ""),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
        ([1], ""),
        ({}, ""),
    ],
)
def test_shows_the_content_that_langchain_has_a_form_for(content: Any, shown: Any) -> None:
    """The rest goes back all the same."""
    reply = kept({"role": "assistant", "content": content, "tool_calls": [call()]})
    assert shown == reply.content
    assert content == sent_message(reply)["content"]
    assert stored(reply) == reply


def test_a_server_that_repeats_its_message_id_overwrites_nothing() -> None:
    """The id of the message is not taken over; it stays in the text."""
    reply = kept({"role": "assistant", "content": "a", "id": "chatcmpl-1"})
    assert reply.id is None
    assert "chatcmpl-1" == sent_message(reply)["id"]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9}, (3, 4, 9)),
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4, 7)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": None}, (3, 4, 7)),
        ({"prompt_tokens": 3}, None),
        ({"prompt_tokens": "3", "completion_tokens": 4}, None),
        (None, None),
        ([], None),
    ],
)
def test_counts_the_tokens_that_were_told(usage: Any, counted: Any) -> None:
    """No number is invented where none came."""
    told = received(Turn({"role": "assistant", "content": "a"}, "stop", usage), [], "m")["usage_metadata"]
    assert counted == (told and (told["input_tokens"], told["output_tokens"], told["total_tokens"]))


def test_says_how_the_turn_ended() -> None:
    """The finish reason as it came, whether the message came to its end, and the rules that were applied."""
    fields = received(Turn({"content": "a"}, "banana", None, False, ("no-done",)), [], "m")
    told = {"finish_reason": "banana", "whole": False, "deviations": ["no-done"], "model_name": "m"}
    assert told == fields["response_metadata"]
    assert received(Turn({}, 7, None), [], "m")["response_metadata"]["finish_reason"] is None


# --- messages of others

PARTS: list[Any] = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
CACHED: list[Any] = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, *PARTS]
THOUGHTS: list[Any] = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "reasoning"}]
LISTED: list[Any] = [{"name": "echo", "args": {"text": "ä", "n": 1}, "id": "c1", "type": "tool_call"}]
INVALID: list[Any] = [{"name": "echo", "args": '{"text": ', "id": "c2", "error": "x", "type": "invalid_tool_call"}]
CALLED = call('{"text": "ä", "n": 1}')


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        (HumanMessage("a"), {"role": "user", "content": "a"}),
        (HumanMessage(PARTS, name="Al"), {"role": "user", "name": "Al", "content": PARTS}),
        (HumanMessage("a", name="Al"), {"role": "user", "name": "Al", "content": "a"}),
        (SystemMessage("a"), {"role": "system", "content": "a"}),
        (SystemMessage("a", name="n"), {"role": "system", "name": "n", "content": "a"}),
        (ChatMessage(content="a", role="developer"), {"role": "developer", "content": "a"}),
        (
            SystemMessage("a", additional_kwargs={"__openai_role__": "developer"}),
            {"role": "developer", "content": "a"},
        ),
        (
            SystemMessage(PARTS[:1], additional_kwargs={"__openai_role__": "developer"}),
            {"role": "developer", "content": PARTS[:1]},
        ),
        (HumanMessage(CACHED), {"role": "user", "content": CACHED}),
        (ToolMessage("a", tool_call_id="c1"), {"role": "tool", "tool_call_id": "c1", "content": "a"}),
        (ToolMessage(PARTS[:1], tool_call_id="c1"), {"role": "tool", "tool_call_id": "c1", "content": "a"}),
        (ToolMessage([], tool_call_id="c1"), {"role": "tool", "tool_call_id": "c1", "content": ""}),
        (
            ToolMessage("a", tool_call_id="c1", name="n", artifact=1, status="error"),
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
        ),
        (AIMessage("a"), {"role": "assistant", "content": "a"}),
        (AIMessage("a", name="bob", id="x"), {"role": "assistant", "name": "bob", "content": "a"}),
        (AIMessage([*THOUGHTS, *PARTS[:1]]), {"role": "assistant", "content": "a"}),
        (AIMessage("", tool_calls=LISTED), {"role": "assistant", "content": "", "tool_calls": [CALLED]}),
        (
            AIMessage([*PARTS[:1], LISTED[0]], tool_calls=LISTED),
            {"role": "assistant", "content": "a", "tool_calls": [CALLED]},
        ),
        (
            AIMessage("", tool_calls=LISTED, invalid_tool_calls=INVALID),
            {"role": "assistant", "content": "", "tool_calls": [CALLED, call("{}", "c2")]},
        ),
        (
            AIMessage("", invalid_tool_calls=INVALID),
            {"role": "assistant", "content": "", "tool_calls": [call("{}", "c2")]},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_converts_what_other_people_made(message: BaseMessage, sent: Message) -> None:
    """By LangChain's own rules; arguments that are no JSON are repaired, and no provider's thoughts go to another."""
    assert sent == sent_message(message)
    assert sent == json.loads(encoded([message]))[0]


# --- whatever comes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
ODD_TEXTS = st.sampled_from([*ODD_ARGUMENTS, '{"text": ', "", "{}", '{"a": "\ud83d"}'])
ODD_FUNCTIONS = JSON | st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON | ODD_TEXTS})
ODD_CALLS = JSON | st.fixed_dictionaries({}, optional={"id": JSON, "type": JSON, "function": ODD_FUNCTIONS, "x": JSON})
ODD_MESSAGES = MESSAGES | st.fixed_dictionaries(
    {}, optional={"role": JSON, "content": JSON, "tool_calls": JSON | st.lists(ODD_CALLS, max_size=3), "x": JSON}
)


@settings(deadline=None)
@given(ODD_MESSAGES, ODD_MESSAGES)
def test_any_message_survives(before: Message, message: Message) -> None:
    """As text up to its repairs, for the tools as it came, in a checkpoint, and put together from a stream's chunks."""
    fields = received(Turn(message, "stop", None), [ASKED, kept(before)], "m")
    reply = AIMessage(**fields)
    made_up = (one["id"] for one in reply.tool_calls if str(one["id"]).startswith("made_up_"))
    assert encode_json([sendable(message, made_up)]) == encoded([reply])  # type: ignore[arg-type]
    assert message == came_message(reply)
    assert [one["id"] for one in tool_calls(sent_message(reply))] == [one["id"] for one in reply.tool_calls]
    assert [] == reply.invalid_tool_calls
    assert stored(reply) == reply
    last = AIMessageChunk(**{**fields, "content": ""}, chunk_position="last")
    streamed = message_chunk_to_message(AIMessageChunk(content="") + last)
    assert isinstance(streamed, AIMessage)
    assert (reply.tool_calls, reply.additional_kwargs) == (streamed.tool_calls, streamed.additional_kwargs)
    assert [] == streamed.invalid_tool_calls
