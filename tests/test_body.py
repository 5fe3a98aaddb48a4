"""A body gives back every byte and every message, and what repeats the request before is not stored or parsed again."""

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.body import Bodies, Body, unread
from compare.values import parse

TOOLS = [{"type": "function", "function": {"name": "f", "description": "d" * 400, "parameters": {}}}]


def compact(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(value, separators=(",", ":")).encode()


def growing(rounds: int, tools_in_front: bool) -> Iterator[bytes]:
    """A conversation of two messages a round, about 225 bytes each, as the raw lane or as a framework sends it."""
    tools, joined = compact(TOOLS), compact({"role": "user", "content": "hi"})
    for number in range(rounds):
        if tools_in_front:
            yield b'{"model":"m","tools":' + tools + b',"messages":[' + joined + b"]}"
        else:
            yield b'{"messages":[' + joined + b'],"model":"m","tools":' + tools + b"}"
        function = {"name": "calculator", "arguments": json.dumps({"expression": f"{number} + {'1 + ' * 15}1"})}
        call = {"id": f"call_{number:020}", "type": "function", "function": function}
        joined += b"," + compact({"role": "assistant", "content": None, "tool_calls": [call]})
        joined += b"," + compact({"role": "tool", "tool_call_id": call["id"], "content": "x" * 150})


def check(sent: Sequence[bytes]) -> list[Body]:
    """The bodies in order, each of them giving back its bytes and its messages, also after all the others."""
    bodies = Bodies()
    kept = [bodies.read(raw) for raw in sent]
    for raw, body in zip(sent, kept, strict=True):
        assert raw == body.raw()
        assert (json.loads(raw)["messages"], "") == (body.messages(), body.problem)
        rest = json.loads(raw)
        del rest["messages"]
        assert rest == body.envelope
        assert body.before is None or body.envelope is body.before.envelope
    return kept


# --- what goes on from the request before ---


@pytest.mark.parametrize("tools_in_front", [True, False])
def test_only_what_is_new_is_stored(tools_in_front: bool) -> None:
    """Each body holds its own two messages, and shares the envelope with all of its conversation."""
    kept = check(list(growing(20, tools_in_front)))
    assert [None, *kept[:-1]] == [body.before for body in kept]
    assert [0, 1, 3, 5] == [body.kept for body in kept[:4]]
    assert {2} == {len(body.new) for body in kept[1:]}
    assert max(len(body.added) for body in kept[1:]) < 500


@pytest.mark.parametrize("tools_in_front", [True, False])
def test_only_what_is_new_is_parsed(monkeypatch: pytest.MonkeyPatch, tools_in_front: bool) -> None:
    """Over 200 requests no more bytes are parsed than the last of them has, and little beside."""
    parsed = 0

    def counting(text: str) -> Any:
        nonlocal parsed
        parsed += len(text)
        return parse(text)

    monkeypatch.setattr("compare.body.parse", counting)
    bodies, last = Bodies(), b""
    for last in growing(200, tools_in_front):
        bodies.read(last)
    assert len(last) <= parsed < len(last) + 500


def test_two_long_conversations_fit_in_12_mebibytes() -> None:
    """Two lanes of 1,000 requests; stored whole they would take 900."""
    lanes = [(Bodies(), growing(1000, front)) for front in (True, False)]
    kept: list[Body] = []
    tracemalloc.start()
    try:
        for _ in range(1000):
            kept += [bodies.read(next(sent)) for bodies, sent in lanes]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 12 * 2**20
    for front, body in zip((True, False), kept[-2:], strict=True):
        *_, last = growing(1000, front)
        assert (last, json.loads(last)["messages"]) == (body.raw(), body.messages())


def test_the_same_body_again_adds_nothing() -> None:
    """As a client's second attempt does."""
    first, second, third = check([b'{"messages":[{}],"x":1}'] * 3)
    assert (first, b"", 1, []) == (second.before, second.added, second.kept, second.new)
    assert (second, b"", 1, []) == (third.before, third.added, third.kept, third.new)


def test_spacing_between_messages_is_kept() -> None:
    """White space of JSON may stand wherever it may; it changes nothing but the bytes."""
    sent = [b'{"messages": [ {}\n], "x": 1}', b'{"messages": [ {} ,\t{"a": 1}\r\n, 2\n], "x": 1}']
    first, second = check(sent)
    assert (first, [{"a": 1}, 2]) == (second.before, second.new)


@pytest.mark.parametrize(
    "sent",
    [
        b'{"messages":[1,2],"x":2}',
        b'{"messages":[1],"x":1,"y":2}',
        b'{"messages":[1, 2 ] ,"x":1}',
        b'{"messages":[12],"x":1}',
        b'{"messages":[1.5],"x":1}',
        b'{"messages":[ 1,2],"x":1}',
        b'{"messages":[2,1],"x":1}',
        b'{"x":1,"messages":[1,2]}',
        b'{"messages":[],"x":1}',
        b'{"messages":[1],"messages":[1],"x":1}',
        b'{"messages":[1],"y":[2],"x":1}',
        b'{"messages":[1,2],"x":1} ',
    ],
)
def test_whatever_changes_more_than_the_end_of_the_messages_is_read_whole(sent: bytes) -> None:
    """Another value, another spacing, another order, another key: nothing is taken from the request before."""
    assert check([b'{"messages":[1],"x":1}', sent])[1].before is None


@pytest.mark.parametrize(
    "added",
    [
        b",",
        b", ,2",
        b",2,",
        b",,2",
        b"\x0b,2",
        b"\x0c,2",
        b"\xc2\xa0,2",
        b",\x0b2",
        b",2 3",
        b",2],[3",
        b',"',
        b",{",
        b",tru",
        b",NaN",
        b",Infinity",
        b",01",
        b',"\x01"',
        b',"\xff"',
        b',"\xed\xa0\xbd"',
        b",[" + b"[" * 100_000 + b"]" * 100_000 + b"]",
        b"," + b"[" * 99 + b"]" * 99,
        b"]",
        b"],",
    ],
)
def test_bytes_that_are_no_whole_messages_are_refused(added: bytes) -> None:
    """What is put between two halves of a good body makes no good body, as a reading of the whole says."""
    start, end = b'{"messages":[1', b'],"x":1}'
    bodies = Bodies()
    bodies.read(start + end)
    body = bodies.read(start + added + end)
    whole = Bodies().read(start + added + end)
    assert (start + added + end, whole.problem) == (body.raw(), body.problem)
    assert whole.problem.startswith(("the body cannot be read", "the body is nested"))
    assert (None, [], None) == (body.before, body.messages(), body.envelope)


def test_depth_is_limited_alike_in_both_ways_of_reading() -> None:
    """98 levels in a message are 100 in the body: these pass, one more does not."""
    for levels, sound in ((98, True), (99, False)):
        nested = b"[" * levels + b"]" * levels
        bodies = Bodies()
        bodies.read(b'{"messages":[1]}')
        assert sound == (bodies.read(b'{"messages":[1,%b]}' % nested).problem == "")
        assert sound == (Bodies().read(b'{"messages":[1,%b]}' % nested).problem == "")


def test_a_body_with_a_problem_does_not_break_the_chain() -> None:
    """The next sound request goes on from the last sound one."""
    bodies = Bodies()
    first = bodies.read(b'{"messages":[1]}')
    broken = bodies.read(b'{"messages":[1,')
    second = bodies.read(b'{"messages":[1,2]}')
    assert (first, [2]) == (second.before, second.new)
    assert ("the body cannot be read as JSON", b'{"messages":[1,') == (broken.problem.split(":")[0], broken.raw())


def test_a_body_that_was_not_for_the_model_is_kept_unread() -> None:
    """It has its bytes and says why it has no messages."""
    body = unread(b"\xff")
    assert (b"\xff", [], None) == (body.raw(), body.messages(), body.envelope)
    assert body.problem == "the request was not for the model"


def test_numbers_keep_their_spelling() -> None:
    """Through both ways of reading."""
    first, second = check([b'{"messages":[1.10]}', b'{"messages":[1.10,1e400]}'])
    assert ["1.10", "1.10", "1e400"] == [repr(value) for value in first.new + second.messages()]


def test_a_body_is_shown_without_its_history() -> None:
    """Its repr must not recurse into a chain of a thousand requests."""
    bodies = Bodies()
    kept = [bodies.read(b'{"messages":[%b]}' % b",".join([b"1"] * count)) for count in range(1, 1500)]
    assert kept[-1].before is kept[-2]
    assert len(repr(kept[-1])) < 200


# --- any sequence of bodies ---

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
BLANKS = st.text(" \t\n\r", max_size=2)


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> str:
    """The JSON of a value, spelled in one of the many ways that JSON has for it."""
    ascii_only = draw(st.booleans())
    text = json.dumps(value, ensure_ascii=ascii_only, indent=draw(st.sampled_from([None, None, 1])))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value)
    return draw(BLANKS) + text + draw(BLANKS)


