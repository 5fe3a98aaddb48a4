"""The demo model: which prompts call which tools, and what it says about the results."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.demo import answer
from compare.demo.rules import wishes
from toolbox.calculator import calculator

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {}}}
    for name in ("calculator", "read_text_file", "list_directory", "search_text")
]


def asked(prompt: Any, *turn: dict[str, Any], tools: Any = TOOLS) -> dict[str, Any]:
    """A request with one prompt, and the messages since."""
    return {"model": "demo", "messages": [{"role": "user", "content": prompt}, *turn], "tools": tools}


def calls_of(reply: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """The name and the arguments of each call in a reply."""
    functions = [call["function"] for call in reply["message"].get("tool_calls", [])]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


def told(prompt: str, *observations: str) -> str:
    """The answer of the demo model after its calls for the prompt have been answered in order."""
    first = answer(asked(prompt))["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": observation}
        for call, observation in zip(first["tool_calls"], observations, strict=True)
    ]
    reply = answer(asked(prompt, first, *results))
    assert reply["finish_reason"] == "stop"
    return str(reply["message"]["content"])


def good(result: Any) -> str:
    """The observation of a tool that succeeded, as the hand-written lane sends it."""
    return json.dumps({"ok": True, "result": result}, ensure_ascii=False)


def bad(error: str) -> str:
    """The observation of a tool that failed, as the hand-written lane sends it."""
    return json.dumps({"ok": False, "error_type": "ValueError", "error": error})


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


def test_a_turn_with_calls_looks_like_that_of_a_real_model() -> None:
    """No content, compact arguments with readable Chinese, numbered ids, and its finish reason."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "search_text", "arguments": '{"query":"牛奶","path":"."}'},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert {"message": message, "finish_reason": "tool_calls"} == answer(asked("搜索 牛奶"))


def test_ids_count_on_over_the_conversation_and_never_repeat() -> None:
    """A second prompt continues the numbers, and steps over an id that somebody else has used."""
    first = answer(asked("1+1 and 2+2"))["message"]
    foreign = {"role": "assistant", "tool_calls": [{"id": "call_5"}, "odd", {}]}
    later = asked("1+1", first, foreign, {"role": "user", "content": "3+3 and 4+4"})
    ids = [call["id"] for call in first["tool_calls"] + answer(later)["message"]["tool_calls"]]
    assert ids == ["call_1", "call_2", "call_3", "call_4"]


def test_the_prompt_may_be_a_list_of_parts() -> None:
    """Text parts are read, and parts of other kinds are passed over."""
    parts = [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "1+1"}]
    assert calls_of(answer(asked(parts))) == [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    ("prompt", "observations", "expected"),
    [
        ("(17 * 23) + 9", ["400"], "(17 * 23) + 9 = 400"),
        ("1/4", ["0.250"], "1/4 = 0.250"),
        ("1+1 和 2+2", ["2", "4"], "1+1 = 2\n2+2 = 4"),
    ],
)
def test_sums_are_told_alike_from_both_lanes(prompt: str, observations: list[str], expected: str) -> None:
    """The envelope of one lane and the bare text of the other give the same answer, digits as they came."""
    assert expected == told(prompt, *observations)
    assert expected == told(prompt, *(f'{{"ok": true, "result": {text}}}' for text in observations))


@pytest.mark.parametrize(
    "observation",
    [
        bad("division by zero"),
        "Error: division by zero",
        "Error: ZeroDivisionError('division by zero')\n Please fix your mistakes.",
        "Error invoking tool 'calculator' with kwargs {} with error:\n division by zero\n"
        " Please fix the error and try again.",
    ],
)
def test_errors_are_explained_alike_from_both_lanes(observation: str) -> None:
    """Whatever the wrapping, the answer says what failed and why, in the language of the prompt."""
    assert told("1/0", observation) == "1/0 gave an error: division by zero"
    assert told("帮我算 1/0", observation) == "1/0 出错：division by zero"


@pytest.mark.parametrize("wrap", [good, str])
def test_a_file_is_quoted_and_measured(wrap: Any) -> None:
    """The first lines and the number of all lines; a line feed at the end begins no line."""
    text = "\n".join(f"line {number}" for number in range(1, 9)) + "\n"
    quote = "> line 1\n> line 2\n> line 3\n> line 4\n> line 5"
    expected = f"a.txt begins as follows (number of lines: 8):\n{quote}"
    assert expected == told("read a.txt", wrap(text))
    assert f"a.txt 共 8 行，开头是：\n{quote}" == told("读取 a.txt", wrap(text))
    assert told("read a.txt", wrap("")) == "a.txt is empty."


def test_a_file_that_is_json_itself_is_quoted_as_text() -> None:
    """Content in the bare lane is not mistaken for an envelope because it is JSON."""
    text = '{"ok": true, "result": 1, "more": 2}'
    expected = f"a.json begins as follows (number of lines: 1):\n> {text}"
    assert expected == told("read a.json", text)


@pytest.mark.parametrize("wrap", [good, json.dumps])
def test_a_listing_is_summed_up(wrap: Any) -> None:
    """How many, the first ten, and what the tool has cut."""
    entries = [{"name": "sub", "kind": "directory"}, {"name": "a.txt", "kind": "file", "bytes": 3}]
    result = {"path": ".", "entries": entries, "cut": None}
    assert told("list notes", wrap(result)) == "notes holds 2: sub/, a.txt."
    assert told("列出 notes", wrap(result)) == "notes 中有 2 项：sub/, a.txt。"
    assert told("list notes", wrap({"path": ".", "entries": [], "cut": None})) == "notes is empty."
    many = {"entries": [f"f{n}" for n in range(12)], "cut": "the first 12"}
    named = "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, … and 2 more"
    expected = f"notes holds 12: {named}. (Cut by the tool: the first 12.)"
    assert expected == told("list notes", wrap(many))


