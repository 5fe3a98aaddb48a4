"""The faithful lane: the rules of the hand-written lane once more, each step a method that can be replaced."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from protocol import (
    BadReply,
    Message,
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


class Loop:
    """The rules of the hand-written lane once more, with each step a method, so that a miniature departs in one."""

    def __init__(self, prompt: str, tools: Sequence[Tool], model: str, system: str | None) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.model = model
        self.ids = made_up_ids()
        self.messages = self.opening(prompt, system)

    def opening(self, prompt: str, system: str | None) -> list[Message]:
        """The messages that open the conversation."""
        return opening(prompt, system)

    def body(self) -> dict[str, Any]:
        """The next request."""
        schemas = [tool.schema() for tool in self.tools.values()]
        return {"model": self.model, "tools": schemas, "messages": self.messages}

    def ask(self, client: httpx.Client) -> httpx.Response:
        """The answer to the next request."""
        return client.post("chat/completions", content=json.dumps(self.body()))

    def back(self, reply: Message) -> list[Message]:
        """The model's message as it goes back."""
        return [sendable(reply, self.ids)]

    def answers(self, ids: list[Any], calls: list[Any], finish_reason: Any) -> list[Message]:
        """One tool message for each call."""
        observations = [self.observation(call, finish_reason) for call in calls]
        return list(map(tool_message, ids, observations))

    def observation(self, call: Any, finish_reason: Any) -> str:
        """What one call comes to."""
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or (call.get("type") or "function") != "function":
            return failure("not_a_function", "only functions can be called")
        if finish_reason == "length":
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
            except httpx.TransportError:
                return self.claim("connection-error")
            if not response.is_success:
                return self.claim("http-error")
            try:
                reply, finish_reason = read_reply(response.content)
            except BadReply:
                return self.claim("bad-reply")
            back = self.back(reply)
            self.messages += back
            if not (calls := tool_calls(reply)):
                return self.claim(ending(reply, finish_reason))
            ids = [call["id"] for message in back for call in tool_calls(message)]
            self.messages += self.answers(ids, calls, finish_reason)
        return self.claim("round-limit")


def failure(error_type: str, error: str) -> str:
    """An observation of a call that was not run."""
    return json.dumps({"ok": False, "error_type": error_type, "error": error})


def lane(loop: type[Loop]) -> RunLane:
    """The lane that goes by this loop."""

    def run(
        prompt: str,
        tools: Sequence[Tool],
        *,
        base_url: str,
        model: str,
        api_key: str,
        system: str | None = None,
        max_rounds: int = 8,
        timeout: float = 60.0,
    ) -> tuple[list[Any], str]:
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        with httpx.Client(base_url=base_url, headers=headers, timeout=timeout, verify=False) as client:  # noqa: S501 # loopback
            return loop(prompt, tools, model, system).run(client, max_rounds)

    return run


faithful = lane(Loop)
