"""Lockstep: one live reply for all lanes while their requests mean the same."""

import json
from typing import Any

import pytest

from compare.lanes import Lane, load_lanes
from compare.live.failures import Asked
from compare.live.meaning import compare_requests, request_legend
from compare.replies import Piece, ScriptedStream
from compare.runner import Execution
from tests.live_servers import body, endpoint, exchanges, live, sends, told
from tests.servers import calls, fails, says

CALL = {"id": "a", "type": "function", "function": {"name": "calculator", "arguments": '{"expression":"3*4"}'}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


def tool(schema: dict[str, Any] = SCHEMA, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "t", "description": "d", "parameters": schema, **more}}


def told_with(*ids: str, content: Any = "12") -> list[dict[str, Any]]:
    """An assistant message with so many calls, and a result for each."""
    asked = {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": one} for one in ids]}
    return [asked, *({"role": "tool", "tool_call_id": one, "content": content} for one in ids)]


def ran(result: Any = None, error: Exception | None = None) -> list[Execution]:
    return [Execution(1, "calculator", {}, {}, result, error, 0.0)]


def compared(one: Any, other: Any, *uses: list[Execution]) -> tuple[set[str], list[str]]:
    """The tolerances that two requests need, and the paths at which they part all the same."""
    sides = []
    for index, side in enumerate((one, other)):
        envelope = dict(body(**side)) if isinstance(side, dict) else body(*side)
        messages = envelope.pop("messages")
        sides.append(Asked(envelope, messages, uses[index] if uses else None))
    found = compare_requests(*sides)
    return set(found.tolerances), [difference.path for difference in found.differences]


BARE = {"type": "object", "properties": {"x": {"type": "string", "description": "more"}}, "required": ["x"]}
OTHER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
NAMED = {"type": "object", "properties": {"description": {"type": "string"}}, "required": []}
NAMELESS = {"type": "object", "properties": {}, "required": []}
IN_PARTS = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
IN_WORDS = [{"role": "user", "content": "ab"}]
PICTURE = [{"role": "user", "content": [{"type": "text", "text": "ab"}, {"type": "image_url", "image_url": {}}]}]


@pytest.mark.parametrize(
    ("one", "other", "tolerances", "paths"),
    [
        ({}, {"stream": False, "n": 1, "tool_choice": "auto", "user": None}, {"default-value"}, []),
        ({}, {"stream": True}, set(), ["stream"]),
        ({"n": 1}, {"n": 2}, set(), ["n"]),
        ({}, {"temperature": 1}, set(), ["temperature"]),
        ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, {"usage-in-streams"}, []),
        ({"tools": [tool()]}, {"tools": [tool(BARE, strict=False)]}, {"tool-wording"}, []),
        ({"tools": [tool()]}, {"tools": [tool(OTHER)]}, set(), ["tools[0].function.parameters.properties.x.type"]),
        ({"tools": [tool()]}, {"tools": [tool(description="e")]}, set(), ["tools[0].function.description"]),
        (
            {"tools": [tool(NAMED)]},
            {"tools": [tool(NAMELESS)]},
            set(),
            ["tools[0].function.parameters.properties.description"],
        ),
        ({"tools": [tool()]}, {"tools": [tool(), tool()]}, set(), ["tools[1]"]),
        ({"stop": {"a": 1, "b": 2}}, {"stop": {"b": 2, "a": 1}}, {"key-order"}, []),
        (IN_WORDS, IN_PARTS, {"text-parts"}, []),
        (IN_WORDS, PICTURE, set(), ["messages[1].content"]),
        (told_with("a"), told_with("b"), {"renamed-ids"}, []),
        (told_with("a", "b"), told_with("c", "d"), {"renamed-ids"}, []),
        (
            told_with("a", "b"),
            [told_with("a", "b")[0], *told_with("b", "a")[1:]],
            set(),
            ["messages[2].tool_call_id", "messages[3].tool_call_id"],
        ),
        (told_with("a"), told_with("a")[:1], set(), ["messages[2]"]),
        (told_with("a", content='{"ok": true, "result": 12}'), told_with("a"), {"result-envelope"}, []),
        (
            told_with("a", content='{"ok": true, "result": 12}'),
            told_with("a", content="13"),
            set(),
            ["messages[2].content"],
        ),
    ],
)
def test_what_two_requests_may_have_otherwise_and_mean_the_same(
    one: Any, other: Any, tolerances: set[str], paths: list[str]
) -> None:
    """Each tolerance by its name, and beside it what it does not forgive."""
    assert (tolerances, paths) == compared(one, other)


