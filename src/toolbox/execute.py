"""How a tool call becomes an observation: every failure is told to the model, none stops the loop."""

import json
import math
from collections.abc import Mapping
from typing import Any

from protocol import NotJsonError, reader
from toolbox.schema_check import explain, json_type
from toolbox.tool import Tool


def execute(tools: Mapping[str, Tool], name: str, arguments_json: str) -> str:
    """Call a tool with arguments as a model wrote them; returns the observation as JSON text.

    It is `{"ok": true, "result": ...}` or `{"ok": false, "error_type": ..., "error": ...}`. The error type is
    `unknown_tool`, `invalid_json`, `invalid_arguments`, `invalid_result` (the tool returned what JSON cannot
    hold), or the class name of the exception that the tool raised.

    Arguments are read as JSON. Of a key that stands twice the last counts, as in Python's `json`; NaN and
    numbers beyond a float are refused; the empty string counts as `{}`, because some servers send it for a
    call without arguments. They are checked against the tool's JSON Schema and never converted.

    Models send anything as name and arguments, so both may be of any type. What comes out as an exception is
    only what is none of the model's business: KeyboardInterrupt and its like, and ValueError for a tool whose
    own schema is wrong.
    """
    ready = prepare(tools, name, arguments_json)
    return ready if ready.__class__ is str else carry_out(*ready)


def prepare(tools: Mapping[str, Tool], name: str, arguments_json: str) -> str | tuple[Tool, dict[str, Any]]:
    """The first half of `execute`: the tool and its checked arguments, or the observation that says why not."""
    try:
        tool = tools.get(name)
    except TypeError:  # a list or an object, which no dict has as a key
        tool = None
    if tool is None:
        return failure("unknown_tool", f"no tool is named {_shown(name)}; the tools are {_listed(tools)}")
    check = tool.check
    try:
        arguments = _read(arguments_json) if arguments_json != "" else {}
    except (TypeError, ValueError, RecursionError) as error:
        return failure("invalid_json", _why_unreadable(error, arguments_json))
    if arguments.__class__ is not dict:
        return failure("invalid_arguments", f"the arguments must be an object, not {json_type(arguments)}")
    try:
        check(arguments)
    except ValueError as error:
        return failure("invalid_arguments", explain(error))
    return tool, arguments


def carry_out(tool: Tool, arguments: dict[str, Any]) -> str:
    """The second half of `execute`: the observation of a call whose arguments are checked."""
    try:
        result = tool.function(**arguments)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a tool is for the model to know
        return raised(error)
    try:
        text = _encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        return failure("invalid_result", f"the result of {tool.name} cannot be written as JSON: {error}")
    observation = '{"ok": true, "result": ' + text + "}"
    return observation if observation.isascii() else _sendable(observation)


def raised(error: Exception) -> str:
    """The observation for a tool that raised."""
    return failure(type(error).__name__, _message(error))


def failure(error_type: str, error: str) -> str:
    """The observation for a call that did not succeed."""
    return _sendable(_encode({"ok": False, "error_type": error_type, "error": error}))


# Made once: json.dumps builds a new encoder for each call that asks for more than its defaults.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _sendable(text: str) -> str:
    """JSON text that UTF-8 can carry: halves of surrogate pairs, and only they, become JSON's own escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise NotJsonError(f"the number {number[:40]} is beyond the range of a float")
    return value


_read = reader(parse_float=_finite)


def _why_unreadable(error: Exception, arguments: object) -> str:
    if isinstance(error, json.JSONDecodeError):
        wrong = error.msg.removesuffix(" starting at")
        return f"the arguments are not JSON: {wrong} at position {error.pos} of {len(error.doc)}"
    if isinstance(error, RecursionError):
        return "the arguments are nested too deeply"
    if isinstance(error, TypeError):
        return f"the arguments must be a string that holds JSON, not {json_type(arguments)}"
    if isinstance(error, NotJsonError):
        return f"the arguments are not JSON: {error}"
    return "the arguments hold an integer with too many digits"  # sys.get_int_max_str_digits


def _message(error: Exception) -> str:
    try:
        return str(error) or "no message"
    except Exception:  # noqa: BLE001 - a class of the tool's author, with a __str__ that fails
        return "its message cannot be read"


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 100 else text[:100] + "…"


def _listed(tools: Mapping[str, Tool]) -> str:
    return ", ".join(sorted(tools)) or "none"
