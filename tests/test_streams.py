"""A scripted reply becomes a stream: the deltas that make up its message, or the chunks that the scenario gives."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.replies import (
    Delta,
    Piece,
    Reply,
    ScriptedBody,
    ScriptedClose,
    ScriptedMessage,
    ScriptedStream,
    Sending,
    in_pieces,
    to_reply,
)
from compare.streams import deltas_of, to_stream

USAGE = {"prompt_tokens": 1, "completion_tokens": 2}


def message(value: Any, finish_reason: str = "stop") -> ScriptedMessage:
    """A reply with this message."""
    return ScriptedMessage(value if isinstance(value, str) else json.dumps(value), finish_reason, USAGE)


def chunks(reply: Reply) -> list[Any]:
    """The chunks of a stream, each one event and one piece; it must end with [DONE]."""
    texts = [piece.data.decode() for piece in reply.pieces]
    assert all(text.startswith("data: ") and text.endswith("\n\n") for text in texts)
    assert texts.pop() == "data: [DONE]\n\n"
    return [json.loads(text.removeprefix("data: ")) for text in texts]


def deltas(value: Any) -> list[Any]:
    """The deltas that a message is streamed as, without the empty one at the end."""
    choices = [chunk["choices"][0] for chunk in chunks(to_stream(message(value), 1, "m"))]
    assert {"index": 0, "delta": {}, "finish_reason": "stop"} == choices.pop()
    assert all(choice["finish_reason"] is None for choice in choices)
    return [choice["delta"] for choice in choices]


def call(**more: Any) -> dict[str, Any]:
    """A tool call whose arguments have 14 characters."""
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": "12345"}', **more}}


def test_a_stream_has_a_head_chunks_of_the_same_id_and_an_end() -> None:
    """The bytes go by the number of the reply and the model alone."""
    reply = to_stream(message({"role": "assistant", "content": "hi"}), 3, "some-model")
    head = b'data: {"id":"chatcmpl-3","object":"chat.completion.chunk","created":0,"model":"some-model","choices":['
    expected = (
        head + b'{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n',
        head + b'{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}\n\n',
        head + b'{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    )
    assert expected == tuple(piece.data for piece in reply.pieces)
    assert (200, (("Content-Type", "text/event-stream"),), "whole") == (reply.status, reply.headers, reply.ending)
    assert b"".join(expected) == reply.body


def test_text_goes_out_in_pieces_of_twelve_characters() -> None:
    """Characters, so that no chunk ends inside one."""
    expected = [{"role": "assistant", "content": ""}, {"content": "计算 (17 * 23)"}, {"content": " + 9"}]
    assert expected == deltas({"role": "assistant", "content": "计算 (17 * 23) + 9"})


def test_other_keys_come_before_the_text_each_whole() -> None:
    """Reasoning text, and whatever else a vendor puts beside."""
    value = {"role": "assistant", "content": "a", "reasoning_content": "x" * 30, "vendor": {"n": [1, None]}}
    expected = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "x" * 30},
        {"vendor": {"n": [1, None]}},
        {"content": "a"},
    ]
    assert expected == deltas(value)


def test_a_call_opens_without_arguments_and_they_follow_in_tens() -> None:
    """Vendor keys of the call and of its function are in the first delta alone."""
    value = {"role": "assistant", "content": None, "tool_calls": [call(strict=True) | {"extra": 1}, call()]}
    rest = [{"function": {"arguments": '{"a": "123'}}, {"function": {"arguments": '45"}'}}]
    first = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "", "strict": True}, "extra": 1}
    second = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
    expected = [{"index": index, **entry} for index, opened in ((0, first), (1, second)) for entry in (opened, *rest)]
    assert [{"role": "assistant", "content": None}, *[{"tool_calls": [entry]} for entry in expected]] == deltas(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"content": "a"}, [{"content": ""}, {"content": "a"}]),
        ({"role": "assistant", "content": ""}, [{"role": "assistant", "content": ""}]),
        ({"role": "assistant"}, [{"role": "assistant"}]),
        ({}, []),
        ({"role": None, "content": [{"text": "a"}]}, [{"role": None, "content": [{"text": "a"}]}]),
        ({"id": "msg_1"}, [{"id": "msg_1"}]),
        ({"tool_calls": None}, [{"tool_calls": None}]),
        ({"tool_calls": []}, [{"tool_calls": []}]),
        ({"tool_calls": "x"}, [{"tool_calls": "x"}]),
        ({"tool_calls": [7]}, [{"tool_calls": [7]}]),
        ({"tool_calls": [{"id": "a"}]}, [{"tool_calls": [{"index": 0, "id": "a"}]}]),
        (
            {"tool_calls": [{"function": {"name": "f", "arguments": ""}}]},
            [{"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}],
        ),
        (
            {"tool_calls": [{"function": {"arguments": {"a": 1}}}]},
            [{"tool_calls": [{"index": 0, "function": {"arguments": {"a": 1}}}]}],
        ),
        ({"tool_calls": [{"function": None}]}, [{"tool_calls": [{"index": 0, "function": None}]}]),
    ],
)
def test_what_a_message_lacks_is_in_no_delta(value: Any, expected: list[Any]) -> None:
    """And what is of an unusual type goes out whole."""
    assert expected == deltas(value)


def test_numbers_and_surrogates_stay_as_they_were_spelled() -> None:
    """A float would turn 1.10 into 1.1 and 1e400 into what is no JSON; UTF-8 has no lone surrogate."""
    text = r'{"x":[1.10,1e400,-0,123456789012345678901234567890],"\ud83d":"\ud83d","content":"七\ud83d"}'
    body = to_stream(message(text), 1, "m").body
    assert rb'{"x":[1.10,1e400,-0,123456789012345678901234567890]}' in body
    assert rb'{"\ud83d":"\ud83d"}' in body
    assert rb'{"content":"\u4e03\ud83d"}' in body


def test_usage_is_sent_only_where_it_is_asked_for() -> None:
    """As OpenAI does it: null beside each choice, and numbers in a last chunk without choices."""
    scripted = message({"content": ""})
    assert not any("usage" in chunk for chunk in chunks(to_stream(scripted, 1, "m")))
    *others, last = chunks(to_stream(scripted, 1, "m", with_usage=True))
    assert [None, None] == [chunk["usage"] for chunk in others]
    assert ([], USAGE) == (last["choices"], last["usage"])


@pytest.mark.parametrize("finish_reason", ["length", "", "好"])
def test_the_finish_reason_comes_last_and_as_it_is(finish_reason: str) -> None:
    """Whatever the script says."""
    last = chunks(to_stream(message({"content": "a"}, finish_reason), 1, "m"))[-1]
    assert {"index": 0, "delta": {}, "finish_reason": finish_reason} == last["choices"][0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": st.text(), "type": st.just("function")},
        optional={"function": st.fixed_dictionaries({"name": st.text(), "arguments": st.text()}), "vendor": JSON},
    )
)


@settings(max_examples=50)
@given(content=st.none() | st.text(), calls=CALLS, more=st.dictionaries(st.text(min_size=1), JSON, max_size=3))
def test_the_deltas_put_together_are_the_message(content: Any, calls: list[Any], more: dict[str, Any]) -> None:
    """Nothing is lost or doubled, whatever the message holds."""
    more.pop("tool_calls", None)
    given_message = {**more, "role": "assistant", "content": content, "tool_calls": calls}
    texts: list[str] = []
    entries: dict[int, Any] = {}
    together: dict[str, Any] = {}
    for delta in deltas_of(given_message):
        for key, value in delta.items():
            if key == "content" and value is not None:
                texts.append(value)
            elif key != "tool_calls":
                together[key] = value
            for entry in map(dict, value if key == "tool_calls" else []):
                index = entry.pop("index")
                if index in entries:
                    entries[index]["function"]["arguments"] += entry["function"]["arguments"]
                else:
                    entries[index] = entry
    together |= {"content": "".join(texts) if texts else None, "tool_calls": list(entries.values())}
    assert given_message == together


# --- a stream given chunk by chunk ---


def test_exact_items_go_out_as_they_are_and_deltas_get_what_is_around_them() -> None:
    """Nothing is added, no [DONE] and no finish reason."""
    items = (Piece(b": hello\n\n"), Delta('{"content":"a"}', pause=0.5), Delta("{}", "stop"), Piece(b"\xff", 0.25))
    pieces = to_stream(ScriptedStream(items), 2, "m").pieces
    head = b'data: {"id":"chatcmpl-2","object":"chat.completion.chunk","created":0,"model":"m","choices":['
    expected = (
        Piece(b": hello\n\n"),
        Piece(head + b'{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n', 0.5),
        Piece(head + b'{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'),
        Piece(b"\xff", 0.25),
    )
    assert expected == pieces


def test_a_stream_beside_a_plain_reply_leaves_it_as_it_is() -> None:
    """Each is used for what was asked for."""
    plain = message({"content": "plain"})
    scripted = ScriptedStream((Piece(b"data: x\n\n"),), plain, Sending(ending="reset"))
    assert to_reply(plain, 1, "m") == to_reply(scripted, 1, "m")
    assert (b"data: x\n\n", "reset") == (to_stream(scripted, 1, "m").body, to_stream(scripted, 1, "m").ending)


def test_a_stream_alone_has_no_plain_form() -> None:
    """Nothing is made up for it."""
    with pytest.raises(ValueError, match=r"^reply 4 is a stream and has no plain form$"):
        to_reply(ScriptedStream(()), 4, "m")


@pytest.mark.parametrize("scripted", [ScriptedBody(502, (), "<html>"), ScriptedClose()])
def test_a_reply_given_whole_is_the_same_for_a_stream(scripted: ScriptedBody | ScriptedClose) -> None:
    """A gateway's error is not streamed."""
    assert to_reply(scripted, 1, "m") == to_stream(scripted, 1, "m")


