"""Where the texts of a reply went: those that the next request holds byte for byte are lit in both."""

import re
from collections.abc import Iterator

from compare.page.markup import Markup, el

LITERAL = re.compile(r'("(?:[^"\\]++|\\.?)*+"?)(\s*:)?', re.DOTALL)
"""A JSON text, and the colon that makes a key of it. One without end goes to the end of all: no part is read twice."""
MESSAGE = '"message"'


def texts(body: str) -> Iterator[tuple[int, str]]:
    """The JSON texts of a body that are no keys, as they are spelled, and where each begins."""
    return ((found.start(), found[1]) for found in LITERAL.finditer(body) if found[2] is None)


def texts_of_message(reply: str) -> set[str]:
    """Those of a plain reply's message; none of a stream, where they come in fragments."""
    _, key, message = reply.partition(MESSAGE)
    return {text for _, text in texts(message)} if key else set()


def lit(body: str, among: set[str]) -> list[Markup | str]:
    """A body in parts, with those texts marked that are among some others."""
    parts: list[Markup | str] = []
    at = 0
    for start, text in texts(body) if among else ():
        if text in among:
            parts += [body[at:start], el("mark", None, text)]
            at = start + len(text)
    return [*parts, body[at:]]
