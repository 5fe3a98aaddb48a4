"""A ChatOpenAI that sends back what it received, and sends what it was told to."""

import contextlib
import math
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from openai import pydantic_function_tool
from pydantic import BaseModel, PrivateAttr

from lc.sturdy.asking import Question, aask, ask, untold
from lc.sturdy.wire import Turn, encoded, received
from protocol import encode_json, read_json

TIMEOUT = 60.0
"""Seconds for one whole reply, where nothing else is said: ChatOpenAI's own default is to wait for ever."""
MAX_RETRIES = 2
BESIDE = ("stream", "stream_usage", "timeout", "extra_headers", "extra_query")
"""What a call may be given that is not a parameter of the request's body."""
LENGTHS = {"max_tokens", "max_completion_tokens"}
"""The two names of one parameter."""


class SturdyChatOpenAI(ChatOpenAI):
    """ChatOpenAI for Chat Completions, to which a message is what the model sent and not what LangChain makes of it.

    - An assistant message keeps its JSON text, and goes back as that: reasoning fields, vendor keys, the text of the
      arguments, ids and order (`lc.sturdy.wire`). Messages of your own making are converted as ever.
    - A stream is put together by the rules of `protocol.assemble`, before LangChain can merge deltas. Its content comes
      piece by piece, its tool calls all at the end, and arguments that were cut off stay cut off.
    - One reply may take `timeout` seconds, from the request to its last byte. The SDK's own retries are off: the
      request is sent again at most `max_retries` times, and each time is logged (`lc.sturdy.asking`).
    - The model's name changes nothing: requests go to /chat/completions, with the parameters that you gave, under the
      names that you gave them.
    """

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    def __init__(self, **given: Any) -> None:
        """Takes what ChatOpenAI takes. Raises ValueError for the Responses API, and for a timeout not in seconds."""
        if given.get("use_responses_api"):
            raise ValueError("use_responses_api is True, but this speaks Chat Completions; use ChatOpenAI for that")
        super().__init__(**{**given, "use_responses_api": False})
        if not isinstance(self.request_timeout, int | float | None):
            raise ValueError(f"timeout is {self.request_timeout!r}, but must be seconds, for one whole reply")
        self._given = given
        self.temperature = given.get("temperature")  # which ChatOpenAI changes by the model's name

    def body(self, messages: list[BaseMessage], stream: bool, stop: list[str] | None = None, **bound: Any) -> bytes:
        """The request that sends these messages. They come last, so that it is the one before with more at the end."""
        parameters = dict(self._default_params)
        for key in ("model", "stream"):
            parameters.pop(key, None)
        if "max_completion_tokens" in parameters and "max_tokens" in self._given:
            parameters["max_tokens"] = parameters.pop("max_completion_tokens")
        parameters |= parameters.pop("extra_body", None) or {}
        if stop is not None:
            parameters["stop"] = stop
        if stream and bound.get("stream_usage", self.stream_usage):
            parameters["stream_options"] = {"include_usage": True}
        bound = {key: value for key, value in bound.items() if not key.startswith("ls_")}
        bound |= bound.pop("extra_body", None) or {}
        if not bound.get("tools", True):
            del bound["tools"]  # providers refuse an empty list
        if isinstance(bound.get("response_format"), type):
            bound["response_format"] = _as_json_schema(bound["response_format"])
        if LENGTHS & bound.keys():
            parameters = {key: value for key, value in parameters.items() if key not in LENGTHS}
        parameters = {key: value for key, value in {**parameters, **bound}.items() if key not in BESIDE}
        head = {"model": self.model_name, **({"stream": True} if stream else {}), **parameters}
        return b'%b,"messages":%b}' % (encode_json(head)[:-1], encoded(messages))

    def _question(self, messages: list[BaseMessage], stream: bool, stop: list[str] | None, bound: Any) -> Question:
        said = {**self.model_kwargs, **bound}
        bound = {key: value for key, value in bound.items() if key not in ("at_most", "told", "stream")}
        return Question(
            self.body(messages, stream, stop, **bound),
            stream,
            min(said.get("timeout") or self.request_timeout or TIMEOUT, said.get("at_most", math.inf)),
            MAX_RETRIES if self.max_retries is None else self.max_retries,
            said.get("told", untold),
            said.get("extra_headers") or {},
            said.get("extra_query") or {},
            said.get("at_most", math.inf),
        )

    def _message(self, turn: Turn, messages: list[BaseMessage], bound: dict[str, Any]) -> dict[str, Any]:
        fields = received(turn, messages, self.model_name)
        if isinstance(bound.get("response_format"), type):  # with_structured_output looks for it
            with contextlib.suppress(ValueError, RecursionError):
                fields["additional_kwargs"]["parsed"] = read_json(str(turn.message.get("content")))
        return fields

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._ensure_sync_client_available()
        *_, turn = ask(self.root_client, self._question(messages, False, stop, kwargs))
        return self._result(turn, messages, kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        *_, turn = [one async for one in aask(self.root_async_client, self._question(messages, False, stop, kwargs))]
        return self._result(turn, messages, kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self._ensure_sync_client_available()
        text = ""
        for one in ask(self.root_client, self._question(messages, True, stop, kwargs)):
            if isinstance(one, str):
                text += one
            if one:
                yield self._chunk(one, text, messages, kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        text = ""
        async for one in aask(self.root_async_client, self._question(messages, True, stop, kwargs)):
            if isinstance(one, str):
                text += one
            if one:
                yield self._chunk(one, text, messages, kwargs)

    def _result(self, turn: str | Turn, messages: list[BaseMessage], bound: dict[str, Any]) -> ChatResult:
        assert isinstance(turn, Turn)  # noqa: S101 # the last of what `ask` gives
        return ChatResult(generations=[ChatGeneration(message=AIMessage(**self._message(turn, messages, bound)))])

    def _chunk(
        self, one: str | Turn, text: str, messages: list[BaseMessage], bound: dict[str, Any]
    ) -> ChatGenerationChunk:
        """A piece of the content as it came; and at the end all that is not in the `text` so far."""
        if isinstance(one, str):
            return ChatGenerationChunk(message=AIMessageChunk(content=one))
        fields = self._message(one, messages, bound)
        if text:
            fields["content"] = ""
        return ChatGenerationChunk(message=AIMessageChunk(**fields, chunk_position="last"))


def _as_json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The response format that a pydantic model stands for, as the SDK has it."""
    function = pydantic_function_tool(model)["function"]
    schema = {"name": function["name"], "strict": True, "schema": function["parameters"]}
    return {"type": "json_schema", "json_schema": schema}
