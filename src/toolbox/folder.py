"""One folder that a model may look into: which paths it opens, and in which words it refuses the others."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from toolbox.confined import Opener, best_opener
from toolbox.secret_names import SECRETS, is_secret

MAX_PATH = 4_095  # bytes; PATH_MAX of Linux without its closing NUL


@dataclass(frozen=True)
class Folder:
    """A root, the names in it that are refused, and the way that paths beneath it are opened.

    No message of it names the root or anything outside, or depends on what exists outside.
    """

    root: str
    secrets: Sequence[str] = SECRETS
    allow_secrets: Sequence[str] = ()
    open_beneath: Opener = field(default_factory=best_opener)

    def refuses(self, path: str) -> bool:
        """Whether a name on the path is that of a secret."""
        return is_secret(path, self.secrets, self.allow_secrets)

    @contextmanager
    def opened(self, path: str) -> Iterator[tuple[int, str]]:
        """Open what a path leads to, and say where it lies: the path from the root without links.

        Raises ValueError for what is no relative path, PermissionError for paths that leave the root and for
        secrets, FileNotFoundError, NotADirectoryError, and OSError for the rest.
        """
        raw = _checked(path)
        if self.refuses(path):
            raise _secret(path)
        try:
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise FileNotFoundError("the root folder of the file tools cannot be opened") from None
        try:
            fd, lies_at = self.open_beneath(root, raw)
        except OSError as error:
            raise in_words(error, path) from None
        finally:
            os.close(root)
        try:
            real = readable(lies_at)
            if self.refuses(real):  # a link with a harmless name
                raise _secret(path)
            yield fd, real
        finally:
            os.close(fd)

    @contextmanager
    def opened_file(self, path: str) -> Iterator[tuple[int, int]]:
        """Open a regular file, and say how many bytes it has; ValueError for a FIFO, a device, a socket."""
        with self.opened(path) as (fd, _):
            yield fd, regular(fd, path).st_size


def regular(fd: int, path: str) -> os.stat_result:
    """The status of an open file; IsADirectoryError or ValueError, which quote the path, when it is no regular one."""
    status = os.fstat(fd)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{shown(path)} is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise _not_regular(path)
    return status


def read_up_to(fd: int, count: int) -> bytes:
    """The first bytes of a file, at most `count`; the system may hand out fewer at a time."""
    data = b""
    while len(data) < count and (more := os.read(fd, count - len(data))):
        data += more
    return data


def readable(name: bytes) -> str:
    """A file name as text that can be sent: bytes that are not UTF-8 stand as \\xff and do not open again."""
    return name.decode("utf-8", "backslashreplace")


def shown(path: str) -> str:
    """A path as error messages quote it."""
    return repr(path if len(path) <= 120 else path[:120] + "…")


def _checked(path: str) -> bytes:
    if not path:
        raise ValueError("the path is empty; the folder itself is '.'")
    if "\0" in path:
        raise ValueError(f"the path {shown(path)} contains a NUL character")
    if path.startswith("/"):
        raise PermissionError(f"{shown(path)} is absolute; paths are relative to the root folder")
    try:
        raw = path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the path {shown(path)} contains half a surrogate pair") from None
    if len(raw) > MAX_PATH:
        raise ValueError(f"the path has {len(raw):,} bytes; at most {MAX_PATH:,}")
    return raw


def _secret(path: str) -> PermissionError:
    return PermissionError(f"{shown(path)} is kept from models, as it usually holds secrets")


def _not_regular(path: str) -> ValueError:
    return ValueError(f"{shown(path)} is not a regular file")


def in_words(error: OSError, path: str, verb: str = "read") -> Exception:
    """The same failure without the system's own text, which may name paths; `verb` is what was to be done."""
    name = shown(path)
    match error.errno:
        case errno.EXDEV:
            return PermissionError(f"{name} leads out of the root folder")
        case errno.ENOENT:
            return FileNotFoundError(f"{name} does not exist")
        case errno.ENOTDIR:
            return NotADirectoryError(f"a part of {name} is not a directory")
        case errno.ENXIO | errno.ENODEV | errno.EOPNOTSUPP:  # a socket, or a device without a driver
            return _not_regular(path)
        case errno.EACCES | errno.EPERM:
            return PermissionError(f"{name} may not be {verb}")
        case errno.ELOOP:
            return OSError(f"{name} leads through too many links")
        case errno.EAGAIN:
            return OSError(f"{name} kept changing while it was opened")
    verb = "opened" if verb == "read" else verb
    return OSError(f"{name} cannot be {verb}: {os.strerror(error.errno or 0)}")
