"""How to open a path beneath one folder and nowhere else: by the kernel where it can, else by hand."""

import errno
import os
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

# Neither a FIFO without a writer nor a terminal may hold us up or become ours.
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
MAX_LINKS = 40  # as in the Linux kernel, path_resolution(7)


class Opened(NamedTuple):
    """An open file descriptor, and where it lies: the path from the root with all links followed."""

    fd: int
    real: bytes


# (descriptor of the root, relative path) -> what was opened; OSError EXDEV when the path leaves the root.
Opener = Callable[[int, bytes], Opened]


@cache
def best_opener() -> Opener:
    """The kernel's confinement where it works here, else the walk; found out once, at the first use."""
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_by_kernel(root, b".").fd)
    except OSError:  # an old kernel, a sandbox that forbids the call, no /proc, or not Linux
        return open_by_walk
    else:
        return open_by_kernel
    finally:
        os.close(root)


def _check(path: bytes) -> None:
    if not path:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if b"\0" in path:  # the kernel would read no further
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    if path.startswith(b"/"):
        raise _left_the_root()


def _left_the_root() -> OSError:
    return OSError(errno.EXDEV, os.strerror(errno.EXDEV))


# --- by the kernel: openat2(2) ---

_OPENAT2 = 437  # the number of the call on all architectures of Linux but alpha
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_OPEN_HOW = struct.pack("=QQQ", FLAGS, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
_ATTEMPTS = 100


def open_by_kernel(root: int, path: bytes) -> Opened:
    """Let Linux (from 5.6) resolve the path: no step of it can leave the root, whatever changes meanwhile.

    An absolute link is refused even when it points into the root, because RESOLVE_BENEATH does so.
    Where the file really lies is read from /proc, as openat2 does not say it.
    """
    _check(path)
    syscall, get_errno = _libc()
    for _ in range(_ATTEMPTS):
        fd = syscall(_OPENAT2, root, path, _OPEN_HOW, len(_OPEN_HOW))
        if fd >= 0:
            break
        # EAGAIN: something was renamed, anywhere, while a `..` was resolved; the manual says to try again.
        if get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    if fd < 0:
        raise OSError(get_errno(), os.strerror(get_errno()))
    try:
        return Opened(fd, _beneath(_lies_at(root), _lies_at(fd)))
    except OSError:
        os.close(fd)
        raise


@cache
def _libc() -> tuple[Callable[..., int], Callable[[], int]]:
    import ctypes  # here, because loading it takes longer than all the rest of this package

    syscall: Any = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    return syscall, ctypes.get_errno


def _lies_at(fd: int) -> bytes:
    return os.readlink(f"/proc/self/fd/{fd}".encode())


def _beneath(root: bytes, path: bytes) -> bytes:
    if path == root:
        return b"."
    start = root.rstrip(b"/") + b"/"
    if not path.startswith(start):  # moved out of the root after it was opened
        raise _left_the_root()
    # The kernel marks a file that was removed or replaced after it was opened; its name is what counts here.
    return path.removeprefix(start).removesuffix(b" (deleted)")


# --- by hand ---

# O_PATH asks for no more than the right to pass through a folder, as the kernel's own resolution does.
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_by_walk(root: int, path: bytes) -> Opened:
    """Resolve the path one name at a time, each beneath a folder that is already open.

    We follow the links ourselves, the system never does, so a name that is swapped between two steps can only
    be refused or lead elsewhere beneath the root. Absolute links are refused, as by the kernel.
    """
    _check(path)
    trail: list[tuple[bytes, int]] = []  # names and descriptors of the open folders from the root to here
    todo, links = _steps(path), 0
    try:
        while True:
            name = todo.pop()
            if name == b"..":
                if not trail:
                    raise _left_the_root()
                os.close(trail.pop()[1])
                name = b"."
            if name == b"." and todo:
                continue
            here = trail[-1][1] if trail else root
            try:
                fd = os.open(name, _STEP if todo else FLAGS | os.O_NOFOLLOW, dir_fd=here)
            except OSError as error:
                links += 1
                todo += _steps(_link_target(name, here, error, links))
                continue
            if not todo:
                names = [*(step for step, _ in trail), name]
                return Opened(fd, b"/".join(names).removesuffix(b"/."))
            trail.append((name, fd))
    finally:
        for _, folder in trail:
            os.close(folder)


def _steps(path: bytes) -> list[bytes]:
    """The names of a path, last first; a slash at the end asks for a folder, as the name `.` does."""
    names = [name for name in path.split(b"/") if name]
    return [*([b"."] if path.endswith(b"/") else []), *reversed(names)]


def _link_target(name: bytes, folder: int, error: OSError, links: int) -> bytes:
    """Where the link leads that could not be opened, if it is one; else the error as it was."""
    if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        raise error
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError:
        raise error from None
    if links > MAX_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
    if target.startswith(b"/"):
        raise _left_the_root() from None
    return target
