"""The tool-calling loop by hand: send all messages, run the tools that were asked for, send all messages again."""

import logging
from collections.abc import Sequence

from protocol import BadReply, Message, ending, made_up_ids, opening, sendable, tool_calls, tool_message
from raw.history import History
from raw.policy import observe
from raw.receive import NoAnswer
from raw.send import Endpoint
from toolbox.tool import Tool

log = logging.getLogger("raw")


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
    max_retries: int = 0,
) -> tuple[list[Message], str]:
    """Answer the prompt with the model behind `base_url`, which may call the tools for at most `max_rounds` requests.

    Returns all messages, as Chat Completions dicts, and the stop reason, a word of `protocol.STOP_REASONS`.
    With `stream` the replies come as Server-Sent Events. `timeout` is in seconds: for one whole reply by hand, for
    each wait in the framework. Progress is logged at level INFO.
    """
    by_name = {tool.name: tool for tool in tools}
    history = History(model, tools, opening(prompt, system), stream)
    ids = made_up_ids()
    with Endpoint(base_url, api_key, stream=stream, timeout=timeout, max_retries=max_retries) as endpoint:
        for number in range(1, max_rounds + 1):
            log.info("[round %d]", number)
            try:
                reply, finish_reason, whole = endpoint.ask(history.request())
            except (NoAnswer, BadReply) as error:
                log.info("[error] %s", error)
                return history.messages, error.stop
            # The assistant message goes back before its results, as received but for the named repairs.
            sent = sendable(reply, ids)
            history.add(sent)
            calls = tool_calls(reply)
            if not calls:
                return history.messages, ending(reply, finish_reason) if whole else "cut-off"
            # Every call gets exactly one tool message, carrying that call's id, before the model speaks again.
            for call, answered in zip(calls, sent["tool_calls"], strict=True):
                history.add(tool_message(answered["id"], observe(by_name, call, finish_reason, whole)))
    return history.messages, "round-limit"
