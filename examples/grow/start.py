"""What the programs of this folder share: the model of the environment, and one turn at the terminal."""

import os
import sys
from typing import Any

import click
from langchain_core.messages import HumanMessage

from lc.sturdy.model import SturdyChatOpenAI


def model(**more: Any) -> SturdyChatOpenAI:
    """The model of OPENAI_MODEL, behind OPENAI_BASE_URL, with the key of OPENAI_API_KEY."""
    return SturdyChatOpenAI(model=os.environ["OPENAI_MODEL"], **more)


def question(text: str) -> Any:
    """The input that begins a turn: what stands on the command line, or else this text."""
    return {"messages": [HumanMessage(" ".join(sys.argv[1:]) or text)]}


def show(end: Any) -> None:
    """Print the last message of a state."""
    click.echo(end["messages"][-1].text)
