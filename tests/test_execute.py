"""How a tool call becomes an observation, whatever the model, the arguments or the tool do."""

import cProfile
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolbox
from toolbox import CALCULATOR, Tool, execute, standard_tools


def tool(function: Callable[..., Any], **schema: Any) -> Tool:
    """A tool named `t` with parameters `x` (string, required), `n` (integer) and `tags` (strings)."""
    parameters = {
        "type": "object",
        "properties": {
            "x": {"type": "string"},
            "n": {"type": "integer", "minimum": 1},
            "half": {"type": ["number", "null"]},
            "mode": {"enum": ["fast", "slow"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "point": {
                "type": "object",
                "properties": {"y": {"type": "number"}},
                "required": ["y"],
                "additionalProperties": False,
            },
        },
        "required": ["x"],
        "additionalProperties": False,
    }
    return Tool("t", "A tool.", {**parameters, **schema}, function)


def observed(function: Callable[..., Any], arguments: Any = '{"x": "a"}', name: Any = "t") -> Any:
    """The observation of one call, read as JSON."""
    text = execute({"t": tool(function), "other": CALCULATOR}, name, arguments)
    text.encode()
    return json.loads(text)


def arguments_of(**arguments: Any) -> dict[str, Any]:
    """What the tool was called with."""
    return arguments


def failing(error: BaseException) -> Callable[..., Any]:
    """A tool that raises."""

    def fail(x: str) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("计算 é", '{"ok": true, "result": "计算 é"}'),
        ('a "b"\n', '{"ok": true, "result": "a \\"b\\"\\n"}'),
        (400, '{"ok": true, "result": 400}'),
        (1 / 3, '{"ok": true, "result": 0.3333333333333333}'),
        (None, '{"ok": true, "result": null}'),
        (True, '{"ok": true, "result": true}'),
        ({"a": [1, {}]}, '{"ok": true, "result": {"a": [1, {}]}}'),
    ],
)
def test_a_result_is_written_as_json_text(result: Any, expected: str) -> None:
    """What a tool returns stands in the observation, non-ASCII readable."""
    assert expected == execute({"t": tool(lambda x: result)}, "t", '{"x": ""}')


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": "a"},
        {"x": "计算", "n": 3, "half": 0.5, "mode": "fast", "tags": ["a"], "point": {"y": 1}},
        {"x": "a", "half": None, "n": 1.0},
    ],
)
@pytest.mark.parametrize("around", ["", " ", "\n\t"])
def test_good_arguments_reach_the_tool_unchanged(arguments: dict[str, Any], around: str) -> None:
    """Arguments that fit the schema are passed on as they are, white space around them or not."""
    text = around + json.dumps(arguments) + around
    assert {"ok": True, "result": arguments} == observed(arguments_of, text)


def test_the_empty_string_counts_as_no_arguments() -> None:
    """Some servers send the empty string for a call without arguments."""
    assert json.loads(execute({"t": tool(arguments_of, required=[])}, "t", "")) == {"ok": True, "result": {}}
    assert observed(arguments_of, "")["error"] == "missing field 'x'"


def test_defaults_of_the_schema_are_not_filled_in() -> None:
    """Only what the model wrote is passed on; a default is the function's business."""
    optional = {"properties": {"x": {"type": "string", "default": "d"}}, "required": []}
    assert execute({"t": tool(arguments_of, **optional)}, "t", "{}") == '{"ok": true, "result": {}}'


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    """As everywhere in Python, and as documented."""
    assert observed(arguments_of, '{"x": "a", "x": "b"}') == {"ok": True, "result": {"x": "b"}}


@pytest.mark.parametrize("name", ["nope", "", "T", None, 7, 1.5, True, ["t"], {"t": 1}, b"t", "\ud800", "n" * 999])
def test_an_unknown_tool_is_named_with_the_known_ones(name: Any) -> None:
    """Any name that is no tool's, of any type, is answered with the list of tools."""
    observation = observed(arguments_of, name=name)
    quoted = repr(name) if len(repr(name)) <= 100 else repr(name)[:100] + "…"
    assert observation == {
        "ok": False,
        "error_type": "unknown_tool",
        "error": f"no tool is named {quoted}; the tools are other, t",
    }


