"""A ChatOpenAI by what it sends: what it was told to, whatever the model is called, and what it had received."""

import asyncio
import copy
import json
import logging
from collections.abc import Callable
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import ConfigurableField
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, SecretStr

from compare.replies import Delta, ScriptedStream
from compare.server import ModelServer
from lc.sturdy.model import TIMEOUT, SturdyChatOpenAI
from lc.sturdy.wire import SENT, sent_message
from protocol import BadReply
from raw.history import History
from tests.servers import bodies, calls, echo_tool, fails, says, serving
from tests.sturdy import sturdy_model
from tests.test_raw_stream import SAYS, wire

ECHO = echo_tool()
SYSTEM, ASKED = SystemMessage("be brief"), HumanMessage("go")
BY_HAND: list[dict[str, Any]] = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}]
ARGUMENTS = '{ "text":"a", "n": 1e400, "b": 123456789012345678901234567890, "text":"\\ud83d"}'
ASKS = calls(("c1", "echo", ARGUMENTS), ("c2", "echo", '{"text": '), ("c1", "nope", "{}"), reasoning_content="hm")
"""With odd arguments, invalid ones, and an id that was there before."""


class City(BaseModel):
    """A city."""

    name: str


def request(call: Callable[[SturdyChatOpenAI], object], **more: Any) -> dict[str, Any]:
    """The body of the one request that the call makes."""
    with serving(says()) as server:
        call(sturdy_model(server, **more))
        (body,) = bodies(server)
    return body


def added(call: Callable[[SturdyChatOpenAI], object], **more: Any) -> dict[str, Any]:
    """What of the body is not the model's name or the messages."""
    return {key: value for key, value in request(call, **more).items() if key not in ("model", "messages")}


# --- what is sent

NAMES = [
    *("gpt-4o", "gpt-5", "gpt-5-mini", "gpt-5-chat", "gpt-5-pro", "gpt-5.2-pro", "gpt-5.6-sol", "gpt-6", "GPT-6"),
    *("gpt-6-mini-local", "o1", "o1-mini", "o1-like-local", "o3-mini", "O3", "my-codex-7b", "computer-use-preview"),
    *("gpt-oss-20b", "qwen-coder", "deepseek-reasoner"),
]


@pytest.mark.parametrize("given", [{}, {"temperature": 0.3, "max_tokens": 7}, {"temperature": 1.0}])
@pytest.mark.parametrize("name", NAMES)
def test_the_models_name_changes_nothing(name: str, given: dict[str, Any]) -> None:
    """Neither the endpoint, nor a parameter or what it is called, nor a role."""
    with serving(says(), says()) as server:
        model = sturdy_model(server, model=name, **given).bind_tools([ECHO.schema()])
        model.invoke([SYSTEM, ASKED])
        assert [*model.stream([SYSTEM, ASKED])]
        for exchange, body in zip(server.exchanges, bodies(server), strict=True):
            assert "/v1/chat/completions" == exchange.request.target
            stream = {"stream": True} if exchange.request.streamed else {}
            assert {"model": name, **stream, **given, "tools": [ECHO.schema()], "messages": BY_HAND} == body


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("tools", [[], [ECHO]])
def test_the_body_is_that_of_the_hand_written_loop(tools: list[Any], streamed: bool) -> None:
    """Byte for byte, with the messages last, so that each request is the one before with more at the end."""
    reply = calls(("c1", "echo", '{"text":"ä"}'), x={"y": None})
    with serving(reply, says()) as server:
        model = sturdy_model(server, streaming=streamed).bind_tools([tool.schema() for tool in tools])
        history: list[BaseMessage] = [SYSTEM, ASKED]
        history.append(model.invoke(history))
        model.invoke(history)
        sent = [exchange.request.body.raw() for exchange in server.exchanges]
    by_hand = History("m", tools, BY_HAND, streamed)
    first = by_hand.request()
    by_hand.add(sent_message(history[-1]))
    assert [first, by_hand.request()] == sent


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({"temperature": 0}, {"temperature": 0}),
        ({"max_tokens": 7}, {"max_tokens": 7}),
        ({"max_completion_tokens": 7}, {"max_completion_tokens": 7}),
        ({"top_p": 0.5, "seed": 1}, {"top_p": 0.5, "seed": 1}),
        ({"stop": ["X"]}, {"stop": ["X"]}),
        ({"stop_sequences": ["X"]}, {"stop": ["X"]}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ({"extra_body": {"think": False}, "temperature": 1}, {"think": False, "temperature": 1}),
        ({"extra_body": {"temperature": 9}, "temperature": 1}, {"temperature": 9}),
        ({"model_kwargs": {"vendor": 1}}, {"vendor": 1}),
        ({"stream_usage": True}, {}),
        ({"output_version": "v1"}, {}),
    ],
)
def test_sends_what_the_model_was_made_with(given: dict[str, Any], body: dict[str, Any]) -> None:
    """And nothing else."""
    assert body == added(lambda model: model.invoke([ASKED]), **given)


