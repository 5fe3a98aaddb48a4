"""Deltas to a message, for messages and streams that nobody thought of."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocol import DEVIATIONS, BadReply, SseReader, assemble
from tests.test_assemble import DONE, chunk, entry
from tests.test_sse import CUT_POINTS, cut

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.lists(
    st.builds(
        lambda call_id, name, arguments, more: {
            **more,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        },
        st.sampled_from(["c1", "c2", "c3"]),
        TEXT.filter(bool),
        TEXT,
        st.dictionaries(st.sampled_from(["extra", "x"]), VALUES, max_size=1),
    ),
    min_size=1,
    max_size=3,
)
MESSAGES = st.builds(
    lambda content, calls, more: {"role": "assistant", "content": content, **more, **calls},
    st.none() | TEXT,
    st.just({}) | st.builds(lambda calls: {"tool_calls": calls}, CALLS),
    st.dictionaries(st.sampled_from(["reasoning_content", "refusal", "vendor"]), VALUES, max_size=2),
)


def deltas(message: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """The message as OpenAI would stream it, texts in pieces of `size`."""

    def parts(text: str) -> list[str]:
        return [text[at : at + size] for at in range(0, len(text), size)]

    made: list[dict[str, Any]] = [{"role": message["role"], "content": message["content"] and ""}]
    made += [{"content": part} for part in parts(message["content"] or "")]
    made += [{key: value} for key, value in message.items() if key not in ("role", "content", "tool_calls")]
    for index, call in enumerate(message.get("tool_calls", [])):
        function = {**call["function"], "arguments": ""}
        made.append({"tool_calls": [{**call, "index": index, "function": function}]})
        made += [{"tool_calls": [entry(part, index=index)]} for part in parts(call["function"]["arguments"])]
    return made


@given(MESSAGES, st.integers(1, 5), st.sampled_from(["\n", "\r\n", "\r"]), CUT_POINTS)
def test_any_message_streamed_and_cut_anywhere_is_itself(
    message: dict[str, Any], size: int, line_end: str, points: list[int]
) -> None:
    """Rendered to deltas of any size, and those to bytes cut anywhere, a message assembles to itself."""
    events = [*map(chunk, deltas(message, size)), chunk({}, "stop"), DONE]
    events = [json.dumps(json.loads(one), ensure_ascii=False) if one != DONE else one for one in events]
    body = "".join(f"data: {event}{line_end}{line_end}" for event in events).encode()
    reader = SseReader()
    texts = [text for piece in cut(body, points) for text in reader.feed(piece)]
    told = assemble([*texts, *reader.end()])
    assert (told.message, told.finish_reason, told.deviations) == (message, "stop", ())


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", 0, 1, -1, "0", 1.0, True, "c1", "c2", "add", "{}", '{"a":', [], {}, [None], [{}]]
)
ODD_FUNCTIONS = ODD | st.dictionaries(st.sampled_from(["name", "arguments", "x"]), ODD, max_size=3)
ODD_ENTRIES = ODD | st.fixed_dictionaries(
    {}, optional={"index": ODD, "id": ODD, "type": ODD, "function": ODD_FUNCTIONS, "extra": ODD}
)
ODD_DELTAS = ODD | st.fixed_dictionaries(
    {},
    optional={
        "role": ODD,
        "content": ODD,
        "tool_calls": ODD | st.lists(ODD_ENTRIES, max_size=3),
        "function_call": ODD_FUNCTIONS,
        "vendor": ODD,
    },
)
ODD_CHOICES = ODD | st.fixed_dictionaries(
    {}, optional={"index": ODD, "delta": ODD_DELTAS, "message": ODD_DELTAS, "finish_reason": ODD}
)
ODD_EVENTS = (
    st.text(max_size=5)
    | st.just(DONE)
    | st.fixed_dictionaries(
        {}, optional={"choices": ODD | st.lists(ODD_CHOICES, max_size=2), "usage": ODD, "error": ODD}
    ).map(json.dumps)
)


@given(st.lists(ODD_EVENTS, max_size=8))
def test_hostile_streams_raise_nothing_but_bad_reply(events: list[str]) -> None:
    """Whatever stands where, the result is a message that can be sent as JSON, with known deviations; or BadReply."""
    try:
        told = assemble(events)
    except BadReply:
        return
    json.dumps(told.message)
    assert set(told.deviations) <= set(DEVIATIONS)


def test_deep_nests_raise_nothing_but_bad_reply() -> None:
    """Around the depth where Python gives up, an error and a value are read, or refused."""
    for depth in (*range(100, 1100, 50), *range(900, 1000, 4)):
        nest = "[" * depth + "]" * depth
        for text in (f'{{"error": {nest}}}', f'{{"choices": [{{"delta": {{"x": {nest}, "content": {nest}}}}}]}}'):
            try:
                assemble([text, text])
            except BadReply:
                continue


def test_many_small_pieces_are_cheap() -> None:
    """A text of a hundred thousand pieces is joined once."""
    piece = chunk({"content": "abcdefghij" * 10})
    told = assemble([piece] * 20_000)
    assert len(told.message["content"]) == 2_000_000
