"""What a scenario is, how its TOML file is read, and which scenarios the catalogue holds."""

import difflib
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from compare.replies import (
    DEFAULT_USAGE,
    Scripted,
    ScriptedBody,
    ScriptedClose,
    ScriptedMessage,
    check_json,
    compact,
)
from protocol.stop import STOP_REASONS

CATALOGUE_FOLDER = Path(__file__).parent / "scenarios"
MAX_FILE_CHARACTERS = 4 * 1024 * 1024

_T = TypeVar("_T")
# What each TOML type is called in an error, and how one is written.
_KINDS = {
    str: ("a string", '{} = "..."'),
    int: ("an integer", "{} = 8"),
    bool: ("a boolean", "{} = true"),
    float: ("a float", "{} = 1.5"),
    list: ("an array", '{} = ["..."]'),
    dict: ("a table", "[{}]"),
}
_FILE_KEYS = [
    "title",
    "teaches",
    "prompt",
    "system",
    "max_rounds",
    "model",
    "stands_for",
    "workspace",
    "reply",
    "expect",
]
# Each form of a reply: the keys that tell it apart, and the keys that may stand beside them.
_FORMS = (
    (("content", "tool_calls"), ("finish_reason", "usage")),
    (("message",), ("finish_reason", "usage")),
    (("status",), ("headers", "body")),
    (("close",), ()),
)
_REPLY_KEYS = tuple(dict.fromkeys(key for form in _FORMS for keys in form for key in keys))
_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#[0-9]+")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_FRAMING = ("content-length", "transfer-encoding", "connection")


class ScenarioError(ValueError):
    """A scenario that cannot be used, in one line: the file, the line or key, what is wrong, and the mend."""


@dataclass(frozen=True)
class Expectation:
    """How a run is expected to end, and the findings ("class place") that it is expected to give."""

    stop: str
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """One prompt, the model's replies to it in order, and what is expected of each lane.

    `workspace` maps a relative file name to its text. `expect` maps the name of a lane to what is expected of
    it, and "" to what is expected of every lane that is not named.
    """

    name: str
    path: Path
    title: str
    teaches: str
    prompt: str
    replies: tuple[Scripted, ...]
    expect: dict[str, Expectation]
    system: str | None = None
    max_rounds: int = 8
    model: str = "scripted-model"
    stands_for: tuple[str, ...] = ()
    workspace: dict[str, str] = field(default_factory=dict)

    def expected(self, lane_name: str) -> Expectation:
        """What is expected of this lane: its own table where it has one, else the scenario's default."""
        return self.expect.get(lane_name, self.expect[""])


def catalogue() -> list[Path]:
    """The scenario files that come with the project, sorted by name."""
    return sorted(CATALOGUE_FOLDER.glob("*.toml"), key=lambda path: path.stem)


def find(argument: str) -> list[Scenario]:
    """The scenarios that a word on the command line means, sorted by name.

    A name of the catalogue goes first; then a file; then a folder, with each `.toml` file at any depth in it.
    Raises `ScenarioError` for anything else, with the nearest names, and for a folder without a scenario or
    with two of one name.
    """
    named = {path.stem: path for path in catalogue()}
    if argument in named:
        return [load(named[argument])]
    if os.path.isfile(argument):
        return [load(argument)]
    if os.path.isdir(argument):
        return _load_folder(Path(argument))
    near = difflib.get_close_matches(Path(argument).stem, named, cutoff=0.7)
    mend = f"did you mean {_either(near)}?" if near else "'diptych list' shows the names"
    raise _error(argument, f"no scenario of the catalogue, and no file or folder; {mend}")