def test_a_failure_may_be_told_in_other_words() -> None:
    """By what the tools did: a text that no successful use of a tool returned tells a failure."""
    failed = told_with("a", content='{"ok": false, "error": "no"}')
    worded = told_with("a", content="Error: it is impossible")
    raised = ran(error=ValueError("no"))
    assert ({"error-wording"}, []) == compared(failed, worded, raised, raised)
    assert (set(), ["messages[2].content"]) == compared(failed, told_with("a"), raised, ran(result=12))


@pytest.mark.parametrize("content", ["", "42", '{"a": 1}', None])
def test_what_has_no_words_of_a_failure_tells_none(content: Any) -> None:
    """The tool raised, and the model hears of a result that nobody has, or of nothing."""
    failed, raised = told_with("a", content='{"ok": false, "error": "no"}'), ran(error=ValueError("no"))
    assert (set(), ["messages[2].content"]) == compared(failed, told_with("a", content=content), raised, raised)


@pytest.mark.parametrize("words", ["Error: {}", '{{"ok": false, "error": "{}"}}'])
def test_failures_under_each_other_s_ids_are_another_thing(words: str) -> None:
    """Two calls fail for different reasons, and the second lane tells each the other's."""
    texts = ("division by zero", "no such file")
    arguments = ('{"x": 1}', '{"x": 2}')
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": "t", "arguments": text}}
        for number, text in enumerate(arguments)
    ]
    uses = [Execution(1, "t", {"x": number + 1}, {}, None, OSError(text), 0.0) for number, text in enumerate(texts)]

    def told(*said: str) -> list[dict[str, Any]]:
        results = [{"role": "tool", "tool_call_id": f"c{number}", "content": one} for number, one in enumerate(said)]
        return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]

    first = told(*(f'{{"ok": false, "error": "{text}"}}' for text in texts))
    right, swapped = told(*map(words.format, texts)), told(*map(words.format, reversed(texts)))
    assert [] == compared(first, right, uses, uses)[1]
    assert (set(), ["messages[2].content", "messages[3].content"]) == compared(first, swapped, uses, uses)


def test_of_a_lane_whose_tools_nobody_saw_only_its_own_word_counts() -> None:
    """A text is then no failure."""
    failed, worded = told_with("a", content='{"ok": false, "error": "no"}'), told_with("a", content="Error: no")
    assert (set(), ["messages[2].content"]) == compared(failed, worded)


@pytest.mark.parametrize("content", ['{"a":' * 3000, "[" * 20_000])
def test_a_result_that_is_deeply_nested_is_text(content: str) -> None:
    """A tool may have read it from any file."""
    sides = told_with("a", content=content), told_with("a", content="12")
    assert (set(), ["messages[2].content"]) == compared(*sides, ran(result=content), ran(result=12))


def test_each_tolerance_has_a_sentence() -> None:
    """Which the report prints."""
    assert all(sentence.endswith(".") for sentence in request_legend().values())


@pytest.mark.parametrize("stream", [False, True])
def test_both_lanes_get_one_reply_while_they_mean_the_same(stream: bool) -> None:
    """The endpoint is asked by the first lane only, and the report names what was forgiven."""
    replies = calls(("c1", "calculator", '{"expression":"3*4"}')), says("12")
    with endpoint(*replies) as (server, upstream):
        result = live(upstream, *load_lanes("raw,lc"), stream=stream)
    assert 2 == len(server.exchanges)
    assert ["answer", "answer"] == [lane.observed for lane in result.lanes]
    assert [2, 0] == [lane["requests"] for lane in told(result)["lanes"].values()]
    assert {"tool-wording", "result-envelope"} <= set(told(result)["lanes"]["lc"]["tolerances"])
    assert set(told(result)["tolerances"]) == set(told(result)["lanes"]["lc"]["tolerances"])
    assert told(result)["lanes"]["lc"]["fork"] is None


