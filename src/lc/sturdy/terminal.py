"""How the chat reads and writes, at a terminal or through pipes: the model's words apart from all else."""

import contextlib
import io
import sys
from typing import Any, TextIO

from lc.sturdy.events import Event
from protocol import STOP_REASONS
from toolbox.console import printable, tell, write_text

LONGEST_RESULT = 300
"""Characters of a result that are shown; the model gets all of it."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads or types there. A stream that was closed by whoever started us is None."""
    return stream is not None and stream.isatty()


def accept_any_bytes() -> None:
    """Let what is read from standard input and is not UTF-8 come as escapes, such as \\xff: before the first read."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")


def read_line(prompt: str, given: str = "") -> str:
    """A line from standard input, with line editing and `given` to begin with where that is a terminal.

    Raises EOFError.
    """
    if sys.stdin is None:
        raise EOFError
    if not is_terminal(sys.stdin):
        return _line()
    if not is_terminal(sys.stdout):  # input() would write the prompt among the answers
        sys.stderr.write(prompt)
        sys.stderr.flush()
        return _line()
    with contextlib.suppress(ImportError):  # Python can be built without it: then a line cannot be edited
        import readline

        readline.set_startup_hook(lambda: readline.insert_text(given))
    return input(prompt)


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


class Screen:
    """Shows events: the model's words on standard output, progress on standard error.

    On a terminal the words come piece by piece, control characters spelled out, and a spinner turns while something is
    waited for. Elsewhere only whole answers are on standard output, as of the other lanes; what the model says beside
    tool calls is progress. All methods raise OSError where standard output cannot be written.
    """

    def __init__(self) -> None:
        self._piecewise = is_terminal(sys.stdout)
        self._spinner = _spinner() if is_terminal(sys.stderr) else None
        self._midline = False
        self._running: list[str] = []

    def show(self, event: Event) -> None:
        """Show one event, and then what is waited for next."""
        self.quiet()
        match event:
            case {"type": "token", "text": text}:
                if self._piecewise:
                    self._write(text)
                return
            case {"type": "message", "text": text, "calls": calls}:
                self._said(text, calls)
            case {"type": "tool-start", "name": name, "arguments": arguments}:
                self._running.append(name)
                self.tell(f"[tool] {name}({arguments})")
            case {"type": "tool-end", "name": name, "result": result, "seconds": seconds}:
                self._running.remove(name)
                self.tell(f"[result] {_short(result)} ({seconds:.1f} s)")
            case {"type": "tool-refused", "name": name, "arguments": arguments, "result": result}:
                self.tell(f"[not run] {name}({_short(arguments)}): {_short(result)}")
            case {"type": "retry", "seconds": seconds, "error": error}:
                self.tell(f"[retry] in {seconds:g} s: {error}")
            case {"type": "error", "error": error}:
                self.tell(f"[error] {error}")
            case {"type": "stop", "reason": reason}:
                if reason not in ("answer", "awaiting-approval"):
                    self.tell(f"[stop] {reason}: {STOP_REASONS[reason]}")
                return
        self.wait()

    def tell(self, text: str) -> None:
        """A line on standard error."""
        if self._midline:
            self._write("\n")
        tell(text)

    def wait(self) -> None:
        """Let the spinner turn, if there is one, and say what is waited for."""
        if self._spinner is not None:
            self._spinner.update(printable(", ".join(self._running) or "the model"))
            self._spinner.start()

    def quiet(self) -> None:
        """Take the spinner away: something is to be written, or the turn is over."""
        if self._spinner is not None:
            self._spinner.stop()

    def end(self) -> None:
        """The turn is over, whatever ended it."""
        self.quiet()
        self._running.clear()
        if self._midline:
            self._write("\n")

    def _said(self, text: str, calls: int) -> None:
        if self._midline:
            self._write("\n")
        if self._piecewise or not text:
            return
        if calls:
            tell(f"[model] {text}")
        else:
            write_text(sys.stdout, text)

    def _write(self, text: str) -> None:
        shown = "\n".join(map(printable, text.split("\n")))
        sys.stdout.write(shown)
        sys.stdout.flush()
        self._midline = not shown.endswith("\n")


def _spinner() -> Any:
    """A spinner on standard error; rich is loaded only where there is a terminal to show it on."""
    from rich.console import Console
    from rich.status import Status

    return Status("", console=Console(stderr=True, markup=False))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_RESULT else text[:LONGEST_RESULT] + "…"
