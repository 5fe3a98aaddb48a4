"""What a search beneath one root finds, where it may start, and what it says of the rest."""

import os
from pathlib import Path

import pytest

from tests.workspace import Tools, refusal


def test_a_search_finds_lines_in_order(tools: Tools, root: Path) -> None:
    """Matches come sorted by path, then line, literally; secrets and links are passed over."""
    (root / ".env").write_text("docs")
    (root / ".git").mkdir()
    (root / ".git" / "x").write_text("docs")
    (root / "docs.txt").write_text("x\ndocs docs\nDOCS\ndo.s")
    (root / "docs" / "link").symlink_to("../README.md")
    (root / "out").symlink_to("../outside")
    os.mkfifo(root / "fifo")
    assert tools["search_text"]("docs") == {
        "matches": [
            {"path": "README.md", "line": 2, "text": "read the docs"},
            {"path": "docs.txt", "line": 2, "text": "docs docs"},
            {"path": "docs/a.txt", "line": 2, "text": "second docs"},
        ],
        "cut": None,
        "skipped": {"link": 2, "not a file": 1, "secret": 2},
    }
    assert tools["search_text"]("do.s")["matches"] == [{"path": "docs.txt", "line": 4, "text": "do.s"}]


@pytest.mark.parametrize("path", ["docs", "docs/", "docs/a.txt", "to_docs", "to_docs/a.txt"])
def test_a_search_may_start_anywhere(tools: Tools, root: Path, path: str) -> None:
    """A folder, a file and a link inside are searched, and named as they lie beneath the root."""
    (root / "to_docs").symlink_to("docs")
    expected = [{"path": "docs/a.txt", "line": 2, "text": "second docs"}]
    assert expected == tools["search_text"]("second", path)["matches"]


def test_a_search_says_what_it_skipped(tools: Tools, root: Path) -> None:
    """Files that are too large or not UTF-8, and names that cannot be opened again, are counted."""
    (root / "large").write_bytes(b"text" * 10_000)
    (root / "binary").write_bytes(b"text\xff")
    (root / os.fsdecode(b"\xff")).write_text("text")
    expected = {"not UTF-8": 1, "too large": 1, "unreadable": 1}
    assert {"matches": [], "cut": None, "skipped": expected} == tools["search_text"]("text")


def test_a_search_is_cut_and_says_so(tools: Tools, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 100 matches are given, and at most 5,000 files and directories visited."""
    (root / "many").write_text("hit\n" * 100)
    assert tools["search_text"]("hit")["cut"] is None
    (root / "many").write_text("hit\n" * 101)
    result = tools["search_text"]("hit")
    assert (len(result["matches"]), result["cut"]) == (100, "the first 100 matches")
    monkeypatch.setattr("toolbox.search.MAX_VISITED", 3)  # the root, README.md, docs/
    result = tools["search_text"]("docs")
    assert (len(result["matches"]), result["cut"]) == (1, "stopped after 3 files and directories")
    monkeypatch.setattr("toolbox.search.MAX_VISITED", 5)
    assert tools["search_text"]("docs")["cut"] is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hit" + "." * 197, "hit" + "." * 197),
        ("hit" + "." * 300, "hit" + "." * 197 + "…"),
        ("." * 300 + "hit", "…" + "." * 197 + "hit"),
        ("." * 300 + "hit" + "." * 300, "…" + "." * 50 + "hit" + "." * 147 + "…"),
    ],
)
def test_long_lines_are_shown_around_the_match(tools: Tools, root: Path, line: str, expected: str) -> None:
    """Of a long line 200 characters are shown, with marks where it goes on."""
    (root / "long").write_text(line)
    assert expected == tools["search_text"]("hit")["matches"][0]["text"]


@pytest.mark.parametrize(
    ("query", "message"), [("", "the query is empty"), ("a\nb", "the query has more than one line")]
)
def test_a_query_is_one_line(tools: Tools, query: str, message: str) -> None:
    """What no line can contain, and what every line contains, is refused."""
    assert (ValueError, message) == refusal(tools["search_text"], query)
