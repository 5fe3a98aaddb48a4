"""The profiles of providers: which there are, and how one is read from its TOML file."""

import functools
import inspect
import json
import re
import tomllib
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.checks import CHECKS, Problem, Sent
from protocol.rules import Rule

FOLDER = Path(__file__).parent / "profiles"
RULE_KEYS = {"id": str, "demands": str, "status": int, "source": str, "since": str, "check": str}
SAID_KEYS = {"says": str, "code": str}
PROFILE_KEYS = {"title": str, "extends": str, "error": str, "rule": list}
DATE = re.compile(r"\d{4}(-\d{2}){0,2}")
ERROR = '{"error": {"message": "{message}", "type": "invalid_request_error", "param": "{path}", "code": "{code}"}}'
"""How OpenAI writes an error; a profile that says nothing else has it so."""


class ProfileError(ValueError):
    """A profile that cannot be used, in one line: the file, the rule, what is wrong, and the mend."""


@dataclass(frozen=True)
class Profile:
    """A provider's rules, those that it takes over first. `error` is the form of an error's body, parsed JSON.

    A text in it that is `{message}`, `{path}`, `{code}` or `{status}` stands for that value; a code that is not known
    is null.
    """

    name: str
    title: str
    rules: tuple[Rule, ...]
    error: Any
    extends: str = ""


@functools.cache
def profile_names() -> tuple[str, ...]:
    """The profiles that come with the project, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@functools.cache
def profile(name: str) -> Profile:
    """The profile of that name. Raises ProfileError where there is none."""
    if name not in profile_names():
        raise ProfileError(f"no profile is named {name!r}; the profiles are {', '.join(profile_names())}")
    return read_profile(FOLDER / f"{name}.toml")


def read_profile(path: Path) -> Profile:
    """The profile in a TOML file, named for the file. Raises ProfileError.

    The file has a `title`, perhaps the name of a profile that it `extends`, perhaps the form of an `error` as JSON
    text, and any number of `[[rule]]`s. A rule has the keys of RULE_KEYS, perhaps those of SAID_KEYS, and as its
    other keys the parameters of the check that it names, one of `protocol.checks.CHECKS`.
    """
    try:
        top = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:  # ValueError: no UTF-8, or no TOML
        raise ProfileError(f"{path}: cannot be read: {error}") from error
    for key in top:
        _need(key in PROFILE_KEYS, path, f"{key!r} is not a key of a profile; the keys are {', '.join(PROFILE_KEYS)}")
        _typed(path, top, key, PROFILE_KEYS[key])
    _need("title" in top, path, "'title' is missing: the provider in a few words")
    base = profile(top["extends"]) if "extends" in top else None
    tables = top.get("rule", [])
    _need(all(isinstance(one, dict) for one in tables), path, "'rule' must be a list of tables: [[rule]]")
    rules = (*(base.rules if base else ()), *(_rule(path, table) for table in tables))
    ids = [rule.id for rule in rules]
    _need(len(set(ids)) == len(ids), path, f"two rules have one id: {', '.join(ids)}")
    return Profile(path.stem, top["title"], rules, _form(path, top.get("error"), base), top.get("extends", ""))


def _form(path: Path, text: str | None, base: Profile | None) -> Any:
    if text is None and base:
        return base.error
    try:
        return json.loads(text or ERROR)
    except ValueError as error:
        raise ProfileError(f"{path}: 'error' is not JSON: {error}") from error


def _rule(path: Path, table: dict[str, Any]) -> Rule:
    place = f"{path}: rule {table.get('id', '(without an id)')!r}"
    for key, kind in RULE_KEYS.items():
        _need(bool(table.get(key)), place, f"{key!r} is missing")
        _typed(place, table, key, kind)
    for key, kind in SAID_KEYS.items():
        _typed(place, table, key, kind)
    _need(400 <= table["status"] < 600, place, f"status is {table['status']}; a refusal has 400 to 599")
    _need(bool(DATE.fullmatch(table["since"])), place, "'since' must be a date: \"2026-01-31\", or a year, or a month")
    named = {key: value for key, value in table.items() if key not in ("check", *RULE_KEYS, *SAID_KEYS)}
    said = {key: table[key] for key in (*RULE_KEYS, *SAID_KEYS) if key in table and key != "check"}
    return Rule(provider=path.stem, check=_check(place, table["check"], named), **said)


def _check(place: str, name: str, named: dict[str, Any]) -> Callable[[Sent], Iterator[Problem]]:
    """The check of that name with its parameters filled in, of which each has the type that it must have."""
    _need(name in CHECKS, place, f"{name!r} is no check; the checks are {', '.join(CHECKS)}")
    function = CHECKS[name]
    try:
        inspect.signature(function).bind(None, **named)
    except TypeError as error:
        raise ProfileError(f"{place}: check {name}: {error}") from None
    kinds = typing.get_type_hints(function)
    for key in named:
        _typed(place, named, key, typing.get_origin(kinds[key]) or kinds[key])
    try:
        re.compile(named.get("pattern", ""))
    except re.error as error:
        raise ProfileError(f"{place}: 'pattern' is no regular expression: {error}") from error
    return functools.partial(function, **named)


def _typed(place: object, table: dict[str, Any], key: str, kind: type) -> None:
    if key in table:
        _need(type(table[key]) is kind, place, f"{key!r} must be of type {kind.__name__}, but is {table[key]!r}")


def _need(holds: bool, place: object, text: str) -> None:
    if not holds:
        raise ProfileError(f"{place}: {text}")
