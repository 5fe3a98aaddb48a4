"""How a text becomes a file beneath a folder, all at once, and never anywhere else."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from toolbox.folder import Folder, in_words, regular, shown

MAX_NEW_FOLDERS = 20
MAX_NAME = 255  # bytes; NAME_MAX of Linux

_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_text(folder: Folder, path: str, text: str, max_bytes: int) -> dict[str, Any]:
    """Write a file, new or in the place of a regular one; returns where it lies, links followed, and its `bytes`.

    The text is written under another name and then renamed, so a reader sees the old text or the new one, never a
    part. The rename makes a new file: another hard link to the old one keeps the old text. Missing folders are made.

    A link is followed to what exists beneath the root. A link to nothing is refused even where it would lie inside,
    because what its maker wants there is not ours to guess.

    Raises ValueError for a text that is too long or not UTF-8 and for too many missing folders, IsADirectoryError,
    FileNotFoundError for a link to nothing and for `..` behind a missing folder, and what `Folder.opened` raises.
    Nothing is made before any of these.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text contains half a surrogate pair") from None
    if len(data) > max_bytes:
        raise ValueError(f"the text has {len(data):,} bytes; at most {max_bytes:,} are written")
    try:
        with folder.opened(path) as (fd, real):
            old = regular(fd, path)
    except FileNotFoundError:
        real = _create(folder, path, data)
    else:
        real = _replace(folder, path, real, old, data)
    return {"path": real, "bytes": len(data)}


def _replace(folder: Folder, path: str, real: str, old: os.stat_result, data: bytes) -> str:
    """Put a file in the place of the one that was found: where the path says, or where a link led."""
    for place in (path, real):
        name = os.path.basename(place)
        with folder.opened(os.path.dirname(place) or ".") as (fd, parent), _worded(path):
            found = _status(fd, name)
            if found is not None and os.path.samestat(old, found):
                _put(fd, name, data, stat.S_IMODE(old.st_mode) & 0o777)
                return os.path.normpath(f"{parent}/{name}")
    # Swapped since it was found, or a link to a name that is not UTF-8.
    raise OSError(f"{shown(path)} cannot be written: it is not to be found where it lay")


def _create(folder: Folder, path: str, data: bytes) -> str:
    """Make a file that does not exist, and the folders on the way to it."""
    if path.endswith(("/", "/.")):
        raise IsADirectoryError(f"{shown(path)} names a directory")
    with _nearest(folder, path) as (fd, parent, missing), _worded(path):
        if ".." in missing:
            raise FileNotFoundError(f"a folder on the way of {shown(path)} does not exist")
        if any(len(name.encode()) > MAX_NAME for name in missing):
            raise OSError(errno.ENAMETOOLONG, "")
        if _status(fd, missing[0]) is not None:  # it is there and yet leads nowhere
            raise FileNotFoundError(f"{shown(path)} leads through a link to nothing")
        _make(fd, missing, data)
        return os.path.normpath("/".join([parent, *missing]))


@contextmanager
def _nearest(folder: Folder, path: str) -> Iterator[tuple[int, str, Sequence[str]]]:
    """The last folder on the path that exists: its descriptor, where it lies, and the names that are missing in it."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    for count in range(1, len(names) + 1):
        if count > MAX_NEW_FOLDERS + 1:
            raise ValueError(f"{shown(path)} would need more than {MAX_NEW_FOLDERS} new folders")
        with contextlib.ExitStack() as stack:
            try:
                fd, real = stack.enter_context(folder.opened("/".join(names[:-count]) or "."))
            except FileNotFoundError:
                if count == len(names):  # the root itself
                    raise
                continue
            yield fd, real, names[-count:]
            return


def _make(fd: int, names: Sequence[str], data: bytes) -> None:
    """Make the folders, each within the one before, and the file in the last; no name is followed as a link."""
    with contextlib.ExitStack() as stack:
        for name in names[:-1]:
            with contextlib.suppress(FileExistsError):  # made by another in the meantime
                os.mkdir(name, dir_fd=fd)
            fd = os.open(name, _STEP, dir_fd=fd)
            stack.callback(os.close, fd)
        _put(fd, names[-1], data, None)


def _put(fd: int, name: str, data: bytes, mode: int | None) -> None:
    """Write a file beside the place and rename it there, which replaces what has the name and follows no link."""
    temporary = f".{secrets.token_hex(8)}.tmp"
    file = os.open(temporary, _FRESH, 0o666, dir_fd=fd)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
            if mode is not None:
                os.fchmod(file, mode)
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        os.unlink(temporary, dir_fd=fd)
        raise


def _status(fd: int, name: str) -> os.stat_result | None:
    """What a name in a folder is, the link itself where it is one; None where there is nothing."""
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def _worded(path: str) -> Iterator[None]:
    """Tell what the system refuses in the words of the file tools."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # worded already
            raise
        raise in_words(error, path, "written") from None
