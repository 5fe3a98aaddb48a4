"""Lesson 7: a tool of your own, given to both loops."""

import logging

import lc
import raw
from toolbox import Tool


def count_words(text: str) -> int:
    """Count the words of a text."""
    # Exercise, first half: do it.
    return 0


COUNT_WORDS = Tool(
    name="count_words",
    description="Count the words of a text.",
    # Exercise, second half: the tool takes one argument, text, a string, which may not be missing.
    parameters={"type": "object", "properties": {}},
    function=count_words,
)


def main(base_url):
    """Put the same prompt to the model through both loops."""
    settings = {"base_url": base_url, "model": "scripted-model", "api_key": "none"}
    for run in (raw.run, lc.run):
        run("How many words are in 'to be or not to be'?", [COUNT_WORDS], **settings)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)-5s %(message)s")
    main("http://127.0.0.1:8040/v1")
