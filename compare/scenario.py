"""What a scenario is, how its TOML file is read, and which scenarios the catalogue holds."""

import difflib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from compare.expectation import Expectation, read_expectations
from compare.modes import MODES, PLAIN, STREAM
from compare.replies import Scripted, ScriptedStream
from compare.scenario_replies import read_replies
from compare.scenario_streams import seconds
from compare.toml_table import ScenarioError, Table, either, read_toml, scenario_error
from protocol.profile import profile_names

__all__ = ["Expectation", "Scenario", "ScenarioError", "catalogue", "find", "load"]

CATALOGUE_FOLDER = Path(__file__).parent / "scenarios"
MAX_FILE_CHARACTERS = 4 * 1024 * 1024
MAX_NAME_BYTES = 255
"""Of a file or a folder: more is refused by most file systems."""

_FILE_KEYS = [
    "title",
    "teaches",
    "prompt",
    "system",
    "max_rounds",
    "model",
    "modes",
    "timeout",
    "stands_for",
    "workspace",
    "write",
    "profiles",
    "reply",
    "expect",
    "expect_stream",
]
_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#[0-9]+")


@dataclass(frozen=True)
class Scenario:
    """One prompt, the model's replies to it in order, and what is expected of each lane: an answer, if nothing is said.

    `workspace` maps a relative file name to its text; `write` offers the tool that writes there. `profiles` names
    those, besides OpenAI's, whose refusals are findings. `expect` maps the name of a lane to what is expected of it,
    and "" to what is expected of every lane that is not named; `expect_stream` does so for the mode "stream", where it
    differs. `modes` are the modes in which the scenario runs; `timeout` is in seconds, what a lane is given for one
    reply.
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
    write: bool = False
    profiles: tuple[str, ...] = ()

    modes: tuple[str, ...] = MODES
    timeout: float = 60.0
    expect_stream: dict[str, Expectation] = field(default_factory=dict)

    def expected(self, lane_name: str, mode: str = PLAIN) -> Expectation:
        """What is expected of this lane: its own table where it has one, else the scenario's default.

        In the mode "stream", both are looked for in `expect_stream` first.
        """
        for expect in (self.expect_stream, self.expect) if mode == STREAM else (self.expect,):
            if (found := expect.get(lane_name, expect.get(""))) is not None:
                return found
        raise KeyError(lane_name)  # not for a scenario that was loaded: its `expect` has a default


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
    mend = f"did you mean {either(near)}?" if near else "'diptych list' shows the names,"
    mend += " 'diptych --help' lists the commands"  # because `run` may be left out, a command misspelt comes here too
    raise scenario_error(argument, f"no scenario of the catalogue, and no file or folder; {mend}")


def load(path: Path | str, *, scripted: bool = True) -> Scenario:
    """The scenario in one TOML file; its name is the file's, without the ending.

    A `[[reply]]` has one of these forms:
    - `content` and/or `tool_calls`, a list of `id`, `name`, `arguments` (exact strings); an `id` left out is
      left out of the message; content left out beside calls is null, as OpenAI sends it;
    - `message`, the exact JSON text, for what the first form cannot say: null, extra keys, other types;
    - `status`, `headers`, `body` (the exact text), for what goes beyond the message: `finish_reason` null,
      `choices` empty or missing, an error object with status 200, HTML with status 502;
    - `close = true`: the connection is closed without a reply;
    - `stream`, a list of items, alone or beside one of the first three, which is then the reply where no stream is
      asked for; without it, a stream is made of the first two, and the third is sent as it is.
    An item of a stream has one of `delta` (a table) with or without `finish_reason`, `finish_reason` alone, `chunk`
    (the exact JSON text of one), `data` (the exact text of one event), `text` and `base64` (exact bytes), and may have
    `pause`, in seconds, before it. How a stream, or the body of the third form, goes out is said by `split` (re-cut
    into so many bytes), `cut` (only so many bytes), `drip` (seconds before each piece), `ending` ("cut", "reset",
    "stall") and `stall_limit` (seconds).
    Beside the first two, `finish_reason` is "tool_calls" where there are calls and "stop" where there are
    none, and `usage` a small fixed one, unless they are given.

    Where it is not to be `scripted`, because a live model answers, there may be no reply.
    Raises `ScenarioError`.
    """
    path = Path(path)
    top = Table(path, "", read_toml(path), _FILE_KEYS)
    top.only(_FILE_KEYS)
    rounds = top.get("max_rounds", int)
    if rounds is not None and rounds < 1:
        raise top.wrong(f"max_rounds is {rounds}, but the model needs at least 1 round")
    scenario = Scenario(
        name=path.stem,
        path=path,
        title=_sentence(top, "title"),
        teaches=_sentence(top, "teaches"),
        prompt=top.text("prompt"),
        replies=read_replies(top) if scripted or "reply" in top.values else (),
        expect=read_expectations(top, "expect"),
        system=top.get("system", str),
        max_rounds=8 if rounds is None else rounds,
        model=top.text("model", "scripted-model"),
        stands_for=_issues(top),
        workspace=read_workspace(top),
        write=top.get("write", bool) or False,
        profiles=_profiles(top),
        modes=_modes(top),
        timeout=_timeout(top),
        expect_stream=read_expectations(top, "expect_stream", default=False),
    )
    _check_modes(top, scenario)
    return scenario


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


def _profiles(top: Table) -> tuple[str, ...]:
    names = top.strings("profiles")
    for name in names:
        if name not in profile_names():
            raise top.wrong(f"'profiles' holds {name!r}; the profiles are {', '.join(profile_names())}")
    return names


def read_workspace(top: Table) -> dict[str, str]:
    """The files of a table's `workspace`, none of them outside of it. Raises `ScenarioError`."""
    table = top.inner("workspace", top.get("workspace", dict) or {})
    for name in table.values:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts:
            raise table.wrong(f'{name!r} leaves the workspace; name a file inside it, such as "docs/a.txt"')
        if {"", "."} & set(parts) or not name.isprintable() or "\\" in name or ":" in name:
            raise table.wrong(f'{name!r} is not a plain file name; write it such as "docs/a.txt"')
        for part in parts:
            if (size := len(part.encode())) > MAX_NAME_BYTES:
                raise table.wrong(f"{part[:20] + '...'!r} is a name of {size} bytes; it may have {MAX_NAME_BYTES}")
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


def _modes(top: Table) -> tuple[str, ...]:
    modes = top.strings("modes")
    for mode in modes:
        if mode not in MODES:
            raise top.wrong(f"'modes' holds {mode!r}; the modes are {either(list(MODES))}")
    return tuple(mode for mode in MODES if mode in modes) or MODES


def _timeout(top: Table) -> float:
    value = seconds(top, "timeout")
    if value == 0:
        raise top.wrong("timeout is 0, but a reply takes some time")
    return 60.0 if value is None else value


def _check_modes(top: Table, scenario: Scenario) -> None:
    """Refuse what does not go with the modes in which the scenario runs."""
    if STREAM not in scenario.modes and scenario.expect_stream:
        raise top.wrong("'expect_stream' is for a scenario that runs in the mode 'stream'")
    for number, reply in enumerate(scenario.replies, start=1):
        if PLAIN in scenario.modes and isinstance(reply, ScriptedStream) and reply.plain is None:
            raise top.wrong(f'reply {number} is a stream alone; give it content, or write modes = ["stream"]')
