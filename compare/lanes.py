"""How a lane is named, and how the function or the command behind the name is found."""

import importlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

Run = Callable[..., tuple[list[Any], str]]
"""`run(prompt, tools, *, base_url, model, api_key, system, max_rounds, timeout) -> (messages, stop)`."""

NAME = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?")
COMMAND = re.compile(r"([\w.:-]+)=cmd:(.*)", re.DOTALL)


class LaneError(ValueError):
    """A lane that cannot be had, in one line: its name, what is wrong, and the mend."""


@dataclass(frozen=True)
class Command:
    """The words of a command that is a lane; `{prompt}` in them stands for the prompt."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Lane:
    """A lane by name, with the function or the command that runs it."""

    name: str
    run: Run | Command

    @property
    def function(self) -> Run:
        """The function. Raises LaneError for a command."""
        if isinstance(self.run, Command):
            mend = "name a lane that is a function, as MODULE:FUNCTION"
            raise LaneError(f"lane {self.name}: a command runs its tools where they cannot be watched; {mend}")
        return self.run


def load_lane(text: str) -> Lane:
    """The lane that a word names: `raw`, `yours.module` (its function `run`) or `yours.module:function`.

    Modules are also looked for in the current folder. Raises LaneError.
    """
    if not NAME.fullmatch(text):
        raise LaneError(f"{text!r} is no lane: name one as MODULE or MODULE:FUNCTION, such as raw or agent:run")
    module_name, _, attribute = text.partition(":")
    if "" not in sys.path:
        sys.path.append("")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            what = one_line(str(error))
            raise LaneError(f"lane {text}: its import fails: {what}; install what it needs") from error
        raise LaneError(f"lane {text}: there is no module {error.name}; is it in this folder or installed?") from error
    except (Exception, SystemExit) as error:  # somebody else's module may fail in any way
        what = one_line(f"{type(error).__name__}: {error}")
        raise LaneError(f"lane {text}: its import fails: {what}; mend the module") from error
    run = getattr(module, attribute or "run", None)
    if not callable(run):
        wanted = attribute or "run"
        mend = "define it, or name another as MODULE:FUNCTION"
        raise LaneError(f"lane {text}: the module {module_name} has no function {wanted}; {mend}")
    return Lane(text.removesuffix(":run"), run)


def load_command(text: str) -> Lane:
    """The lane that `NAME=cmd:COMMAND` names; the command is split as a shell does, and run without one.

    Raises LaneError, also for a program that is not to be found.
    """
    found = COMMAND.fullmatch(text)
    if found is None:
        raise LaneError(f"{text!r} is no lane: write it as NAME=cmd:COMMAND, such as 'mine=cmd:node agent.js'")
    name, command = found[1], found[2]
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise LaneError(f"lane {name}: its command cannot be split: {one_line(str(error))}; mend the quotes") from error
    if not words:
        raise LaneError(f"lane {name}: its command is empty; write one behind cmd:")
    if shutil.which(words[0]) is None:
        if os.path.isfile(words[0]):
            mend = f"run chmod +x {words[0]}, or put the program that runs it in front"
            raise LaneError(f"lane {name}: {words[0]} is not executable; {mend}")
        raise LaneError(f"lane {name}: there is no program {words[0]}; install it, or give its path")
    return Lane(name, Command(words))


def load_lanes(words: str | Sequence[str]) -> list[Lane]:
    """The lanes of a list with commas, in order; or of several words, each such a list or `NAME=cmd:COMMAND`.

    Raises LaneError, also for no lane at all or a name given twice.
    """
    words = [words] if isinstance(words, str) else words
    lanes = [lane for word in words for lane in of_word(word)]
    if not lanes:
        raise LaneError("no lane is named: give at least one, such as --lanes raw,lc")
    if len({lane.name for lane in lanes}) < len(lanes):
        raise LaneError(f"a lane is named twice in {one_line(' '.join(words))!r}: name each once")
    return lanes


def functions_only(lanes: Sequence[Lane]) -> list[Lane]:
    """The lanes, for a run that has to see which tools they use. Raises LaneError where one is a command."""
    return [replace(lane, run=lane.function) for lane in lanes]


def of_word(word: str) -> list[Lane]:
    """The lanes of one word. Raises LaneError."""
    if "=" in word:
        return [load_command(word)]
    return [load_lane(name.strip()) for name in word.split(",") if name.strip()]


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())