# --- how the bytes go out ---


def sent(*pieces: Piece, **how: Any) -> tuple[Piece, ...]:
    """The pieces as they go out."""
    return in_pieces(200, (), pieces, Sending(**how)).pieces


ABC, DE = Piece(b"abc"), Piece(b"de")


@pytest.mark.parametrize(
    ("pieces", "how", "expected"),
    [
        ((ABC, DE), {}, (ABC, DE)),
        ((ABC, DE), {"split": 2}, (Piece(b"ab"), Piece(b"cd"), Piece(b"e"))),
        ((ABC, DE), {"split": 1}, tuple(Piece(bytes([byte])) for byte in b"abcde")),
        ((ABC, DE), {"split": 9}, (Piece(b"abcde"),)),
        ((ABC, Piece(b"de", 0.5)), {"split": 2}, (Piece(b"ab"), Piece(b"c"), Piece(b"de", 0.5))),
        ((Piece(b"abc", 0.5), DE), {"split": 4}, (Piece(b"abcd", 0.5), Piece(b"e"))),
        ((ABC, DE), {"cut": 4}, (ABC, Piece(b"d"))),
        ((ABC, DE), {"cut": 3}, (ABC,)),
        ((ABC, DE), {"cut": 99}, (ABC, DE)),
        ((ABC, DE), {"cut": 0}, (Piece(b""),)),
        ((), {}, (Piece(b""),)),
        ((ABC, Piece(b"de", 0.5)), {"drip": 0.25}, (Piece(b"abc", 0.25), Piece(b"de", 0.75))),
        ((ABC, DE), {"split": 2, "cut": 3, "drip": 1.0}, (Piece(b"ab", 1.0), Piece(b"c", 1.0))),
        ((Piece(b"", 0.5), ABC), {"split": 2}, (Piece(b"ab", 0.5), Piece(b"c"))),
    ],
)
def test_bytes_are_split_cut_and_dripped_in_this_order(
    pieces: tuple[Piece, ...], how: dict[str, Any], expected: tuple[Piece, ...]
) -> None:
    """A pause stays in front of the byte that it was in front of."""
    assert expected == sent(*pieces, **how)