@pytest.mark.parametrize("wrap", [good, json.dumps])
def test_a_search_is_summed_up(wrap: Any) -> None:
    """Each match with its place, and what was not searched."""
    result: dict[str, Any] = {
        "matches": [{"path": "a.txt", "line": 3, "text": "milk!"}],
        "cut": None,
        "skipped": {},
    }
    assert told("search for milk", wrap(result)) == "“milk” was found (number of lines: 1):\n> a.txt:3: milk!"
    partly = {**result, "skipped": {"secret": 1}}
    expected = "找到“milk”共 1 处：\n> a.txt:3: milk!\n（未搜索：secret 1。）"
    assert expected == told("搜索 milk", wrap(partly))
    nothing: dict[str, Any] = {"matches": [], "cut": None, "skipped": {"secret": 2}}
    assert told("search for milk", wrap(nothing)) == "“milk” was not found. (Not searched: secret 2.)"
    assert told("搜索 milk", wrap(nothing)) == "没有找到“milk”。（未搜索：secret 2。）"


def test_bare_lists_and_lines_are_summed_up_too() -> None:
    """A host of another make may answer with a JSON list or with plain lines."""
    assert told("list", '["a", "b"]') == ". holds 2: a, b."
    assert told("list", "a\nb") == ". holds 2: a, b."
    assert told("list", "[]") == ". is empty."


def test_a_tool_that_is_not_offered_is_not_called_but_named() -> None:
    """The answer says which tool is lacking and for what; the others are called all the same."""
    prompt = "1+1 and read a.txt"
    lacking = "For “1+1” I need the tool calculator, and this request does not offer it."
    none = answer(asked("1+1", tools=None))
    assert {"message": {"role": "assistant", "content": lacking}, "finish_reason": "stop"} == none
    some = answer(asked(prompt, tools=TOOLS[1:]))
    assert calls_of(some) == [("read_text_file", {"path": "a.txt"})]
    result = {"role": "tool", "tool_call_id": "call_1", "content": ""}
    final = answer(asked(prompt, some["message"], result, tools=TOOLS[1:]))
    assert f"a.txt is empty.\n{lacking}" == final["message"]["content"]


def test_tool_choice_none_forbids_calls() -> None:
    """As with a real model, no tool is called then."""
    assert calls_of(answer({**asked("1+1"), "tool_choice": "none"})) == []


def test_calls_without_a_result_are_named_instead_of_made_again() -> None:
    """A host that loses a result hears of it, and does not go round in circles."""
    first = answer(asked("1+1 and 2+2"))["message"]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "2"}
    expected = "1+1 = 2\nThe call call_2 (calculator: 2+2) came back without a result."
    assert expected == answer(asked("1+1 and 2+2", first, result))["message"]["content"]


def test_results_are_told_by_id_not_by_order() -> None:
    """Swapped ids give swapped answers: the demo model believes what it is sent."""
    first = answer(asked("1+1 and 2+2"))["message"]
    results = [{"role": "tool", "tool_call_id": f"call_{n}", "content": text} for n, text in [(2, "2"), (1, "4")]]
    assert answer(asked("1+1 and 2+2", first, *results))["message"]["content"] == "2+2 = 2\n1+1 = 4"


@pytest.mark.parametrize(
    ("prompt", "program", "how"),
    [
        ("Who wrote Hamlet?", "a small program with rules, not a language model", "python -m raw PROMPT"),
        ("谁写了《哈姆雷特》？", "一个按规则工作的小程序，不是语言模型", "python -m raw PROMPT"),
    ],
)
def test_a_prompt_that_fits_no_rule_gets_an_honest_answer(prompt: str, program: str, how: str) -> None:
    """It says that it is a program, what it can do, and how to ask a real model, in the prompt's language."""
    text = answer(asked(prompt))["message"]["content"]
    assert program in text
    assert how in text
    assert "OPENAI_API_KEY" in text


KEYS = re.findall(
    r"\w+",
    "role content tool_calls id tool_call_id function name arguments text type messages tools"
    " ok result error entries matches cut skipped",
)
VALUES = ["user", "tool", "1+1", "list", "calculator", "list_directory", "search_text", '{"ok":false}']
ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None)) | st.sampled_from(VALUES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(st.one_of(ODD, st.fixed_dictionaries({"messages": st.lists(ODD), "tools": ODD})), ODD, ODD)
def test_odd_requests_get_an_answer_that_can_be_sent(request: Any, content: Any, calls: Any) -> None:
    """Nothing raises, the same request gives the same reply, and the reply can be written as UTF-8."""
    turn = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": content},
    ]
    for odd in (request, asked(content), asked("list", *turn)):
        reply = answer(odd)
        assert json.dumps(reply, ensure_ascii=False).encode()
        assert reply == answer(odd)


@pytest.mark.parametrize("opening", ["[", '{"ok": true, "result": [', '{"ok": false, "error": ['])
@pytest.mark.parametrize("depth", [400, 985, 990, 100_000])
def test_deeply_nested_observations_do_not_raise(opening: str, depth: int) -> None:
    """A result that Python can read as JSON and not write again is still answered."""
    closing = "]}" if opening.startswith("{") else "]"
    observation = opening + "[" * depth + "]" * depth + closing
    assert told("search for milk", observation)


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