NAMED = {"type": "function", "function": {"name": "echo"}}
JSON_OBJECT = {"type": "json_object"}


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({"stop": ["Y"]}, {"stop": ["Y"], "max_tokens": 7}),
        ({"temperature": 0.9}, {"temperature": 0.9, "max_tokens": 7}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"max_completion_tokens": 9}, {"max_completion_tokens": 9}),
        ({"tool_choice": NAMED}, {"tool_choice": NAMED, "max_tokens": 7}),
        ({"parallel_tool_calls": False}, {"parallel_tool_calls": False, "max_tokens": 7}),
        ({"response_format": JSON_OBJECT}, {"response_format": JSON_OBJECT, "max_tokens": 7}),
        ({"extra_body": {"a": 1}}, {"a": 1, "max_tokens": 7}),
        ({"tools": []}, {"max_tokens": 7}),
        ({"stream": False}, {"max_tokens": 7}),
        ({"stream": True}, {"stream": True, "max_tokens": 7}),
        ({"timeout": 5, "stream_usage": True, "extra_headers": {"X-A": "1"}}, {"max_tokens": 7}),
    ],
)
def test_sends_what_a_call_was_given(given: dict[str, Any], body: dict[str, Any]) -> None:
    """Bound before or said in the call; what belongs beside the body stays out of it."""
    assert body == added(lambda model: model.invoke([ASKED], **given), max_tokens=7)
    assert body == added(lambda model: model.bind(**given).invoke([ASKED]), max_tokens=7)


@pytest.mark.parametrize(
    ("choice", "sent"), [("auto", "auto"), ("none", "none"), ("any", "required"), (True, "required"), ("echo", NAMED)]
)
def test_binds_tools_with_a_choice(choice: Any, sent: Any) -> None:
    """In LangChain's words, and with the schema as it was given."""
    body = added(lambda model: model.bind_tools([ECHO.schema()], tool_choice=choice).invoke([ASKED]))
    assert {"tools": [ECHO.schema()], "tool_choice": sent} == body


def test_a_stream_asks_for_its_usage_when_told_to() -> None:
    """By the model, by the call, and not of itself."""
    asks = {"stream": True, "stream_options": {"include_usage": True}}
    assert asks == added(lambda model: [*model.stream([ASKED])], stream_usage=True)
    assert asks == added(lambda model: [*model.stream([ASKED], stream_usage=True)])
    assert {"stream": True} == added(lambda model: [*model.stream([ASKED])])


def test_headers_and_query_of_a_call_are_sent() -> None:
    """As ChatOpenAI sends them, of the model and of the call."""
    with serving(says(), says()) as server:
        sturdy_model(server, default_headers={"X-A": "1"}).invoke([ASKED], extra_headers={"X-B": "2"})
        sturdy_model(server, model_kwargs={"extra_headers": {"X-B": "3"}}).invoke([ASKED], extra_query={"v": "1"})
        first, second = [exchange.request for exchange in server.exchanges]
    fields = [{name.lower(): value for name, value in one.headers} for one in (first, second)]
    assert [("1", "2"), (None, "3")] == [(one.get("x-a"), one.get("x-b")) for one in fields]
    assert "/v1/chat/completions?v=1" == second.target


