"""The ways to open a path beneath a root that work on this machine, and what comes of one."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolbox.confined import Opener, best_opener, open_by_kernel, open_by_walk

OPENERS = [open_by_walk] if best_opener() is open_by_walk else [open_by_walk, open_by_kernel]


@contextmanager
def descriptor(folder: Path) -> Iterator[int]:
    """The open folder, closed afterwards."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def outcome(opener: Opener, root: Path, path: bytes) -> tuple[str, str] | str:
    """What was found and where it lies, or the name of the error."""
    with descriptor(root) as fd:
        try:
            opened = opener(fd, path)
        except OSError as error:
            return errno.errorcode[error.errno or 0]
    try:
        return (read(opened.fd), os.fsdecode(opened.real))
    finally:
        os.close(opened.fd)


def read(fd: int) -> str:
    """A file's text, or a folder's mark."""
    try:
        return os.read(fd, 100).decode()
    except IsADirectoryError:
        return "<folder>"