@given(st.lists(st.binary(max_size=6), max_size=6), st.integers(1, 9), st.integers(0, 40))
def test_splitting_changes_no_byte_and_cutting_only_the_end(parts: list[bytes], split: int, cut: int) -> None:
    """The body is what the client may get, to the byte."""
    whole = b"".join(parts)
    reply = in_pieces(200, (), [Piece(part) for part in parts], Sending(split=split, cut=cut, ending="cut"))
    assert whole[:cut] == reply.body == b"".join(piece.data for piece in reply.pieces)
    assert all(len(piece.data) == split for piece in reply.pieces[:-1])


def test_a_plain_body_that_is_cut_keeps_its_announced_length() -> None:
    """So that the client can tell."""
    reply = to_reply(ScriptedBody(200, (), "0123456789", Sending(cut=4, ending="cut")), 1, "m")
    assert (b"0123", 10, (), "cut") == (reply.body, reply.announced, reply.pieces, reply.ending)
    clean = to_reply(ScriptedBody(200, (), "0123456789", Sending(cut=4)), 1, "m")
    assert (b"0123", None, "whole") == (clean.body, clean.announced, clean.ending)


def test_a_plain_body_that_is_split_or_dripped_goes_out_in_chunks() -> None:
    """Its bytes are the same."""
    reply = to_reply(ScriptedBody(200, (), "01234", Sending(split=2, drip=0.5)), 1, "m")
    assert (Piece(b"01", 0.5), Piece(b"23", 0.5), Piece(b"4", 0.5)) == reply.pieces
    assert b"01234" == reply.body