def test_without_tools_none_is_known() -> None:
    """An empty set of tools is said as such."""
    assert json.loads(execute({}, "t", "{}"))["error"] == "no tool is named 't'; the tools are none"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ('{"x": "a"', "the arguments are not JSON: Expecting ',' delimiter at position 9 of 9"),
        ('{"x": "a"} {}', "the arguments are not JSON: Extra data at position 11 of 13"),
        ("  x", "the arguments are not JSON: Expecting value at position 2 of 3"),
        (" ", "the arguments are not JSON: Expecting value at position 1 of 1"),
        (
            "{x",
            "the arguments are not JSON: Expecting property name enclosed in double quotes at position 1 of 2",
        ),
        ('{"n": 1e400}', "the arguments are not JSON: the number 1e400 is beyond the range of a float"),
        ('{"n": -1.5e999}', "the arguments are not JSON: the number -1.5e999 is beyond the range of a float"),
        ('{"n": NaN}', "the arguments are not JSON: NaN is no number of JSON"),
        ('{"n": -Infinity}', "the arguments are not JSON: -Infinity is no number of JSON"),
        pytest.param(
            '{"n": ' + "9" * 5_000 + "}",
            "the arguments hold an integer with too many digits",
            id="long integer",
        ),
        pytest.param("[" * 100_000, "the arguments are nested too deeply", id="nested arrays"),
        pytest.param('{"x":' * 100_000, "the arguments are nested too deeply", id="nested objects"),
        (None, "the arguments must be a string that holds JSON, not null"),
        ({"x": "a"}, "the arguments must be a string that holds JSON, not object"),
        ([], "the arguments must be a string that holds JSON, not array"),
        (7, "the arguments must be a string that holds JSON, not integer"),
        (False, "the arguments must be a string that holds JSON, not boolean"),
        (b"{}", "the arguments must be a string that holds JSON, not bytes"),
    ],
)
def test_what_is_no_json_is_answered(arguments: Any, error: str) -> None:
    """Text that is not JSON is an observation that says what is wrong at which position."""
    expected = {"ok": False, "error_type": "invalid_json", "error": error}
    assert expected == observed(arguments_of, arguments)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("[]", "the arguments must be an object, not array"),
        ('"x"', "the arguments must be an object, not string"),
        ("7", "the arguments must be an object, not integer"),
        ("7.5", "the arguments must be an object, not number"),
        ("null", "the arguments must be an object, not null"),
        ("true", "the arguments must be an object, not boolean"),
        ("{}", "missing field 'x'"),
        ('{"x": "a", "z": 1}', "unknown field 'z'; the fields are x, n, half, mode, tags, point"),
        (
            '{"x": "a", "z": 1, "é": 2}',
            "unknown fields 'z', 'é'; the fields are x, n, half, mode, tags, point",
        ),
        ('{"x": 3}', "'x' must be of type string, not integer"),
        ('{"x": null}', "'x' must be of type string, not null"),
        ('{"x": "a", "n": "3"}', "'n' must be of type integer, not string"),
        ('{"x": "a", "n": true}', "'n' must be of type integer, not boolean"),
        ('{"x": "a", "half": "1"}', "'half' must be of type number or null, not string"),
        ('{"x": "a", "n": 0}', "'n' does not fit minimum: 1"),
        ('{"x": "a", "mode": "é"}', '\'mode\' does not fit enum: ["fast", "slow"]'),
        ('{"x": "a", "tags": ["a", 3]}', "'tags[1]' must be of type string, not integer"),
        ('{"x": "a", "point": {}}', "missing field 'y' in 'point'"),
        ('{"x": "a", "point": {"y": 1, "z": 2}}', "unknown field 'z' in 'point'; the fields are y"),
        ('{"x": "a", "point": {"y": []}}', "'point.y' must be of type number, not array"),
    ],
)
def test_arguments_that_do_not_fit_the_schema_are_answered(arguments: str, error: str) -> None:
    """The observation names the field and what is wrong with it; nothing is converted."""
    expected = {"ok": False, "error_type": "invalid_arguments", "error": error}
    assert expected == observed(arguments_of, arguments)


def test_hostile_field_names_are_only_quoted() -> None:
    """Braces, quotes, surrogates and length in a field's name do no harm, and long lists are cut."""
    text = json.dumps({"x": "a", "{0}%s\ud800": 1, "k" * 500: 2})
    expected = f"unknown fields '{{0}}%s\\ud800', '{'k' * 100}…'; the fields are x, n, half, mode, tags, point"
    assert expected == observed(arguments_of, text)["error"]
    many = json.dumps({"x": "a", **{f"k{number}": 1 for number in range(1_000)}})
    assert "'k9' and more; the fields are" in observed(arguments_of, many)["error"]


def test_a_schema_with_odd_names_is_checked_too() -> None:
    """Property names that are no identifiers are checked and passed on like others."""
    properties = {"a b": {"type": "string"}, "{c}": {"type": "string"}, "self": {"type": "string"}}
    odd = tool(arguments_of, properties=properties, required=["a b"])
    assert json.loads(execute({"t": odd}, "t", '{"a b": "1", "{c}": "2", "self": "3"}'))["ok"] is True
    error = json.loads(execute({"t": odd}, "t", '{"a b": "1", "{c}": 2}'))["error"]
    assert error == "'{c}' must be of type string, not integer"


@pytest.mark.parametrize(
    ("error", "error_type", "message"),
    [
        (KeyError("x"), "KeyError", "'x'"),
        (TypeError("unhashable"), "TypeError", "unhashable"),
        (ValueError("bad"), "ValueError", "bad"),
        (
            json.JSONDecodeError("Expecting value", "", 0),
            "JSONDecodeError",
            "Expecting value: line 1 column 1 (char 0)",
        ),
        (RecursionError("deep"), "RecursionError", "deep"),
        (FileNotFoundError("'x' does not exist"), "FileNotFoundError", "'x' does not exist"),
        (RuntimeError(), "RuntimeError", "no message"),
        (RuntimeError("half \ud800"), "RuntimeError", "half \ud800"),
        (StopIteration("end"), "StopIteration", "end"),
    ],
)
def test_what_a_tool_raises_is_answered_as_its_own(error: Exception, error_type: str, message: str) -> None:
    """The class and text of the exception are the observation, never mistaken for a fault of the call."""
    expected = {"ok": False, "error_type": error_type, "error": message}
    assert expected == observed(failing(error))


