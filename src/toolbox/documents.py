"""A fixed set of small documents on tool calling, and the tool that searches them."""

from dataclasses import dataclass
from typing import Any

from toolbox.tool import Tool

MAX_FOUND = 3
MAX_QUERY = 200  # characters


@dataclass(frozen=True)
class Document:
    """One document: a short name, a title, and a text of a few sentences."""

    id: str
    title: str
    text: str


DOCUMENTS = (
    Document(
        "call-ids",
        "Tool call ids",
        "Each tool call has an id that the model server made up. The host sends it back as tool_call_id with the "
        "result, and that is all that ties a result to its call: neither the name nor the order does.",
    ),
    Document(
        "null-content",
        "Null content",
        "A message that only makes calls has nothing to say, so its content is null. It must go back as it came: some "
        "servers refuse a message without the key, and others an empty text.",
    ),
    Document(
        "arguments",
        "Arguments are text",
        "The arguments of a call are JSON written into a string. The model writes that string letter by letter, so it "
        "may be broken or cut off, and the host has to check it before a tool runs.",
    ),
    Document(
        "history",
        "The whole history each time",
        "A model server remembers nothing. Every request carries the whole conversation again, and the host alone "
        "decides what the model sees of its own past.",
    ),
    Document(
        "finish-reason",
        "Finish reasons",
        "The finish_reason says why the model stopped writing: tool_calls, stop, length or content_filter. Whether "
        "there are calls to answer is seen from the message, because servers mix the two up.",
    ),
    Document(
        "parallel-calls",
        "Several calls in one turn",
        "A model may make several calls in one message. Each of them needs exactly one tool message, directly behind "
        "it, before the model speaks again.",
    ),
    Document(
        "round-limit",
        "The round limit",
        "A loop without a limit can run for ever, and each round costs money. A host that stops at a limit should say "
        "so, and not present the last text as an answer.",
    ),
    Document(
        "errors",
        "Errors are results",
        "A tool that fails gives a result, too: the model is told what went wrong and can try again. An exception that "
        "ends the loop leaves a call without an answer.",
    ),
)


def search_docs(query: str) -> dict[str, Any]:
    """The documents that hold every word of the query, at most three: those with more of them in the title first.

    A word is found within longer ones, and capitals do not matter. Returns `{"documents": [...], "found": n}` with the
    `id`, `title` and `text` of each; `found` counts those that were left out, too.
    Raises ValueError for a query that is empty or has more than 200 characters.
    """
    words = query.lower().split()
    if not words:
        raise ValueError("the query is empty")
    if len(query) > MAX_QUERY:
        raise ValueError(f"the query has {len(query):,} characters; at most {MAX_QUERY}")
    found = [one for one in DOCUMENTS if all(word in f"{one.title} {one.text}".lower() for word in words)]
    found.sort(key=lambda one: -sum(word in one.title.lower() for word in words))
    shown = [{"id": one.id, "title": one.title, "text": one.text} for one in found[:MAX_FOUND]]
    return {"documents": shown, "found": len(found)}


SEARCH_DOCS = Tool(
    name="search_docs",
    description="Search a small fixed set of documents on tool calling; finds those that hold every word of the query.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words to look for, for example: call id."}},
        "required": ["query"],
        "additionalProperties": False,
    },
    function=search_docs,
)