@st.composite
def message(draw: st.DrawFn) -> str:
    """A message: mostly an object, now and then with a lone surrogate, a repeated key or an odd number."""
    odd = st.sampled_from(['"\\ud83d"', '{"a":1,"a":2}', "1e400", "1.10", "-0", '"七"', "[]", '"]"', '"],[\\""'])
    return draw(odd) if draw(st.booleans()) else draw(spelled(draw(VALUES)))


@st.composite
def sequences(draw: st.DrawFn) -> list[bytes]:
    """Bodies of a client that mostly goes on, and sometimes changes anything at all about its request."""
    messages: list[str] = []
    before, after, key, blank, sent = "", "", '"messages"', "", []
    for _ in range(draw(st.integers(1, 8))):
        change = draw(st.integers(0, 9))
        if change == 0 and messages:
            del messages[draw(st.integers(0, len(messages) - 1)) :]
        elif change == 1:
            messages = [draw(message()) for _ in messages]
        elif change == 2:
            pairs = draw(st.lists(st.tuples(st.sampled_from(["a", "messages", "模", '"']), VALUES), max_size=2))
            before = "".join(f"{json.dumps(name)}:{draw(spelled(value))}," for name, value in pairs)
        elif change == 3:
            pairs = draw(st.lists(st.tuples(st.sampled_from(["b", "c", "]}"]), VALUES), max_size=2))
            after = "".join(f",{draw(BLANKS)}{json.dumps(name)}:{draw(spelled(value))}" for name, value in pairs)
        elif change == 4:
            key = draw(st.sampled_from(['"messages"', '"mess\\u0061ges"', ' "messages"\n']))
        elif change == 5:
            blank = draw(BLANKS)
        messages += [draw(message()) for _ in range(draw(st.integers(0, 2)))]
        sent.append(f"{blank}{{{before}{key}:{blank}[{','.join(messages)}{blank}]{blank}{after}}}{blank}".encode())
    return sent


@settings(max_examples=100, deadline=None)
@given(sequences())
def test_any_sequence_gives_back_its_bytes_and_messages(sent: list[bytes]) -> None:
    """Growing, cut, rewritten, respelled, with another envelope: as if each had been read on its own."""
    check(sent)


@settings(max_examples=100, deadline=None)
@given(sequences(), st.data())
def test_no_damage_is_taken_for_a_message(sent: list[bytes], data: st.DataObject) -> None:
    """A body cut, doubled or filled with anything at any place is judged as when it is read on its own."""
    raw = data.draw(st.sampled_from(sent))
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(raw)), st.integers(0, len(raw)))))
    inserted = data.draw(st.sampled_from([b"", b",", b"]", b"}", b"1", b',"a"', b"\x0b", b" ", raw[start:end]]))
    damaged = raw[:start] + inserted + raw[data.draw(st.sampled_from([start, end])) :]
    bodies = Bodies()
    for one in sent:
        bodies.read(one)
    body, alone = bodies.read(damaged), Bodies().read(damaged)
    assert (damaged, alone.messages(), alone.envelope) == (body.raw(), body.messages(), body.envelope)
    assert alone.problem == body.problem
