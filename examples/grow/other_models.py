"""Other servers that speak Chat Completions: an address, a model's name, and the switches of that server."""

import sys
from typing import Any

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.model import SturdyChatOpenAI

SERVERS: dict[str, dict[str, Any]] = {
    # A local server takes any key, but wants the header. It may have to load the model first, so it gets more time.
    "ollama": {"base_url": "http://127.0.0.1:11434/v1", "model": "qwen3:8b", "api_key": "none", "timeout": 300},
    # `extra_body` goes into the request as it is.
    "vllm": {
        "base_url": "http://127.0.0.1:8000/v1",
        "model": "Qwen/Qwen3-8B",
        "api_key": "none",
        "extra_body": {"chat_template_kwargs": {"enable_thinking": False}},
        "max_tokens": 2000,
    },
    # It thinks when it is told to. What it thought goes back with its calls: it refuses the next request without that.
    "deepseek": {
        "base_url": "https://api.deepseek.com/v1",
        "model": "deepseek-chat",
        "extra_body": {"thinking": {"type": "enabled"}},
    },
}


def agent(server: str, **more: Any) -> Agent:
    """The graph on one of these servers; `more` are settings of ChatOpenAI."""
    return build(SturdyChatOpenAI(**SERVERS[server] | more), [COUNT_WORDS])


if __name__ == "__main__":
    name = sys.argv.pop(1) if len(sys.argv) > 1 else "ollama"
    show(agent(name).invoke(question("How many words has 'the quick brown fox'?")))
