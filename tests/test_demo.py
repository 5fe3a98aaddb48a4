"""The demo model's replies: what a turn with calls looks like, and what it says about the results."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.demo import answer
from tests.prompts import TOOLS, asked, calls_of


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
