"""The rules of the demo model: which prompts call which tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.demo import answer
from compare.demo.rules import wishes
from tests.prompts import asked, calls_of
from toolbox.calculator import calculator


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("计算 (17 * 23) + 9", ["(17 * 23) + 9"]),
        ("1+2*3 等于几？", ["1+2*3"]),
        ("帮我算 1/0", ["1/0"]),
        ("1/4?", ["1/4"]),
        ("What's 24/7", ["24/7"]),
        ("what is 18 * (4 + 2)?", ["18 * (4 + 2)"]),
        ("1+1 and 2*3", ["1+1", "2*3"]),
        ("1+1, then 1+1 again", ["1+1"]),
        ("（１２＋３）×４ ÷ ２ 是多少", ["(12+3)*4 / 2"]),
        ("2^10", ["2**10"]),
        ("7 // 2 and 7 % 2", ["7 // 2", "7 % 2"]),
        ("1,000 * 3", ["1000 * 3"]),
        ("2(3+4)", ["2*(3+4)"]),
        ("what is -5 + 3", ["-5 + 3"]),
        ("算1.5e3+.5，谢谢", ["1.5e3+.5"]),
        ("(see 1+2)", ["1+2"]),
        ("1. 2+2", ["2+2"]),
        ("- 1+1", ["1+1"]),
        ("**1+1** please", ["1+1"]),
        ("1+1 - what is it?", ["1+1"]),
        ("1+1=?", ["1+1"]),
    ],
)
def test_arithmetic_in_prose_calls_the_calculator(prompt: str, expected: list[str]) -> None:
    """Each expression becomes one call, in the signs that the calculator knows."""
    assert [("calculator", {"expression": text}) for text in expected] == calls_of(answer(asked(prompt)))


@pytest.mark.parametrize(
    "prompt",
    [
        "42",
        "-5",
        "pi is 3.14",
        "2024-01-15",
        "from 2024/1/15 to 15/01/2024",
        "12:30-13:45",
        "192.168.0.1/24",
        "GPT-4 + 1",
        "x + 2 + 3",
        "2 + 3x",
        "f(2 + 3)",
        "50% + 10%",
        "7 - 50%",
        "C++ and --help",
        "we are open 24/7",
        "()",
    ],
)
def test_what_only_looks_like_arithmetic_is_not_computed(prompt: str) -> None:
    """Single numbers, dates, times, addresses, algebra, percentages and 24/7 are no expressions."""
    assert calls_of(answer(asked(prompt))) == []


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("read README.md", ["README.md"]),
        ("What does README.md say?", ["README.md"]),
        ("读取 README.md，告诉我仓库首周任务", ["README.md"]),
        ("请帮我读取README.md", ["README.md"]),
        ("比较a.txt和notes/todo.txt", ["a.txt", "notes/todo.txt"]),
        ("请读笔记.txt", ["笔记.txt"]),
        ("请读取笔记/周报.md", ["笔记/周报.md"]),
        ('summarise "my notes.txt"', ["my notes.txt"]),
        ("看看“会议 记录.txt”", ["会议 记录.txt"]),
        ("open data.xyz", ["data.xyz"]),
        ("read ../../etc/passwd", ["../../etc/passwd"]),
        ("cat .env.", [".env"]),
        ('read "Dockerfile"', ["Dockerfile"]),
        ("open Makefile", ["Makefile"]),
        ("read notes.txt and compute the sum in it", ["notes.txt"]),
    ],
)
def test_a_file_name_calls_read_text_file(prompt: str, expected: list[str]) -> None:
    """Names are found bare or quoted, in English and in Chinese without spaces."""
    assert [("read_text_file", {"path": path}) for path in expected] == calls_of(answer(asked(prompt)))


@pytest.mark.parametrize(
    "prompt",
    [
        "e.g. this, i.e. that",
        'write "e.g" in full',
        "see https://example.com/a.txt",
        "www.example.com/index.html",
        "example.org/a.txt is down",
        "mail bob@example.py",
        "version 3.11",
        "read 12",
        "It ends here.Then it goes on",
    ],
)
def test_what_only_looks_like_a_file_name_is_not_read(prompt: str) -> None:
    """Abbreviations, addresses and numbers are no files."""
    assert calls_of(answer(asked(prompt))) == []


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("list", "."),
        ("list the files in this folder", "."),
        ("list the files in notes", "notes"),
        ("List src/raw.", "src/raw"),
        ("List.", "."),
        ("please list all files", "."),
        ("ls ../..", "../.."),
        ("列出 notes 目录", "notes"),
        ("列出“笔记”里的文件", "笔记"),
        ("列出目录下的文件", "."),
        ("notes 目录里有什么", "notes"),
        ("what is in the notes folder?", "notes"),
    ],
)
def test_list_calls_list_directory(prompt: str, expected: str) -> None:
    """The folder is the one that is named, else the root."""
    assert [("list_directory", {"path": expected})] == calls_of(answer(asked(prompt)))


@pytest.mark.parametrize("prompt", ["list three colours", "what is a linked list?", "sort my list", "the list is long"])
def test_a_list_of_something_else_is_no_folder(prompt: str) -> None:
    """Without a word for files or folders, and without a name, nothing is listed."""
    assert calls_of(answer(asked(prompt))) == []


@pytest.mark.parametrize(
    ("prompt", "query", "path"),
    [
        ("search for X", "X", "."),
        ("search for 1+1", "1+1", "."),
        ("search for two words in notes", "two words", "notes"),
        ('search notes for "milk and honey"', "milk and honey", "notes"),
        ('find "README.md"', "README.md", "."),
        ("搜索 TODO", "TODO", "."),
        ("搜索“牛奶，面包”", "牛奶，面包", "."),
        ("在 notes 中搜索 TODO。", "TODO", "notes"),
    ],
)
def test_search_for_calls_search_text(prompt: str, query: str, path: str) -> None:
    """What is looked for is not taken for an expression or a file, and a named folder is searched."""
    assert [("search_text", {"query": query, "path": path})] == calls_of(answer(asked(prompt)))


def test_different_wishes_become_calls_of_one_turn_in_the_order_of_the_prompt() -> None:
    """A prompt that asks for three things gets three calls at once."""
    reply = answer(asked('compute 1+1, read a.txt, list notes and find "x"'))
    expected = ["calculator", "read_text_file", "list_directory", "search_text"]
    assert expected == [name for name, _ in calls_of(reply)]


def complaint(expression: str) -> str:
    """What the calculator says against the form of an expression; nothing when it minds the value."""
    try:
        calculator(expression)
    except (ZeroDivisionError, OverflowError):
        return ""
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


@given(st.text("0123456789+-*/%^().,e x×÷（）１２计\t\n", max_size=40))
def test_every_expression_that_is_found_is_one(prompt: str) -> None:
    """The calculator can read what the rules take for arithmetic, but for numbers that begin with 0."""
    complaints = [complaint(wish.arguments["expression"]) for wish in wishes(prompt)]
    known = re.compile("|leading zeros .*|a fractional power of a negative number .*")
    assert [text for text in complaints if not known.fullmatch(text)] == []


@pytest.mark.parametrize("unit", ["-", "((1+1", "文件", "读a", "“", "a/", "1,000,", "a@", "/a", "`"])
def test_a_long_prompt_is_answered(unit: str) -> None:
    """A hundred thousand characters of one kind; by the square of the length it would hang."""
    assert len(wishes(unit * (100_000 // len(unit)))) <= 1
