"""What a scenario is, how its TOML file is read, and which scenarios the catalogue holds."""

import difflib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from compare.replies import Scripted
from compare.scenario_replies import read_replies
from compare.toml_table import ScenarioError, Table, either, read_toml, scenario_error
from protocol.stop import STOP_REASONS

__all__ = ["Expectation", "Scenario", "ScenarioError", "catalogue", "find", "load"]

CATALOGUE_FOLDER = Path(__file__).parent / "scenarios"
MAX_FILE_CHARACTERS = 4 * 1024 * 1024

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
_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#[0-9]+")


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
    mend = f"did you mean {either(near)}?" if near else "'diptych list' shows the names"
    raise scenario_error(argument, f"no scenario of the catalogue, and no file or folder; {mend}")


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
    top = Table(path, "", read_toml(path), _FILE_KEYS)
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
        replies=read_replies(top),
        expect=_expectations(top),
        system=top.get("system", str),
        max_rounds=8 if rounds is None else rounds,
        model=top.text("model", "scripted-model"),
        stands_for=_issues(top),
        workspace=_workspace(top),
    )


def _load_folder(folder: Path) -> list[Scenario]:
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.toml"), key=lambda path: (path.stem, path)):
        if path.stem in files:
            both = f"{files[path.stem]} and {path}"
            raise scenario_error(folder, f"two scenarios are named {path.stem!r}: {both}; rename one")
        files[path.stem] = path
    if not files:
        raise scenario_error(folder, "the folder holds no scenario; a scenario is a .toml file")
    return [load(path) for path in files.values()]


def _sentence(top: Table, key: str) -> str:
    value = top.text(key)
    if "\n" in value:
        raise top.wrong(f"{key!r} has more than one line; it is shown in a table, so write one sentence")
    return value


def _issues(top: Table) -> tuple[str, ...]:
    issues = top.strings("stands_for")
    for issue in issues:
        if not _ISSUE.fullmatch(issue):
            raise top.wrong(f"'stands_for' holds {issue!r}; name a public issue as \"owner/repository#123\"")
    return issues


def _workspace(top: Table) -> dict[str, str]:
    table = top.inner("workspace", top.get("workspace", dict) or {})
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


def _file_text(workspace: Table, name: str) -> str:
    value = workspace.values[name]
    if type(value) is str:
        return value
    if type(value) is not dict:
        raise workspace.wrong(f'{name!r} must be the file\'s text, or {{ text = "...", times = 100 }}')
    table = workspace.inner(f"workspace: {name!r}", value)
    table.only(("text", "times"))
    text, times = table.need("text", str), table.need("times", int)
    if times < 1 or len(text) * times > MAX_FILE_CHARACTERS:
        raise table.wrong(f"times is {times}; it must be at least 1 and give at most {MAX_FILE_CHARACTERS} characters")
    return text * times


def _expectations(top: Table) -> dict[str, Expectation]:
    table = top.inner("expect", top.need("expect", dict))
    lanes = {name: value for name, value in table.values.items() if name not in ("stop", "findings")}
    for name, value in lanes.items():
        if type(value) is not dict:
            table.only(("stop", "findings"), f"the table of a lane is written [expect.{name}]")
    expect = {"": _expectation(table)}
    for name, value in lanes.items():
        lane = top.inner(f"expect.{name}", value)
        lane.only(
            ("stop", "findings"),
            f'a lane with a dot in its name is quoted: [expect."{name}.{next(iter(value), "")}"]',
        )
        expect[name] = _expectation(lane)
    return expect


def _expectation(table: Table) -> Expectation:
    stop = table.need("stop", str)
    if stop not in STOP_REASONS:
        near = difflib.get_close_matches(stop, STOP_REASONS, n=1)
        mend = f"did you mean {either(near)}?" if near else f"the words are {', '.join(STOP_REASONS)}"
        raise table.wrong(f"{stop!r} is not a stop reason; {mend}")
    return Expectation(stop, table.strings("findings"))