def test_refuses_what_it_cannot_do() -> None:
    """In one line, when it is made."""
    for given, said in (({"use_responses_api": True}, "Responses|Chat Completions"), ({"timeout": (1, 2)}, "seconds")):
        with pytest.raises(ValueError, match=said) as raised:
            SturdyChatOpenAI(model="m", api_key=SecretStr("k"), **given)
        assert "\n" not in str(raised.value)


def test_the_time_for_a_reply_is_finite() -> None:
    """Of the call, of the model, else a minute; a run's deadline can only make it shorter."""
    model = SturdyChatOpenAI(model="m", api_key=SecretStr("k"))
    assert TIMEOUT == model._question([ASKED], False, None, {}).timeout
    model.request_timeout = 5
    limits = [{}, {"timeout": 3}, {"at_most": 2}, {"at_most": 9}]
    assert [5, 3, 2, 5] == [model._question([ASKED], False, None, one).timeout for one in limits]


def test_retries_are_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Two more by default, as many as was said else, and none by the SDK."""
    for given, requests in (({"max_retries": None}, 3), ({"max_retries": 1}, 2), ({"max_retries": 0}, 1)):
        caplog.clear()
        with caplog.at_level(logging.INFO, "lc"), serving(*[fails(500, retry_after="0")] * 9) as server:
            with pytest.raises(openai.InternalServerError):
                sturdy_model(server, **given).invoke([ASKED])
            assert requests == len(server.exchanges)
        assert requests - 1 == sum("[retry]" in text for text in caplog.messages)


def test_what_holds_no_message_is_raised() -> None:
    """Plain and streamed."""
    for streamed in (False, True):
        with serving(fails(200)) as server, pytest.raises(BadReply):
            sturdy_model(server, streaming=streamed).invoke([ASKED])


# --- what comes back


def seen(message: AIMessage) -> Any:
    """What of a message does not depend on how it was asked for."""
    return message.content, message.tool_calls, message.invalid_tool_calls, sent_message(message)


async def by_astream(model: SturdyChatOpenAI) -> AIMessage:
    made = AIMessageChunk(content="")
    async for chunk in model.astream([ASKED]):
        made += chunk
    return made


def by_stream(model: SturdyChatOpenAI) -> AIMessage:
    first, *rest = model.stream([ASKED])
    made: Any = first
    for chunk in rest:
        made += chunk
    return made  # type: ignore[no-any-return]


@pytest.mark.parametrize("reply", [ASKS, says("hello", reasoning_content="hm"), says(""), says(None, refusal="no")])
def test_every_way_to_ask_gives_the_same_message(reply: Any) -> None:
    """invoke, stream and batch, in an event loop and without."""
    with serving(*[reply] * 6) as server:
        model = sturdy_model(server)
        got = [model.invoke([ASKED]), *model.batch([[ASKED]]), by_stream(model)]

        async def in_a_loop() -> list[AIMessage]:
            found = [await model.ainvoke([ASKED]), *await model.abatch([[ASKED]]), await by_astream(model)]
            await model.root_async_client.close()
            return found

        got += asyncio.run(in_a_loop())
    expected = seen(got[0])
    assert 6 == len([one for one in got if seen(one)[:3] == expected[:3]])
    assert all(seen(one)[3] == expected[3] for one in got)


def test_tokens_come_as_they_are_sent() -> None:
    """The first piece is there though the server never sends the second."""

    async def first(model: SturdyChatOpenAI) -> Any:
        pieces = model.astream([ASKED])
        piece = await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]
        await model.root_async_client.close()
        return piece.content

    with wire([*SAYS[:2], "stall"], [*SAYS[:2], "stall"]) as server:
        model = SturdyChatOpenAI(base_url=server.base_url, model="m", api_key=SecretStr("k"), timeout=4)
        pieces = model.stream([ASKED])
        assert "he" == next(pieces).content
        pieces.close()  # type: ignore[attr-defined]
        assert "he" == asyncio.run(first(model))


def chatbot(server: ModelServer) -> Any:
    """A graph of one node that asks the model."""
    model = sturdy_model(server)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "model")
    return graph.compile()


def by_messages(graph: Any, given: Any) -> Any:
    made: Any = None
    for mode, value in graph.stream(given, stream_mode=["messages", "values"]):
        if mode == "messages":
            made = value[0] if made is None else made + value[0]
        else:
            last = value
    return [made, last["messages"][-1]]


def by_events(graph: Any, given: Any) -> Any:
    async def collect() -> Any:
        events = [event async for event in graph.astream_events(given, version="v2")]
        (end,) = [event["data"]["output"] for event in events if event["event"] == "on_chat_model_end"]
        return [end, events[-1]["data"]["output"]["messages"][-1]]

    return asyncio.run(collect())


def by_protocol(graph: Any, given: Any) -> Any:
    run = graph.stream_events(given, version="v3")
    assert list(run)
    return [run.output["messages"][-1]]


def by_protocol_async(graph: Any, given: Any) -> Any:
    async def collect() -> Any:
        run = await graph.astream_events(given, version="v3")
        assert [event async for event in run]
        return [(await run.output())["messages"][-1]]

    return asyncio.run(collect())


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")  # is experimental
@pytest.mark.parametrize("way", [by_messages, by_events, by_protocol, by_protocol_async])
@pytest.mark.parametrize("reply", [ASKS, says("hello", reasoning_content="hm")])
def test_every_way_to_watch_a_graph_keeps_the_message(way: Callable[..., Any], reply: Any) -> None:
    """By LangGraph's messages, by LangChain's events, and by the newer protocol of events: text and calls are kept."""
    with serving(reply, reply) as server:
        expected = sturdy_model(server).invoke([ASKED])
        for message in way(chatbot(server), {"messages": [ASKED]}):
            assert sent_message(message) == sent_message(expected)
            assert expected.tool_calls == message.tool_calls
            assert [] == message.invalid_tool_calls
            assert {SENT, "came"} >= message.additional_kwargs.keys()
        assert [None, True] == [body.get("stream") for body in bodies(server)]


def test_the_content_of_an_odd_stream_is_told_once() -> None:
    """Content that is no text comes whole at the end."""
    parts = [{"type": "text", "text": "a"}]
    items = (Delta(json.dumps({"role": "assistant", "content": parts})), Delta("{}", "stop"))
    with serving(ScriptedStream(items)) as server:
        assert parts == by_stream(sturdy_model(server)).content


# --- what ChatOpenAI can do besides


@pytest.mark.parametrize(("method", "reply"), [
    ("function_calling", calls(("c1", "City", '{"name":"Oslo"}'))),
    ("json_mode", says('{"name":"Oslo"}')),
    ("json_schema", says('{"name":"Oslo"}')),
])  # fmt: skip
def test_structured_output_works(method: Any, reply: Any) -> None:
    """By each method, for a pydantic model and for a schema."""
    with serving(reply, reply, reply) as server:
        model = sturdy_model(server)
        oslo = City(name="Oslo")
        assert oslo == model.with_structured_output(City, method=method).invoke([ASKED])
        raw = model.with_structured_output(City, method=method, include_raw=True).invoke([ASKED])
        assert (oslo, None) == (raw["parsed"], raw["parsing_error"])
        schema = City.model_json_schema()
        assert {"name": "Oslo"} == model.with_structured_output(schema, method=method).invoke([ASKED])
        assert all("ls_structured_output_format" not in body for body in bodies(server))


def test_structured_output_that_is_none_is_refused() -> None:
    """Text that is no JSON is no city."""
    with serving(says("Oslo")) as server, pytest.raises(ValueError, match="parsed"):
        sturdy_model(server).with_structured_output(City).invoke([ASKED])


@pytest.mark.parametrize("copied", [
    lambda model: model.model_copy(),
    copy.copy,
    lambda model: model.with_config(tags=["x"]),
    lambda model: model.bind(top_p=0.5),
    lambda model: model.configurable_fields(top_p=ConfigurableField(id="p")).with_config(configurable={"p": 0.5}),
])  # fmt: skip
def test_a_copy_sends_what_the_original_was_given(copied: Callable[[SturdyChatOpenAI], Any]) -> None:
    """Under the same names."""
    body = added(lambda model: copied(model).invoke([ASKED]), model="gpt-5", temperature=0.3, max_tokens=7)
    assert {"temperature": 0.3, "max_tokens": 7} == {key: body[key] for key in body if key != "top_p"}
