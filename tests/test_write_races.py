"""What holds of `write_text_file` while others change the folder, and on any tree and path."""

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.openers import OPENERS
from tests.test_confined import swap_until
from tests.test_path_properties import entries, grown, steps
from tests.test_write_file import Write, everything, writer
from toolbox import execute, file_tools
from toolbox.confined import Opener


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace, with a file and a folder beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("OUTSIDE")
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    return root


@pytest.fixture(params=OPENERS)
def write(request: pytest.FixtureRequest, root: Path) -> Write:
    """The function of the tool, by each way to confine that works on this machine."""
    return writer(root, request.param)


@pytest.mark.parametrize("path", ["x/new", "docs/x/y/new"])
def test_a_link_that_appears_in_the_place_of_a_missing_folder_is_not_followed(
    write: Write, root: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A folder that somebody else made in the meantime is taken; a link, wherever it leads, is not."""
    mkdir = os.mkdir

    def too_late(name: str, *, dir_fd: int) -> None:
        os.symlink(root.parent / "outside", name, dir_fd=dir_fd)
        mkdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", too_late)
    before = everything(root.parent / "outside")
    with pytest.raises(OSError, match=r"."):
        write(path, "text")
    assert before == everything(root.parent / "outside")

    def made_already(name: str, *, dir_fd: int) -> None:
        mkdir(name, dir_fd=dir_fd)
        mkdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", made_already)
    assert write(f"z/{path}", "text") == {"path": f"z/{path}", "bytes": 4}


def test_a_reader_never_sees_half_a_file(write: Write, root: Path) -> None:
    """While two texts are written in turn, every read gives one of them, whole."""
    texts = ["a" * 20_000, "b" * 15_000]
    write("old", texts[0])
    stop, seen = threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            seen.add((root / "old").read_text())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(300):
            write("old", texts[number % 2])
    finally:
        stop.set()
        reader.join()
    assert seen <= set(texts)


def swap_whatever_until(stop: threading.Event, door: Path) -> None:
    """Make a name a folder, a link that leaves, and nothing by turns, whatever the writer makes of it meanwhile."""
    for number in itertools.count():
        if stop.is_set():
            return
        with contextlib.suppress(FileNotFoundError):
            door.rename(door.with_name(f"aside{number}"))
        with contextlib.suppress(FileExistsError):
            door.symlink_to("../outside")
            door.unlink()
        with contextlib.suppress(FileExistsError):
            door.mkdir()


@pytest.fixture(params=["link", "folder"])
def swapped(request: pytest.FixtureRequest, root: Path) -> Iterator[None]:
    """The name `door`, which leads inside and outside by turns: as a link, or as a folder that becomes one."""
    stop = threading.Event()
    if request.param == "link":
        (root / "door").symlink_to("docs")
        swap = threading.Thread(target=swap_until, args=(stop, root / "door", ["../outside", "docs"]))
    else:
        (root / "door").mkdir()
        swap = threading.Thread(target=swap_whatever_until, args=(stop, root / "door"))
    swap.start()
    yield
    stop.set()
    swap.join()


@pytest.mark.usefixtures("swapped")
@pytest.mark.parametrize("path", ["door/file", "door/x/new", "door/../door/file", "door"])
def test_names_that_are_swapped_while_writing_never_lead_outside(write: Write, root: Path, path: str) -> None:
    """Whichever way the name points at each moment, nothing outside is made or changed."""
    before = everything(root.parent / "outside")
    outcomes = set()
    for attempt in range(20_000):
        try:
            write(path, "INSIDE")
            outcomes.add("written")
        except (OSError, ValueError) as error:
            outcomes.add(type(error).__name__)
        if attempt > 300 and len(outcomes) > 1:  # on a busy machine the other thread may start late
            break
    assert len(outcomes) > 1, "the race was never lost, so this proves nothing"
    assert before == everything(root.parent / "outside")
    assert ["outside", "root"] == sorted(os.listdir(root.parent))


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=150)
@given(tree=entries, path=st.one_of(steps, steps, st.text(max_size=20)))
def test_nothing_outside_is_ever_written(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """On any tree and path, what changes lies in the root, holds the text, and is where the tool says."""
    with grown(tree) as root:
        base = root.parent.parent
        before = everything(base)
        tools = {tool.name: tool for tool in file_tools(root, write=True, secrets=(), open_beneath=opener)}
        told = execute(tools, "write_text_file", json.dumps({"path": path, "text": "WRITTEN"}))
        after = everything(base)
        assert str(base) not in told
        changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
        if json.loads(told)["ok"]:
            lies_at = os.fspath(root.relative_to(base) / json.loads(told)["result"]["path"])
            assert set(before) <= set(after)
            assert changed.pop(lies_at, b"WRITTEN") == b"WRITTEN"
            assert set(changed.values()) <= {None}
            assert all(lies_at.startswith(f"{name}/") for name in changed)
        else:
            assert before == after


@settings(deadline=None, max_examples=100)
@given(tree=entries, path=steps)
def test_both_mechanisms_agree(tree: list[tuple[str, str]], path: str) -> None:
    """On any tree and path, the kernel and the walk write the same or refuse in the same words."""
    results = []
    for opener in OPENERS:
        with grown(tree) as root:
            tools = {tool.name: tool for tool in file_tools(root, write=True, open_beneath=opener)}
            told = execute(tools, "write_text_file", json.dumps({"path": path, "text": "WRITTEN"}))
            found = {name: value for name, value in everything(root).items() if not isinstance(value, tuple)}
            results.append((told, found))
    assert all(result == results[0] for result in results)
