"""The tool-calling loop that LangChain has ready-made: `create_agent`, with its defaults."""

from collections.abc import Sequence

from langchain.agents import create_agent

from lc.convert import as_langchain
from lc.graph import chat_model, follow
from protocol import Message, opening
from toolbox.tool import Tool


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
    max_retries: int = 2,
) -> tuple[list[Message], str]:
    """Answer the prompt with the model behind `base_url`, which may call the tools for at most `max_rounds` requests.

    Returns all messages, as Chat Completions dicts, and the stop reason, a word of `protocol.STOP_REASONS`.
    With `stream` the replies come as Server-Sent Events. `timeout` is in seconds: for one whole reply by hand, for
    each wait in the framework. Progress is logged at level INFO.
    """
    llm = chat_model(base_url, model, api_key, stream, timeout, max_retries)
    agent = create_agent(llm, [as_langchain(tool) for tool in tools], system_prompt=system)
    messages, stop = follow(agent, opening(prompt, None), max_rounds)
    # The agent keeps the system text apart from its messages, and sends it in front of them.
    return [*opening(prompt, system)[:-1], *messages], stop
