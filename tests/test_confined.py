"""What paths open beneath a root and which are refused, the same by the kernel and by hand."""

import errno
import os
import socket
import threading
from pathlib import Path

import pytest

from tests.openers import outcome
from toolbox import confined
from toolbox.confined import Opener, best_opener, open_by_kernel, open_by_walk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A planted folder of the test's own."""
    return planted(tmp_path)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A planted folder for the many tests that only read."""
    return planted(tmp_path_factory.mktemp("untouched"))


def planted(tmp_path: Path) -> Path:
    """A folder with files, folders and links of every kind, and files outside of it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("OUTSIDE")
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "file").write_text("top")
    (root / "v1..txt").write_text("dots")
    (root / "计算.txt").write_text("named")
    (root / "a" / "file").write_text("in a")
    (root / "a" / "b" / "file").write_text("in b")
    links = {
        "to_file": "file",
        "to_a": "a",
        "to_a_slash": "a/",
        "to_file_slash": "file/",
        "to_b": "a/b",
        "to_link": "to_b",
        "a/up": "..",
        "a/b/top": "../../file",
        "a/b/round": "../../a/./b//../b",
        "a/b/out": "../../../outside",
        "loop": "loop",
        "dangling": "nothing",
        "out": "../outside",
        "out_file": "../outside/file",
        "out_missing": "../outside/missing",
        "out_and_in": "../root/file",
        "absolute": str(outside / "file"),
        "absolute_missing": str(outside / "missing"),
        "absolute_inside": str(root / "file"),
        "to_out": "out",
        "slash": "/",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    for number in range(42):
        (root / f"chain{number}").symlink_to(f"chain{number + 1}" if number < 41 else "file")
    (root / b"caf\xe9".decode(errors="surrogateescape")).write_text("latin")
    return root


CASES: list[tuple[str, tuple[str, str] | str]] = [
    ("file", ("top", "file")),
    ("./file", ("top", "file")),
    ("a//file", ("in a", "a/file")),
    ("v1..txt", ("dots", "v1..txt")),
    ("计算.txt", ("named", "计算.txt")),
    ("caf\udce9", ("latin", "caf\udce9")),
    ("a/../file", ("top", "file")),
    ("a/b/../file", ("in a", "a/file")),
    ("a/b/../../a/b/file", ("in b", "a/b/file")),
    (".", ("<folder>", ".")),
    ("a", ("<folder>", "a")),
    ("a/", ("<folder>", "a")),
    ("a/.", ("<folder>", "a")),
    ("a/..", ("<folder>", ".")),
    ("to_file", ("top", "file")),
    ("to_a", ("<folder>", "a")),
    ("to_a/file", ("in a", "a/file")),
    ("to_a_slash/file", ("in a", "a/file")),
    ("to_link/file", ("in b", "a/b/file")),
    ("to_b/../file", ("in a", "a/file")),
    ("a/up", ("<folder>", ".")),
    ("a/up/file", ("top", "file")),
    ("a/b/top", ("top", "file")),
    ("a/b/round/file", ("in b", "a/b/file")),
    ("chain2", ("top", "file")),
    ("chain1", "ELOOP"),
    ("loop", "ELOOP"),
    ("loop/x", "ELOOP"),
    ("missing", "ENOENT"),
    ("missing/../file", "ENOENT"),
    ("dangling", "ENOENT"),
    ("file/", "ENOTDIR"),
    ("file/.", "ENOTDIR"),
    ("file/..", "ENOTDIR"),
    ("file/x", "ENOTDIR"),
    ("to_file/x", "ENOTDIR"),
    ("to_file_slash", "ENOTDIR"),
    ("x" * 256, "ENAMETOOLONG"),
    ("..", "EXDEV"),
    ("../root/file", "EXDEV"),
    ("../outside/file", "EXDEV"),
    ("a/../../outside/file", "EXDEV"),
    ("a/up/../outside/file", "EXDEV"),
    ("out", "EXDEV"),
    ("out/file", "EXDEV"),
    ("out/missing", "EXDEV"),
    ("out_file", "EXDEV"),
    ("out_missing", "EXDEV"),
    ("out_and_in", "EXDEV"),
    ("a/b/out/file", "EXDEV"),
    ("to_out/file", "EXDEV"),
    ("absolute", "EXDEV"),
    ("absolute_missing", "EXDEV"),
    ("absolute_inside", "EXDEV"),
    ("slash", "EXDEV"),
    ("/etc/passwd", "EXDEV"),
]


@pytest.mark.parametrize(("path", "expected"), CASES)
def test_both_mechanisms_give_the_same(
    opener: Opener, untouched: Path, path: str, expected: tuple[str, str] | str
) -> None:
    """Each path opens what it leads to inside, or fails with the error of its kind."""
    assert expected == outcome(opener, untouched, os.fsencode(path))


def test_no_descriptor_stays_open(opener: Opener, untouched: Path) -> None:
    """Success and refusal alike leave as many descriptors open as before."""
    before = os.listdir("/dev/fd")
    for path, _ in CASES:
        outcome(opener, untouched, os.fsencode(path))
    assert before == os.listdir("/dev/fd")


def test_nothing_blocks(opener: Opener, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO without a writer and a device open at once; a socket is an error."""
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)  # a socket's address has room for a short path only
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert outcome(opener, root, b"socket") == "ENXIO"
    assert outcome(opener, root, b"fifo") == ("", "fifo")
    assert outcome(opener, Path("/dev"), b"null") == ("", "null")


def test_a_root_reached_by_a_link_is_the_root(opener: Opener, root: Path) -> None:
    """The root itself may be a link; what lies beneath it is found and named as ever."""
    (root.parent / "alias").symlink_to("root")
    assert outcome(opener, root.parent / "alias", b"to_a/file") == ("in a", "a/file")


def test_the_whole_system_can_be_the_root(opener: Opener) -> None:
    """Beneath `/` the names are those without the first slash."""
    assert outcome(opener, Path("/"), b"dev/null") == ("", "dev/null")


def swap_until(stop: threading.Event, door: Path, targets: list[str]) -> None:
    """Replace a link over and over, each time at one stroke."""
    while not stop.is_set():
        for target in targets:
            fresh = door.with_name("fresh")
            fresh.symlink_to(target)
            fresh.replace(door)


def swap_folder_until(stop: threading.Event, door: Path) -> None:
    """Replace a folder by a link that leaves, and back, over and over."""
    aside = door.with_name("aside")
    while not stop.is_set():
        door.rename(aside)
        door.symlink_to("../outside")
        door.unlink()
        aside.rename(door)


def race(opener: Opener, root: Path, path: bytes, swap: threading.Thread, stop: threading.Event) -> set[str]:
    """What was read, or which errors came, while another thread swapped a name on the path."""
    swap.start()
    try:
        seen: set[str] = set()
        for attempt in range(100_000):
            result = outcome(opener, root, path)
            seen.add(result if isinstance(result, str) else result[0])
            if attempt > 1_500 and len(seen) > 1:  # on a busy machine the other thread may start late
                break
        return seen
    finally:
        stop.set()
        swap.join()


@pytest.mark.parametrize("path", [b"door/file", b"a/../door/./file", b"door/../a/file"])
def test_a_link_that_is_swapped_while_reading_never_leads_outside(opener: Opener, root: Path, path: bytes) -> None:
    """Whichever way the link points at each moment, only files inside are read."""
    (root / "door").symlink_to("a")
    stop = threading.Event()
    swap = threading.Thread(target=swap_until, args=(stop, root / "door", ["../outside", "a"]))
    seen = race(opener, root, path, swap, stop)
    assert seen <= {"in a", "EXDEV", "EAGAIN"}
    assert "EXDEV" in seen, "the race was never lost, so this proves nothing"


def test_a_folder_that_becomes_a_link_while_reading_never_leads_outside(opener: Opener, root: Path) -> None:
    """A folder that was one at the last look may be a link at the next; still only files inside are read."""
    stop = threading.Event()
    swap = threading.Thread(target=swap_folder_until, args=(stop, root / "a"))
    seen = race(opener, root, b"a/file", swap, stop)
    assert seen <= {"in a", "EXDEV", "ENOENT", "ENOTDIR", "ELOOP"}
    assert len(seen) > 1, "the race was never lost, so this proves nothing"


def test_a_file_that_moves_out_after_it_was_opened_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says where an open file lies now; outside of the root, that is a refusal."""
    places = iter([b"/srv/root", b"/srv/elsewhere/file"])
    monkeypatch.setattr(confined, "_lies_at", lambda _: next(places))
    assert outcome(open_by_kernel, root, b"file") == "EXDEV"


@pytest.mark.parametrize("reply", [errno.ENOSYS, errno.EPERM])
def test_without_the_kernel_call_the_walk_is_chosen(monkeypatch: pytest.MonkeyPatch, reply: int) -> None:
    """On an old kernel, or in a sandbox that forbids the call, paths are walked by hand."""
    monkeypatch.setattr(confined, "_libc", lambda: (lambda *_: -1, lambda: reply))
    best_opener.cache_clear()
    try:
        assert best_opener() is open_by_walk
    finally:
        best_opener.cache_clear()


def test_a_rename_elsewhere_is_tried_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EAGAIN from the kernel means that it could not be sure, and is no answer yet."""
    syscall, _ = confined._libc()
    replies = [-1, -1]

    def unsure(*arguments: object) -> int:
        return replies.pop() if replies else syscall(*arguments)

    monkeypatch.setattr(confined, "_libc", lambda: (unsure, lambda: errno.EAGAIN))
    assert outcome(open_by_kernel, root, b"a/../file") == ("top", "file")


@pytest.mark.parametrize(("path", "expected"), [(b"", "ENOENT"), (b"file\0", "EINVAL"), (b"\0", "EINVAL")])
def test_what_is_no_path_is_an_error(opener: Opener, root: Path, path: bytes, expected: str) -> None:
    """Nothing is opened for the empty path or behind a NUL."""
    assert expected == outcome(opener, root, path)
