"""What holds of paths for any tree of files, folders and links: nothing outside the root is ever shown."""

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.openers import OPENERS, outcome
from toolbox import execute, file_tools
from toolbox.confined import Opener

NAMES = ["a", "b", "c"]
steps = st.lists(st.sampled_from([*NAMES, "..", ".", ""]), min_size=1, max_size=6).map("/".join)
entries = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
        st.one_of(
            st.just("folder"),
            st.just("file"),
            steps.map(lambda target: f"link:{target}"),
            st.sampled_from(["link:/OUT/a", "link:/ROOT/a", "link:../../OUT/a", "link:/"]),
        ),
    ),
    max_size=12,
)


@contextmanager
def grown(tree: list[tuple[str, str]]) -> Iterator[Path]:
    """The tree in a root of its own; around it, files by the same names hold the word OUTSIDE."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        root = base / "around" / "root"
        root.mkdir(parents=True)
        (base / "OUT").mkdir()
        for folder in (base, base / "around", base / "OUT"):
            for file in NAMES:
                (folder / file).write_text("OUTSIDE")
        for path, kind in tree:
            with suppress(OSError):  # what does not fit the tree as it has grown so far
                if not Path(os.path.realpath((root / path).parent)).is_relative_to(root):
                    continue
                if kind == "folder":
                    (root / path).mkdir(parents=True)
                elif kind == "file":
                    (root / path).touch(exist_ok=False)
                    (root / path).write_text(f"inside {path}")
                else:
                    target = kind.removeprefix("link:").replace("/OUT", f"{base}/OUT").replace("/ROOT", str(root))
                    (root / path).symlink_to(target or ".")
        yield root


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=60)
@given(tree=entries, path=steps)
def test_what_opens_lies_inside_where_it_says(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """Whatever a path opens is inside, and lies where the system's own resolution finds it."""
    with grown(tree) as root:
        found = outcome(opener, root, path.lstrip("/").encode() or b".")
        if isinstance(found, str):
            return
        text, real = found
        assert text == "<folder>" or text.startswith("inside ")
        assert os.path.realpath(root / (path.lstrip("/") or ".")) == os.path.normpath(root / real)


@settings(deadline=None, max_examples=100)
@given(tree=entries, path=steps)
def test_both_mechanisms_agree(tree: list[tuple[str, str]], path: str) -> None:
    """On any tree and path, the kernel and the walk find the same or fail alike."""
    with grown(tree) as root:
        results = {outcome(opener, root, path.encode()) for opener in OPENERS}
    assert len(results) == 1


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=60)
@given(tree=entries, path=steps)
def test_what_is_refused_leaves_or_is_missing(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """A path without ways out is refused only when the system does not find it either."""
    tree = [(name, kind) for name, kind in tree if ".." not in kind and not kind.startswith("link:/")]
    with grown(tree) as root:
        found = outcome(opener, root, path.lstrip("/").encode() or b".")
        if found == errno.errorcode[errno.EXDEV]:
            assert ".." in path.split("/")
        elif isinstance(found, str):
            with pytest.raises(OSError, match=r"."):
                os.stat(f"{root}/{path}")


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=60)
@given(tree=entries, path=st.one_of(steps, st.text(max_size=20)))
def test_no_tool_ever_shows_what_is_outside(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """No observation, good or bad, holds a text from outside or the address of the root."""
    with grown(tree) as root:
        tools = {tool.name: tool for tool in file_tools(root, secrets=(), open_beneath=opener)}
        for name, arguments in [
            ("read_text_file", {"path": path}),
            ("list_directory", {"path": path}),
            ("search_text", {"query": "OUTSIDE", "path": path}),
            ("search_text", {"query": "inside", "path": path}),
        ]:
            observation = execute(tools, name, json.dumps(arguments))
            assert "OUTSIDE" not in observation
            assert str(root) not in observation
