"""The faithful lane: the rules of the hand-written lane once more, plain and streamed, each step a method."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import Any, ClassVar

import httpx

from protocol import (
    Assembled,
    Assembly,
    BadReply,
    Message,
    SseReader,
    ending,
    made_up_ids,
    opening,
    read_reply,
    sendable,
    tool_calls,
    tool_message,
)
from toolbox import Tool, execute

RunLane = Callable[..., tuple[list[Any], str]]
"""The contract of a lane, as in `compare.lanes`."""

Turn = tuple[Message, Any, bool]
"""The model's message, its finish reason, and whether the message came to its end."""


class Loop:
    """The rules of the hand-written lane once more, with each step a method, so that a miniature departs in one."""

    extra: ClassVar[dict[str, Any]] = {}
    """What a request has besides model, tools and messages."""

    def __init__(self, prompt: str, tools: Sequence[Tool], model: str, system: str | None, timeout: float) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.model = model
        self.timeout = timeout
        self.until = math.inf
        self.ids = made_up_ids()
        self.messages = self.opening(prompt, system)

    def opening(self, prompt: str, system: str | None) -> list[Message]:
        """The messages that open the conversation."""
        return opening(prompt, system)

    def body(self) -> dict[str, Any]:
        """The next request."""
        schemas = [tool.schema() for tool in self.tools.values()]
        return {"model": self.model, **self.extra, "tools": schemas, "messages": self.messages}

    def ask(self, client: httpx.Client) -> httpx.Response:
        """The answer to the next request, its body not read yet."""
        self.until = monotonic() + self.timeout
        request = client.build_request("POST", "chat/completions", content=json.dumps(self.body()))
        return client.send(request, stream=True)

    def pieces(self, response: httpx.Response) -> Iterator[bytes]:
        """The body as it comes, up to the deadline: httpx only knows a timeout for each wait."""
        for piece in response.iter_bytes():
            if monotonic() > self.until:
                raise httpx.ReadTimeout("the time for the whole reply is up")
            yield piece

    def hear(self, response: httpx.Response) -> Turn:
        """What the model says in the answer."""
        return (*read_reply(b"".join(self.pieces(response))), True)

    def back(self, reply: Message) -> list[Message]:
        """The model's message as it goes back."""
        return [sendable(reply, self.ids)]

    def answers(self, ids: list[Any], calls: list[Any], finish_reason: Any, whole: bool) -> list[Message]:
        """One tool message for each call."""
        observations = [self.observation(call, finish_reason, whole) for call in calls]
        return list(map(tool_message, ids, observations))

    def observation(self, call: Any, finish_reason: Any, whole: bool) -> str:
        """What one call comes to."""
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or (call.get("type") or "function") != "function":
            return failure("not_a_function", "only functions can be called")
        if finish_reason == "length" or not whole:
            return failure("cut_off", "the turn was cut off, so the call was not run")
        arguments = function.get("arguments")
        text = json.dumps(arguments) if isinstance(arguments, dict) else arguments
        return self.execute(function.get("name"), "" if text is None else text)

    def execute(self, name: Any, arguments: Any) -> str:
        """What the tool says."""
        return execute(self.tools, name, arguments)

    def claim(self, stop: str) -> tuple[list[Any], str]:
        """What the lane says of its run."""
        return self.messages, stop

    def run(self, client: httpx.Client, max_rounds: int) -> tuple[list[Any], str]:
        """Ask, run the tools, and ask again, until the model asks for none."""
        for _ in range(max_rounds):
            try:
                response = self.ask(client)
                if not response.is_success:
                    b"".join(self.pieces(response))  # an error that breaks off is no answer either
                    return self.claim("http-error")
                reply, finish_reason, whole = self.hear(response)
            except httpx.TimeoutException:
                return self.claim("deadline")
            except httpx.TransportError:
                return self.claim("connection-error")
            except BadReply:
                return self.claim("bad-reply")
            back = self.back(reply)
            self.messages += back
            if not (calls := tool_calls(reply)):
                return self.claim(ending(reply, finish_reason) if whole else "cut-off")
            ids = [call["id"] for message in back for call in tool_calls(message)]
            self.messages += self.answers(ids, calls, finish_reason, whole)
        return self.claim("round-limit")


class StreamLoop(Loop):
    """The same loop, with replies that come as Server-Sent Events."""

    extra: ClassVar[dict[str, Any]] = {"stream": True}

    def texts(self, response: httpx.Response) -> Iterator[str]:
        """The data texts of the events, as they come."""
        reader = SseReader()
        for piece in self.pieces(response):
            yield from reader.feed(piece)
        yield from reader.end()

    def assemble(self, texts: Iterable[str]) -> Assembled:
        """The message in the events: half of one, when the connection broke, is none."""
        assembly = Assembly()
        try:
            for text in texts:
                assembly.add(text)
        except httpx.TransportError:
            if not assembly.whole:
                raise
        return assembly.finished()

    def hear(self, response: httpx.Response) -> Turn:
        """What the model says in the stream."""
        turn = self.assemble(self.texts(response))
        return turn.message, turn.finish_reason, turn.whole


def failure(error_type: str, error: str) -> str:
    """An observation of a call that was not run."""
    return json.dumps({"ok": False, "error_type": error_type, "error": error})


def lane(plain: type[Loop], streamed: type[Loop]) -> RunLane:
    """The lane that goes by these loops, one for each mode."""

    def run(
        prompt: str,
        tools: Sequence[Tool],
        *,
        base_url: str,
        model: str,
        api_key: str,
        system: str | None = None,
        max_rounds: int = 8,
        stream: bool = False,
        timeout: float = 60.0,
    ) -> tuple[list[Any], str]:
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        with httpx.Client(base_url=base_url, headers=headers, timeout=timeout, verify=False) as client:  # noqa: S501 # loopback
            loop = streamed if stream else plain
            return loop(prompt, tools, model, system, timeout).run(client, max_rounds)

    return run


faithful = lane(Loop, StreamLoop)