def test_the_second_lane_gets_the_stream_with_the_same_borders() -> None:
    """Piece by piece as it came for the first one, whose pieces have the times at which they came."""
    pieces = [Piece(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"cho'), Piece(b'ices":[]}\n\n', 0.05)]
    pieces.append(Piece(b"data: [DONE]\n\n", 0.05))
    one, other = (sends(name, body(stream=True)) for name in "ab")
    with endpoint(ScriptedStream(tuple(pieces))) as (_, upstream):
        result = live(upstream, one, other, stream=True)
    first, second = exchanges(result, 0)[0], exchanges(result, 1)[0]
    assert [piece.data for piece in pieces] == [piece.data for piece in first.reply.pieces]
    assert [piece.data for piece in first.reply.pieces] == [piece.data for piece in second.reply.pieces]
    assert first.reply.pieces[1].pause >= 0.04
    assert 3 == len(first.chunks) == len(second.chunks)
    assert first.chunks[2][1] - first.chunks[0][1] >= 0.08


def parting(*second: dict[str, Any]) -> tuple[Lane, Lane]:
    """Two lanes whose second requests differ in one text; the other one sends these bodies behind it."""
    reply = {"role": "assistant", "content": "1"}
    same = body(), body(reply, {"role": "user", "content": "on"})
    return sends("a", *same), sends("b", body(), body(reply, {"role": "user", "content": "off"}), *second)


def test_where_they_part_the_report_shows_the_place_and_each_goes_on_alone() -> None:
    """The request, the path, both values; from there on the endpoint answers the lane itself."""
    with endpoint(says("1"), says("2"), says("alone")) as (server, upstream):
        result = live(upstream, *parting())
    fork = told(result)["lanes"]["b"]["fork"]
    assert (2, "changed-value", "messages[2].content") == (fork["request"], fork["class"], fork["path"])
    assert ("on", "off", None) == (fork["expected"], fork["found"], fork["healed"])
    assert (1, 1) == (told(result)["lanes"]["b"]["requests"], told(result)["lanes"]["b"]["shared"])
    assert "alone" == json.loads(exchanges(result, 1)[1].reply.body)["choices"][0]["message"]["content"]
    assert 3 == len(server.exchanges)


def test_after_fork_stop_ends_the_lane_there() -> None:
    """With an error that says why; the endpoint is not asked."""
    with endpoint(says("1"), says("2")) as (server, upstream):
        result = live(upstream, *parting(), after_fork="stop")
    assert 2 == len(server.exchanges)
    refused = exchanges(result, 1)[1].reply
    assert 400 == refused.status
    assert "request 2 parts from a: --after-fork stop" in refused.body.decode()
    assert 0 == told(result)["lanes"]["b"]["requests"]


def test_a_difference_that_heals_is_told() -> None:
    """A later request that means again what one of the first lane's does."""
    again = body({"role": "assistant", "content": "1"}, {"role": "user", "content": "on"})
    with endpoint(says("1"), says("2"), says("3"), says("4")) as (_, upstream):
        result = live(upstream, *parting(again))
    assert {"request": 3, "means": 2} == told(result)["lanes"]["b"]["fork"]["healed"]


def test_a_lane_that_sends_more_than_the_first_goes_on_alone() -> None:
    """There is nothing that its request could mean the same as."""
    with endpoint(says("1"), says("2")) as (server, upstream):
        result = live(upstream, sends("a", body()), sends("b", body(), body()))
    fork = told(result)["lanes"]["b"]["fork"]
    assert (2, "a sent only 1 request", None) == (fork["request"], fork["reason"], fork["path"])
    assert 2 == len(server.exchanges)


def test_an_error_is_one_reply_for_all_lanes_too() -> None:
    """So that lanes are compared on it, and it costs one request."""
    with endpoint(fails(429, "slow down")) as (server, upstream):
        result = live(upstream, sends("a", body()), sends("b", body()))
    assert [429, 429] == [exchanges(result, lane)[0].reply.status for lane in (0, 1)]
    assert 1 == len(server.exchanges)