def test_an_exception_without_readable_text_is_answered() -> None:
    """An exception whose own text fails is still an observation."""

    class BrokenError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    observation = observed(failing(BrokenError()))
    assert observation == {"ok": False, "error_type": "BrokenError", "error": "its message cannot be read"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_comes_out(error: type[BaseException]) -> None:
    """What is meant for the host, not for the model, is not caught."""
    with pytest.raises(error):
        observed(failing(error()))


def circle() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "result",
    [float("nan"), float("inf"), [1, float("-inf")], object(), {1, 2}, b"x", {(1,): 2}, [10**5000], circle()],
)
def test_a_result_that_json_cannot_hold_is_answered(result: Any) -> None:
    """NaN, sets, bytes, circles and integers without end are observations as well."""
    observation = observed(lambda x: result)
    assert (observation["ok"], observation["error_type"]) == (False, "invalid_result")
    assert observation["error"].startswith("the result of t cannot be written as JSON: ")


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    """The observation can be sent as UTF-8, and says the same when read."""
    text = execute({"t": tool(lambda x: x)}, "t", '{"x": "é \\ud800 \\\\ \\udc80"}')
    assert text == '{"ok": true, "result": "é \\ud800 \\\\ \\udc80"}'
    assert text.encode()
    assert json.loads(text)["result"] == "é \ud800 \\ \udc80"


def test_a_wrong_schema_is_the_hosts_mistake() -> None:
    """A tool whose schema is none raises ValueError, as no model can mend it."""
    with pytest.raises(ValueError, match="type"):
        execute({"t": tool(arguments_of, type="nonsense")}, "t", '{"x": "a"}')


def test_the_standard_tools_work_through_execute(tmp_path: Path) -> None:
    """The four tools answer as tools do, with their own errors."""
    (tmp_path / "README.md").write_text("首周任务", encoding="utf-8")
    tools = {each.name: each for each in standard_tools(tmp_path)}
    assert execute(tools, "calculator", '{"expression": "(17 * 23) + 9"}') == '{"ok": true, "result": 400}'
    assert execute(tools, "read_text_file", '{"path": "README.md"}') == '{"ok": true, "result": "首周任务"}'
    assert json.loads(execute(tools, "list_directory", ""))["result"]["entries"][0]["name"] == "README.md"
    assert json.loads(execute(tools, "search_text", '{"query": "周"}'))["result"]["matches"][0]["line"] == 1
    assert json.loads(execute(tools, "calculator", '{"expression": "1/0"}')) == {
        "ok": False,
        "error_type": "ZeroDivisionError",
        "error": "division by zero, at column 2",
    }


def test_a_call_is_cheap() -> None:
    """A valid call costs at most 17 function calls beside the tool itself, counted exactly."""
    tools = {"t": Tool("t", "", tool(len).parameters | {"properties": {"x": {"type": "string"}}}, lambda x: x)}
    execute(tools, "t", '{"x": "a"}')
    profile = cProfile.Profile()
    profile.enable()
    execute(tools, "t", '{"x": "a"}')
    profile.disable()
    beside = 2  # the tool, and switching the profiler off
    assert sum(entry.callcount for entry in profile.getstats()) - beside <= 17


def test_the_table_of_contents_is_what_there_is() -> None:
    """`__all__` is sorted as ruff sorts it, and each name is there."""
    assert toolbox.__all__ == [
        "CALCULATOR",
        "Tool",
        "calculator",
        "execute",
        "file_tools",
        "standard_tools",
    ]
    assert all(hasattr(toolbox, name) for name in toolbox.__all__)


def test_importing_is_light() -> None:
    """The import brings in neither the schema compiler nor ctypes nor any framework."""
    code = "import sys, toolbox; print([name for name in sys.modules if name.split('.')[0] in sys.argv[1:]])"
    heavy = ["fastjsonschema", "ctypes", "langchain_core", "httpx", "urllib", "pathlib"]
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}", *heavy],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(
    name=st.sampled_from(["calculator", "read_text_file", "list_directory", "search_text"]) | json_values,
    arguments=json_values
    | st.text(max_size=20)
    | json_values.map(json.dumps)
    | st.dictionaries(st.sampled_from(["expression", "path", "query"]), json_values).map(json.dumps),
)
def test_whatever_a_model_sends_is_answered(name: Any, arguments: Any) -> None:
    """Any name and arguments give one observation of the two forms, which can be sent as UTF-8."""
    with tempfile.TemporaryDirectory() as root:
        text = execute({tool.name: tool for tool in standard_tools(root)}, name, arguments)
    observation = json.loads(text.encode().decode())
    expected = {"ok", "result"} if observation["ok"] else {"ok", "error_type", "error"}
    assert expected == set(observation)
