"""A scenario's TOML file as tables whose every look-up checks the type, and refuses with the place and the mend."""

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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


class ScenarioError(ValueError):
    """A scenario that cannot be used, in one line: the file, the line or key, what is wrong, and the mend."""


@dataclass(frozen=True)
class Table:
    """A TOML table being read: each look-up checks the type, and each refusal says where it is.

    `place` is empty for the top of the file; `keys_of_file` are the keys that belong there. Every method but `wrong`
    and `inner` raises ScenarioError.
    """

    path: Path
    place: str
    values: dict[str, Any]
    keys_of_file: Sequence[str]

    def inner(self, place: str, values: dict[str, Any]) -> "Table":
        """A table of the same file."""
        return Table(self.path, place, values, self.keys_of_file)

    def wrong(self, text: str) -> ScenarioError:
        """The error that says what is wrong here."""
        return scenario_error(f"{self.path}: {self.place}" if self.place else self.path, text)

    def only(self, known: Sequence[str], hint: str = "") -> None:
        """Refuse any other key, with the nearest known one, or `hint`, as the mend."""
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
                mend = hint or f"the keys are {', '.join(known)}"
                if self.place and key in self.keys_of_file:
                    mend = "it is a key of the file, so write it above the first [table]"
                if near:
                    mend = f"did you mean {either(near)}?"
                raise self.wrong(f"{key!r} is not a key here; {mend}")

    def get(self, key: str, kind: type[_T]) -> _T | None:
        """The value of a key that may be missing."""
        # Exact types, because True is an int in Python and not in TOML.
        value = self.values.get(key)
        if value is None or type(value) is kind:
            return value
        found = _KINDS.get(type(value), ("a date or time", ""))[0]
        raise self.wrong(f"{key!r} is {found}, but must be {_KINDS[kind][0]}: {self._written(key, kind)}")

    def need(self, key: str, kind: type[_T]) -> _T:
        """The value of a key that may not be missing."""
        value = self.get(key, kind)
        if value is None:
            above = " above the first [table]" if not self.place and kind is not dict else ""
            raise self.wrong(f"{key!r} is missing; write {self._written(key, kind)}{above}")
        return value

    def _written(self, key: str, kind: type) -> str:
        return f"{key} = {{ ... }}" if self.place and kind is dict else _KINDS[kind][1].format(key)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not blank; the key may be missing where there is a default."""
        value = self.need(key, str) if default is None else self.get(key, str)
        if value is None:
            return str(default)
        if not value.strip():
            raise self.wrong(f"{key!r} is empty; write some text")
        return value

    def tables(self, key: str, item: str) -> list["Table"]:
        """The tables of an array, each with its place: `item` and its number from 1."""
        values = self.values.get(key, [])
        if type(values) is not list or any(type(value) is not dict for value in values):
            written = f"{key} = [{{ ... }}]" if self.place else f"[[{key}]]"
            raise self.wrong(f"{key!r} must be a list of tables: {written}")
        inside = f"{self.place}: " if self.place else ""
        return [self.inner(f"{inside}{item} {number}", value) for number, value in enumerate(values, start=1)]

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings that are not blank; empty where the key is missing."""
        values = self.get(key, list) or []
        for value in values:
            if type(value) is not str or not value.strip():
                raise self.wrong(f"{key!r} holds {value!r}, but must hold strings that are not empty")
        return tuple(values)


def read_toml(path: Path) -> dict[str, Any]:
    """The top table of a TOML file. Raises `ScenarioError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise scenario_error(path, f"cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise scenario_error(f"{path}:{line}", wrong) from error
    if not text.strip():
        raise scenario_error(path, "the file is empty; it needs title, teaches, prompt, [[reply]]")
    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Before Python 3.14 the line stands only in the text of the error.
        place = re.search(r"\(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise scenario_error(f"{path}:{line}" if place else path, f"not TOML: {error}") from error
    except RecursionError as error:
        raise scenario_error(path, "nested too deeply to be read") from error


def either(names: list[str]) -> str:
    """The names as a choice, for a mend."""
    return " or ".join(repr(name) for name in names)


def scenario_error(place: object, text: str) -> ScenarioError:
    """One line, whatever the file is named and holds: what cannot be printed is shown as its escape."""
    line = f"{place}: {text}"
    return ScenarioError("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line))