def load(path: Path | str) -> Scenario:
    """The scenario in one TOML file; its name is the file's, without the ending.

    A `[[reply]]` has one of four forms:
    - `content` and/or `tool_calls`, a list of `id`, `name`, `arguments` (exact strings); an `id` left out is
      left out of the message; content left out beside calls is null, as OpenAI sends it;
    - `message`, the exact JSON text, for what the first form cannot say: null, extra keys, other types;
    - `status`, `headers`, `body` (the exact text), for what goes beyond the message: `finish_reason` null,
      `choices` empty or missing, an error object with status 200, HTML with status 502;
    - `close = true`: the connection is closed without a reply.
    Beside the first two, `finish_reason` is "tool_calls" where there are calls and "stop" where there are
    none, and `usage` a small fixed one, unless they are given.

    Raises `ScenarioError`.
    """
    path = Path(path)
    top = _Table(path, "", _parse(path))
    top.only(_FILE_KEYS)
    rounds = top.get("max_rounds", int)
    if rounds is not None and rounds < 1:
        raise top.wrong(f"max_rounds is {rounds}, but the model needs at least 1 round")
    return Scenario(
        name=path.stem,
        path=path,
        title=_sentence(top, "title"),
        teaches=_sentence(top, "teaches"),
        prompt=top.text("prompt"),
        replies=_replies(top),
        expect=_expectations(top),
        system=top.get("system", str),
        max_rounds=8 if rounds is None else rounds,
        model=top.text("model", "scripted-model"),
        stands_for=_issues(top),
        workspace=_workspace(top),
    )


@dataclass(frozen=True)
class _Table:
    """A TOML table being read: each look-up checks the type, and each refusal says where it is."""

    path: Path
    place: str
    values: dict[str, Any]

    def wrong(self, text: str) -> ScenarioError:
        return _error(f"{self.path}: {self.place}" if self.place else self.path, text)

    def only(self, known: Sequence[str], hint: str = "") -> None:
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
                mend = hint or f"the keys are {', '.join(known)}"
                if self.place and key in _FILE_KEYS:
                    mend = "it is a key of the file, so write it above the first [table]"
                if near:
                    mend = f"did you mean {_either(near)}?"
                raise self.wrong(f"{key!r} is not a key here; {mend}")

    def get(self, key: str, kind: type[_T]) -> _T | None:
        # Exact types, because True is an int in Python and not in TOML.
        value = self.values.get(key)
        if value is None or type(value) is kind:
            return value
        found = _KINDS.get(type(value), ("a date or time", ""))[0]
        raise self.wrong(f"{key!r} is {found}, but must be {_KINDS[kind][0]}: {self._written(key, kind)}")

    def need(self, key: str, kind: type[_T]) -> _T:
        value = self.get(key, kind)
        if value is None:
            above = " above the first [table]" if not self.place and kind is not dict else ""
            raise self.wrong(f"{key!r} is missing; write {self._written(key, kind)}{above}")
        return value

    def _written(self, key: str, kind: type) -> str:
        return f"{key} = {{ ... }}" if self.place and kind is dict else _KINDS[kind][1].format(key)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.need(key, str) if default is None else self.get(key, str)
        if value is None:
            return str(default)
        if not value.strip():
            raise self.wrong(f"{key!r} is empty; write some text")
        return value

    def tables(self, key: str, item: str) -> list["_Table"]:
        """The tables of an array, each with its place: `item` and its number from 1."""
        values = self.values.get(key, [])
        if type(values) is not list or any(type(value) is not dict for value in values):
            written = f"{key} = [{{ ... }}]" if self.place else f"[[{key}]]"
            raise self.wrong(f"{key!r} must be a list of tables: {written}")
        inside = f"{self.place}: " if self.place else ""
        return [
            _Table(self.path, f"{inside}{item} {number}", value)
            for number, value in enumerate(values, start=1)
        ]

    def strings(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list) or []
        for value in values:
            if type(value) is not str or not value.strip():
                raise self.wrong(f"{key!r} holds {value!r}, but must hold strings that are not empty")
        return tuple(values)


