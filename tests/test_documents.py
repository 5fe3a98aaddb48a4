"""The document search: what it finds, in which order, and that the demo model knows when to ask for it."""

import json
from typing import Any

import pytest

from compare import demo
from toolbox import CALCULATOR, Tool, execute
from toolbox.documents import DOCUMENTS, SEARCH_DOCS, search_docs


def found(query: str) -> list[str]:
    return [one["id"] for one in search_docs(query)["documents"]]


def asked(prompt: str, *tools: Tool) -> list[tuple[str, Any]]:
    """The calls that the demo model makes for a prompt."""
    body = {"messages": [{"role": "user", "content": prompt}], "tools": [tool.schema() for tool in tools]}
    calls = [call["function"] for call in demo.answer(body)["message"].get("tool_calls", [])]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def test_a_document_has_every_word() -> None:
    """A document with only one of two words is not found."""
    assert ["null-content"] == found("null content")
    assert [] == found("null zebra")


def test_the_title_counts_more() -> None:
    """What has the word in its title comes first, whatever the order of the set is."""
    ids = [one.id for one in DOCUMENTS if "history" in one.title.lower()]
    assert ids == found("history")[:1]


def test_capitals_do_not_matter() -> None:
    """As in any search."""
    assert found("call IDS") == found("CALL ids") == ["call-ids"]


def test_at_most_three_are_shown_and_all_are_counted() -> None:
    """The number says how much was left out."""
    result = search_docs("a")
    assert (3, len(DOCUMENTS)) == (len(result["documents"]), result["found"])


@pytest.mark.parametrize(("query", "error"), [(" ", "the query is empty"), ("x" * 201, "201 characters")])
def test_a_query_is_refused_in_words(query: str, error: str) -> None:
    """The model is told what is wrong with it."""
    observation = json.loads(execute({"search_docs": SEARCH_DOCS}, "search_docs", json.dumps({"query": query})))
    assert (False, "ValueError") == (observation["ok"], observation["error_type"])
    assert error in observation["error"]


def test_the_ids_are_names() -> None:
    """No two documents share one."""
    assert len(DOCUMENTS) == len({one.id for one in DOCUMENTS})


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        ('Look up "call ids" in the documents, and compute 18 * (4 + 2).', "call ids"),
        ("look up null content in the docs and compute 18 * (4 + 2)", "null content"),
        ("在文档中查阅“call ids”，并计算 18 * (4 + 2)", "call ids"),
    ],
)
def test_the_demo_model_asks_for_it(prompt: str, query: str) -> None:
    """In both languages, beside a sum, in the order of the prompt."""
    wanted = [("search_docs", {"query": query}), ("calculator", {"expression": "18 * (4 + 2)"})]
    assert wanted == asked(prompt, SEARCH_DOCS, CALCULATOR)


def test_to_look_up_a_file_is_no_document_search() -> None:
    """Only what is to be looked up in the documents is."""
    assert [] == asked("Look up README.md", SEARCH_DOCS, CALCULATOR)


def test_the_demo_model_tells_what_was_found() -> None:
    """Title and text of each document, or that there is none."""
    for query, answer in (
        ("null content", "> Null content: A message that only makes calls"),
        ("zebra", "No document"),
    ):
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": "search_docs", "arguments": f'{{"query":"{query}"}}'},
        }
        messages = [
            {"role": "user", "content": f'Look up "{query}" in the documents'},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": json.dumps(search_docs(query))},
        ]
        body = {"messages": messages, "tools": [SEARCH_DOCS.schema()]}
        assert answer in demo.answer(body)["message"]["content"]
