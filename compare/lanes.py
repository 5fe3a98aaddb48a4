"""How a lane is named, and how the function behind the name is found."""

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Run = Callable[..., tuple[list[Any], str]]
"""`run(prompt, tools, *, base_url, model, api_key, system, max_rounds, timeout) -> (messages, stop)`."""

NAME = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?")


class LaneError(ValueError):
    """A lane that cannot be had, in one line: its name, what is wrong, and the mend."""


@dataclass(frozen=True)
class Lane:
    """A lane by name, with the function that runs it."""

    name: str
    run: Run


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


def load_lanes(text: str) -> list[Lane]:
    """The lanes of a list with commas, in order. Raises LaneError, also for an empty list or a name given twice."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise LaneError("no lane is named: give at least one, such as --lanes raw,lc")
    lanes = [load_lane(name) for name in names]
    if len({lane.name for lane in lanes}) < len(lanes):
        raise LaneError(f"a lane is named twice in {text!r}: name each once")
    return lanes


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())