def _parse(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _error(path, f"cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise _error(f"{path}:{line}", wrong) from error
    if not text.strip():
        raise _error(path, "the file is empty; it needs title, teaches, prompt, [[reply]], [expect]")
    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Before Python 3.14 the line stands only in the text of the error.
        place = re.search(r"\(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise _error(f"{path}:{line}" if place else path, f"not TOML: {error}") from error
    except RecursionError as error:
        raise _error(path, "nested too deeply to be read") from error


def _load_folder(folder: Path) -> list[Scenario]:
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.toml"), key=lambda path: (path.stem, path)):
        if path.stem in files:
            both = f"{files[path.stem]} and {path}"
            raise _error(folder, f"two scenarios are named {path.stem!r}: {both}; rename one")
        files[path.stem] = path
    if not files:
        raise _error(folder, "the folder holds no scenario; a scenario is a .toml file")
    return [load(path) for path in files.values()]


def _sentence(top: _Table, key: str) -> str:
    value = top.text(key)
    if "\n" in value:
        raise top.wrong(f"{key!r} has more than one line; it is shown in a table, so write one sentence")
    return value


def _issues(top: _Table) -> tuple[str, ...]:
    issues = top.strings("stands_for")
    for issue in issues:
        if not _ISSUE.fullmatch(issue):
            raise top.wrong(f"'stands_for' holds {issue!r}; name a public issue as \"owner/repository#123\"")
    return issues


def _workspace(top: _Table) -> dict[str, str]:
    table = _Table(top.path, "workspace", top.get("workspace", dict) or {})
    for name in table.values:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts:
            raise table.wrong(f'{name!r} leaves the workspace; name a file inside it, such as "docs/a.txt"')
        if {"", "."} & set(parts) or not name.isprintable() or "\\" in name or ":" in name:
            raise table.wrong(f'{name!r} is not a plain file name; write it such as "docs/a.txt"')
        for end in range(1, len(parts)):
            if (folder := "/".join(parts[:end])) in table.values:
                raise table.wrong(f"{folder!r} is a file, and {name!r} needs it to be a folder; rename one")
    return {name: _file_text(table, name) for name in table.values}


def _file_text(workspace: _Table, name: str) -> str:
    value = workspace.values[name]
    if type(value) is str:
        return value
    if type(value) is not dict:
        raise workspace.wrong(f'{name!r} must be the file\'s text, or {{ text = "...", times = 100 }}')
    table = _Table(workspace.path, f"workspace: {name!r}", value)
    table.only(("text", "times"))
    text, times = table.need("text", str), table.need("times", int)
    if times < 1 or len(text) * times > MAX_FILE_CHARACTERS:
        raise table.wrong(
            f"times is {times}; it must be at least 1 and give at most {MAX_FILE_CHARACTERS} characters"
        )
    return text * times


def _replies(top: _Table) -> tuple[Scripted, ...]:
    tables = top.tables("reply", "reply")
    if not tables:
        raise top.wrong('there is no reply; add [[reply]] with content = "..."')
    return tuple(_reply(table) for table in tables)


def _reply(table: _Table) -> Scripted:
    table.only(_REPLY_KEYS)
    forms = [(marks, beside) for marks, beside in _FORMS if any(key in table.values for key in marks)]
    if not forms:
        raise table.wrong("says nothing; give it content or tool_calls, message, status, or close = true")
    marks, beside = forms[0]
    for key in table.values:
        if key not in marks + beside:
            mark = next(mark for mark in marks if mark in table.values)
            raise table.wrong(f"{key!r} does not go with {mark!r}; a reply has one form: keep one of the two")
    if "close" in marks:
        if table.need("close", bool):
            return ScriptedClose()
        raise table.wrong("close is false; leave it out, or write close = true")
    if "status" in marks:
        return _body(table)
    message, default = _exact_message(table) if "message" in marks else _composed_message(table)
    finish_reason = table.get("finish_reason", str)
    return ScriptedMessage(message, default if finish_reason is None else finish_reason, _usage(table))


def _composed_message(table: _Table) -> tuple[str, str]:
    """The JSON text of a message given by its parts, and the finish reason that goes with it."""
    message: dict[str, Any] = {"role": "assistant", "content": table.get("content", str)}
    if "tool_calls" in table.values:
        message["tool_calls"] = [_tool_call(call) for call in table.tables("tool_calls", "tool call")]
    return compact(message), "tool_calls" if message.get("tool_calls") else "stop"


def _tool_call(call: _Table) -> dict[str, Any]:
    call.only(("id", "name", "arguments"), "for any other key or type, write the reply as 'message'")
    if type(call.values.get("arguments")) is dict:
        raise call.wrong("'arguments' is a table, but must be the exact string that the model wrote: '{...}'")
    call_id = call.get("id", str)
    function = {"name": call.need("name", str), "arguments": call.need("arguments", str)}
    return ({} if call_id is None else {"id": call_id}) | {"type": "function", "function": function}


def _exact_message(table: _Table) -> tuple[str, str]:
    text = table.need("message", str)
    try:
        value = check_json(text)
    except ValueError as error:
        raise table.wrong(f"'message' is not JSON: {error}; for other text use status and body") from error
    except RecursionError as error:
        raise table.wrong("'message' is nested too deeply to be read") from error
    if not isinstance(value, dict):
        raise table.wrong("'message' is not a JSON object; for any other value use status and body")
    return text, "tool_calls" if value.get("tool_calls") else "stop"


def _usage(table: _Table) -> dict[str, Any]:
    usage = table.get("usage", dict)
    for value in (usage or {}).values():
        details = value.values() if type(value) is dict else [value]
        if any(type(number) is not int for number in details):
            raise table.wrong(
                "'usage' must hold integers: usage = { prompt_tokens = 10, completion_tokens = 5 }"
            )
    return DEFAULT_USAGE if usage is None else usage


def _body(table: _Table) -> ScriptedBody:
    status, body = table.need("status", int), table.get("body", str) or ""
    if not 200 <= status <= 599:
        raise table.wrong(f"status is {status}; a final HTTP status is a number from 200 to 599")
    if body and status in (204, 304):
        raise table.wrong(f"status {status} has no body; leave 'body' out")
    headers = table.get("headers", dict) or {}
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise table.wrong(f"headers: {name!r} is not the name of a header field")
        if name.lower() in _FRAMING:
            raise table.wrong(f"headers: {name!r} is the server's to send; leave it out")
        if type(value) is not str or not _HEADER_VALUE.fullmatch(value):
            raise table.wrong(f'headers: {name!r} must be a string of printable ASCII: {name} = "..."')
    return ScriptedBody(status, tuple(headers.items()), body)


def _expectations(top: _Table) -> dict[str, Expectation]:
    table = _Table(top.path, "expect", top.need("expect", dict))
    lanes = {name: value for name, value in table.values.items() if name not in ("stop", "findings")}
    for name, value in lanes.items():
        if type(value) is not dict:
            table.only(("stop", "findings"), f"the table of a lane is written [expect.{name}]")
    expect = {"": _expectation(table)}
    for name, value in lanes.items():
        lane = _Table(top.path, f"expect.{name}", value)
        lane.only(
            ("stop", "findings"),
            f'a lane with a dot in its name is quoted: [expect."{name}.{next(iter(value), "")}"]',
        )
        expect[name] = _expectation(lane)
    return expect


def _expectation(table: _Table) -> Expectation:
    stop = table.need("stop", str)
    if stop not in STOP_REASONS:
        near = difflib.get_close_matches(stop, STOP_REASONS, n=1)
        mend = f"did you mean {_either(near)}?" if near else f"the words are {', '.join(STOP_REASONS)}"
        raise table.wrong(f"{stop!r} is not a stop reason; {mend}")
    return Expectation(stop, table.strings("findings"))


def _either(names: list[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _error(place: object, text: str) -> ScenarioError:
    """One line, whatever the file is named and holds: what cannot be printed is shown as its escape."""
    line = f"{place}: {text}"
    return ScenarioError("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line))
