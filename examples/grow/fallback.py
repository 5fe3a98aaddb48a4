"""Two models: the second is asked where the first gives no reply."""

import os

import openai

from examples.grow.own_tool import COUNT_WORDS
from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.model import SturdyChatOpenAI
from protocol import BadReply

NO_REPLY = (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError, BadReply)
"""Not a refusal such as 400 or 401: the same request would only be refused twice, or the wrong key never be found."""


def agent(first: SturdyChatOpenAI, second: SturdyChatOpenAI) -> Agent:
    """The graph on both. A time-out is an APIConnectionError too."""
    return build(first.with_fallbacks([second], exceptions_to_handle=NO_REPLY), [COUNT_WORDS])


if __name__ == "__main__":
    impatient = model(timeout=20, max_retries=0)
    other = SturdyChatOpenAI(model=os.environ.get("OPENAI_SECOND_MODEL", os.environ["OPENAI_MODEL"]))
    show(agent(impatient, other).invoke(question("How many words has 'the quick brown fox'?")))
