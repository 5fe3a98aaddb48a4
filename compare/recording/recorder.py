"""How a recording is written: line by line as things happen, so that what ends us takes nothing that was complete."""

import io
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from compare.body import Body
from compare.recording.error import RecordingError
from compare.recording.lines import (
    Line,
    end_line,
    exchange_line,
    execution_line,
    footer,
    header,
    run_line,
)
from compare.runner import Execution, Run, Task
from compare.secrets import Masker
from compare.server import Exchange
from protocol import encode_json


class Recorder:
    """A context manager that writes one recording; `keys` are values that must not get into it.

    Each line goes to the system in one write when what it tells is over. That survives the end of this process by any
    signal, for which no fsync is needed: the bytes are the kernel's then.

    Fails closed: when a line cannot be masked or written, neither it nor any later one is, and `close` raises
    RecordingError; `problem` says why. Making it raises RecordingError, too, for a file that cannot be made or that is
    there already.
    """

    def __init__(self, path: Path | str, prompts: Sequence[str], lanes: Sequence[str], keys: Iterable[str]) -> None:
        self._path = Path(path)
        try:
            self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115 # closed by `close`
        except FileExistsError:
            raise RecordingError(f"{path}: is there already; name another file, or remove this one") from None
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error
        self._masker, self._lock = Masker(keys), threading.Lock()
        self._counts = {"run": 0, "exchange": 0, "execution": 0}
        self.problem = ""
        self._began = time.perf_counter()
        self.write(lambda _: header(prompts, lanes))

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.close()
        else:
            self.abandon()

    def abandon(self) -> None:
        """End without a footer: what was to be recorded did not come to its end."""
        self._file.close()

    def run_started(self, lane: str, task: Task, tools: Sequence[dict[str, Any]]) -> "RunRecorder":
        """Begin the record of one run."""
        with self._lock:
            self._counts["run"] += 1
            number = self._counts["run"]
        started = time.perf_counter() - self._began
        self.write(lambda _: run_line(number, lane, task, tools, started))
        return RunRecorder(self, number)

    def close(self) -> None:
        """Write the footer. Raises RecordingError when the recording is not whole."""
        counts = self._counts
        self.write(lambda masker: footer(counts["run"], counts["exchange"], counts["execution"], masker.count))
        self._file.close()
        if self.problem:
            raise RecordingError(f"{self._path}: is not whole: {self.problem}; nothing was written behind that")

    def write(self, make: Callable[[Masker], Line]) -> None:
        """Write the line that `make` makes, unless one before could not be written."""
        with self._lock:
            if self.problem:
                return
            before = self._masker.count
            try:
                line = self._masker.value(make(self._masker))
                if masked := self._masker.count - before:
                    line.setdefault("masked", masked)
                data = encode_json(line) + b"\n"
                if self._masker.holds_key(data):
                    raise ValueError("a key is left in the line")
            except Exception as error:  # noqa: BLE001 # whatever it is, its text may hold what was to be masked
                self.problem = f"a {type(error).__name__} while secrets were masked"
                return
            try:
                write_whole(self._file, data)
            except OSError as error:
                self.problem = str(error.strerror)
                return
            if (kind := line.get("type")) in ("exchange", "execution"):
                self._counts[kind] += 1


class RunRecorder:
    """Writes down one run."""

    def __init__(self, recorder: Recorder, number: int) -> None:
        self._recorder, self._number = recorder, number
        self._bodies: dict[int, tuple[Body, int]] = {}

    def exchange(self, exchange: Exchange) -> None:
        """Enter an exchange that is over."""
        body, number = exchange.request.body, exchange.request.number

        def make(masker: Masker) -> Line:
            before = self._bodies.get(id(body.before))
            line = exchange_line(self._number, exchange, before[1] if before else None, masker)
            self._bodies[id(body)] = body, number  # the body is kept, or another could get its id
            return line

        self._recorder.write(make)

    def execution(self, use: Execution) -> None:
        """Enter a use of a tool that is over."""
        self._recorder.write(lambda _: execution_line(self._number, use))

    def run_ended(self, run: Run) -> None:
        """Enter how the run ended."""
        self._recorder.write(lambda _: end_line(self._number, run))


def write_whole(file: io.FileIO, data: bytes) -> None:
    """Write all of the bytes. Raises OSError."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]
