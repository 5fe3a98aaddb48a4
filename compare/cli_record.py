"""What --record adds to a command: the option, and the recording that is open while lanes run."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from compare.process import INCOMPLETE, tell

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    from compare.recording.recorder import Recorder

record_option = click.option(
    "--record",
    metavar="FILE",
    help="Write down every request, reply and use of a tool, secrets masked, for 'diptych replay' and 'export'.",
)


@contextlib.contextmanager
def recording(
    path: str | None, prompts: Sequence[str], lanes: Sequence[str], environment: Mapping[str, str]
) -> "Iterator[Recorder | None]":
    """The recorder of the file, if one is named. What `environment` has of keys does not get into it.

    What goes wrong with the file later is told on standard error and does not end the run, which may have cost money.
    Raises RecordingError for a file that cannot be begun.
    """
    if path is None:
        yield None
        return
    from compare.recording.error import RecordingError
    from compare.recording.recorder import Recorder
    from compare.secrets import keys_in

    recorder = Recorder(path, prompts, lanes, keys_in(environment))
    try:
        yield recorder
    except BaseException:
        recorder.abandon()
        raise
    try:
        recorder.close()
    except RecordingError as error:
        tell(str(error))


def code_of(code: int, recorder: "Recorder | None") -> int:
    """The exit code of a command, given that of its run: a recording that is not whole counts."""
    return INCOMPLETE if recorder is not None and recorder.problem else code
