"""The tool-calling loop by hand: send all messages, run the tools that were asked for, send all messages again."""

import logging
from collections.abc import Sequence

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
from raw.history import History
from raw.policy import observe
from raw.send import NoAnswer, ask, endpoint
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
    timeout: float = 60.0,
    max_retries: int = 0,
) -> tuple[list[Message], str]:
    """Answer the prompt with the model behind `base_url`, which may call the tools for at most `max_rounds` requests.

    Returns all messages, as Chat Completions dicts, and the stop reason, a word of `protocol.STOP_REASONS`.
    `timeout` is in seconds, for each wait on the model server. Progress is logged at level INFO.
    """
    by_name = {tool.name: tool for tool in tools}
    history = History(model, tools, opening(prompt, system))
    ids = made_up_ids()
    url = endpoint(base_url)
    headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
    # Loading the certificates costs tens of milliseconds, and a plain http address has no use for them.
    with httpx.Client(headers=headers, timeout=timeout, verify=url.scheme != "http") as client:
        for number in range(1, max_rounds + 1):
            log.info("[round %d]", number)
            try:
                reply, finish_reason = read_reply(ask(client, url, history.request(), max_retries))
            except (NoAnswer, BadReply) as error:
                log.info("[error] %s", error)
                return history.messages, error.stop
            # The assistant message goes back before its results, as received but for the named repairs.
            sent = sendable(reply, ids)
            history.add(sent)
            calls = tool_calls(reply)
            if not calls:
                return history.messages, ending(reply, finish_reason)
            # Every call gets exactly one tool message, carrying that call's id, before the model speaks again.
            for call, answered in zip(calls, sent["tool_calls"], strict=True):
                history.add(tool_message(answered["id"], observe(by_name, call, finish_reason)))
    return history.messages, "round-limit"
