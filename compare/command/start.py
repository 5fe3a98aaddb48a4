"""How a command is started, listened to, and ended with its children when its time is up."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from compare.command.ended import Ended

KEPT = 64 * 1024
"""Bytes kept of each output of a command, the last ones: there it says why it failed."""
GRACE = 2.0
"""Seconds that a command has between SIGTERM and SIGKILL."""
STEP = 0.1
"""Seconds of one wait: Python acts on a signal that comes just before a wait begins only when the wait is over."""
WATCH = Path(__file__).with_name("watch.py")
UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in what `getrusage` counts memory by."""


class Tail:
    """The last bytes of an output."""

    def __init__(self) -> None:
        self.kept, self.total = b"", 0

    def add(self, data: bytes) -> None:
        """Take some more of it."""
        self.total += len(data)
        self.kept = (self.kept + data)[-KEPT:]

    @property
    def text(self) -> str:
        """What is kept, as text; bytes that are not UTF-8 show as the replacement character."""
        return self.kept.decode("utf-8", "replace")


def run_command(words: Sequence[str], prompt: str, env: Mapping[str, str], deadline: float) -> Ended:
    """Run a command in a session of its own and wait for its end, at most `deadline` seconds.

    The prompt is its standard input, and stands in place of each `{prompt}` in its words. `env` is added to the
    environment. What is left of its process group is killed behind it, so its children end with it; a child that
    began a session of its own has left the group.
    """
    filled = [word.replace("{prompt}", prompt) for word in words]
    read_end, write_end = os.pipe()
    # The prompt in a file, because a pipe would hold us up where the command does not read it.
    with tempfile.TemporaryFile() as given, open(read_end, "rb", buffering=0) as told:
        given.write(prompt.encode("utf-8", "surrogateescape"))
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 # the user's own command
                [sys.executable, "-I", "-S", str(WATCH), str(write_end), *filled],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **env},
                pass_fds=(write_end,),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # longer than a command line may be, or with a NUL in it
            return Ended(None, None, "", "", (0, 0), unstarted=getattr(error, "strerror", None) or str(error))
        finally:
            os.close(write_end)
        with process:
            return heard_out(process, told, deadline)


def heard_out(process: "subprocess.Popen[bytes]", told: BinaryIO, deadline: float) -> Ended:
    """Listen to a command until it ends or has to be ended; `told` brings what its watch says of it."""
    out, err, report = Tail(), Tail(), Tail()
    with selectors.DefaultSelector() as ready:
        for file, tail in ((process.stdout, out), (process.stderr, err), (told, report)):
            ready.register(file, selectors.EVENT_READ, tail)  # type: ignore[arg-type]  # none of them is None
        try:
            late = not listen(ready, told, deadline)
            if late:
                tell_group(process.pid, signal.SIGTERM)
                listen(ready, told, GRACE)
        finally:
            # Before the process is waited for: until then nothing else can have its number.
            tell_group(process.pid, signal.SIGKILL)
        for file in (process.stdout, process.stderr):
            listen(ready, file, STEP)  # what has been written, and no more: a child that left the group may hold it
    first, _, rest = report.text.partition(" ")
    started, known = first != "-", first not in ("", "-")
    return Ended(
        status=int(first) if known else None,
        peak=int(rest) * UNIT if known else None,
        stdout=out.text,
        stderr=err.text,
        left_out=(out.total - len(out.kept), err.total - len(err.kept)),
        late=late,
        unstarted="" if started else rest,
    )


def listen(ready: selectors.BaseSelector, until: object, seconds: float) -> bool:
    """Take what comes, for at most so many seconds; returns whether `until` came to its end."""
    end = time.monotonic() + seconds
    while any(key.fileobj is until for key in ready.get_map().values()):
        left = end - time.monotonic()
        if left <= 0:
            return False
        for key, _ in ready.select(min(left, STEP)):
            data = os.read(key.fd, KEPT)
            key.data.add(data)
            if not data:
                ready.unregister(key.fileobj)
    return True


def tell_group(group: int, sign: signal.Signals) -> None:
    """Send a signal to the processes of a group, where any are left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the second is macOS's word on a dead group
        os.killpg(group, sign)
