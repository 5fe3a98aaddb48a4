"""What is known of a command that ended: how, what it wrote, what it took, and what it says itself of its ending."""

import re
import signal
from dataclasses import dataclass

from protocol import STOP_REASONS

CLAIM = re.compile(r"\[stop\] ([a-z-]+)(?:: .*)?")


class CommandFailed(RuntimeError):
    """A command that ended neither well nor with a word on why, or that could not be started."""


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    `status` is its exit status, negative for a signal that ended it, and None where it was not started or had to be
    killed; so is `peak`, its memory in bytes: the largest of itself and the children that it waited for. `left_out`
    are the bytes in front of what is kept of its outputs. `late` says that the deadline ended it, `unstarted` why it
    did not run.
    """

    status: int | None
    peak: int | None
    stdout: str
    stderr: str
    left_out: tuple[int, int]
    late: bool = False
    unstarted: str = ""

    @property
    def claimed(self) -> str | None:
        """The stop reason that it names: the last line of one of its outputs is `[stop] WORD`, or that and `: why`."""
        found = [CLAIM.fullmatch(last_line(text)) for text in (self.stdout, self.stderr)]
        return next((one[1] for one in found if one and one[1] in STOP_REASONS), None)

    @property
    def failure(self) -> CommandFailed | None:
        """What went wrong with it: it did not start, was ended by a signal, or by itself without a word on why."""
        if self.unstarted:
            return CommandFailed(f"it could not be started: {self.unstarted}")
        if self.late or self.status == 0 or self.claimed is not None:
            return None
        said = last_line(self.stderr)
        return CommandFailed(how(self.status) + (f": {said}" if said else ""))


def how(status: int | None) -> str:
    """An exit status in words."""
    if status is None:
        return "it was killed, and what watched it"
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal, which Python has no name for
        return f"ended by signal {-status}"


def last_line(text: str) -> str:
    """The last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
