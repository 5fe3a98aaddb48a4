"""What the file tools read and list beneath one root, what they refuse, and in which words."""

import errno
import inspect
import os
import socket
from pathlib import Path
from typing import get_type_hints

import pytest

from tests.workspace import Tools, functions, refusal
from toolbox import file_tools, standard_tools
from toolbox.confined import Opener


def test_a_file_is_read_as_it_stands(tools: Tools, root: Path) -> None:
    """The text comes back without a change to line ends, marks or characters."""
    (root / "odd.txt").write_bytes("\ufeffeins\r\nzwei\rdrei\n\n\0ü".encode())
    assert tools["read_text_file"]("odd.txt") == "\ufeffeins\r\nzwei\rdrei\n\n\0ü"
    assert tools["read_text_file"]("README.md") == "# 首周任务\nread the docs\n"


@pytest.mark.parametrize(
    "path", ["v1..txt", "docs/../v1..txt", "./v1..txt", "link", "docs/link", "docs//..//link", "x (deleted)"]
)
def test_paths_and_links_that_stay_inside_are_read(tools: Tools, root: Path, path: str) -> None:
    """Dots in names, detours and links are fine while they stay beneath the root."""
    (root / "v1..txt").write_text("here")
    (root / "x (deleted)").write_text("here")
    (root / "link").symlink_to("docs/link")
    (root / "docs" / "link").symlink_to("../v1..txt")
    assert tools["read_text_file"](path) == "here"


@pytest.mark.parametrize("name", ["read_text_file", "list_directory"])
@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("", ValueError, "the path is empty; the folder itself is '.'"),
        ("a\0b", ValueError, "the path 'a\\x00b' contains a NUL character"),
        ("\ud800", ValueError, "the path '\\ud800' contains half a surrogate pair"),
        ("x/" * 2_100, ValueError, "the path has 4,200 bytes; at most 4,095"),
        ("y" * 300, OSError, f"'{'y' * 120}…' cannot be opened: {os.strerror(errno.ENAMETOOLONG)}"),
        ("missing", FileNotFoundError, "'missing' does not exist"),
        ("README.md/x", NotADirectoryError, "a part of 'README.md/x' is not a directory"),
        ("loop", OSError, "'loop' leads through too many links"),
    ],
)
def test_other_refusals_say_what_is_wrong(
    tools: Tools, root: Path, name: str, path: str, error: type[Exception], message: str
) -> None:
    """Each fault has its own class and sentence, which quotes no more than the path that was asked for."""
    (root / "loop").symlink_to("loop")
    assert (error, message) == refusal(tools[name], path)


@pytest.mark.parametrize("tool", ["read_text_file", "list_directory", "search_text"])
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    "path",
    ["../outside/file", "docs/../../outside/file", "out/file", "out_file", "absolute_link", "..", "out"],
)
def test_the_refusal_does_not_tell_whether_anything_outside_exists(
    tools: Tools, root: Path, tool: str, there: bool, path: str
) -> None:
    """A path that leaves is refused in the same words whether it leads to something or nothing."""
    if not there:
        (root.parent / "outside" / "file").unlink()
        (root.parent / "outside").rmdir()
    (root / "out").symlink_to("../outside")
    (root / "out_file").symlink_to("../outside/file")
    (root / "absolute_link").symlink_to(root.parent / "outside" / "file")
    arguments = ["text", path] if tool == "search_text" else [path]
    expected = (PermissionError, f"{path!r} leads out of the root folder")
    assert expected == refusal(tools[tool], *arguments)


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/no-such-file", "/", "//x"])
def test_absolute_paths_are_refused(tools: Tools, path: str) -> None:
    """An absolute path is refused as such, wherever it leads."""
    expected = (PermissionError, f"{path!r} is absolute; paths are relative to the root folder")
    assert expected == refusal(tools["read_text_file"], path)


def test_no_message_names_the_root(tools: Tools, root: Path) -> None:
    """Even when the root has gone, no error tells a model where it was."""
    for path in ["missing", "..", "docs", "docs/a.txt/x", "README.md/"]:
        assert str(root.parent) not in refusal(tools["read_text_file"], path)[1]
    root.rename(root.parent / "moved")
    expected = (FileNotFoundError, "the root folder of the file tools cannot be opened")
    assert expected == refusal(tools["read_text_file"], "README.md")


def test_only_regular_files_are_read(tools: Tools, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO, a socket and a directory are refused at once, without waiting for anyone."""
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert (ValueError, "'socket' is not a regular file") == refusal(tools["read_text_file"], "socket")
    assert (ValueError, "'fifo' is not a regular file") == refusal(tools["read_text_file"], "fifo")
    assert (IsADirectoryError, "'docs' is a directory") == refusal(tools["read_text_file"], "docs")
    assert (NotADirectoryError, "'fifo' is not a directory") == refusal(tools["list_directory"], "fifo")
    assert tools["search_text"]("x", "fifo") == {"matches": [], "cut": None, "skipped": {"unreadable": 1}}


def test_a_device_is_refused(opener: Opener) -> None:
    """A device that never ends is not read."""
    read = functions(file_tools("/dev", open_beneath=opener))["read_text_file"]
    assert (ValueError, "'zero' is not a regular file") == refusal(read, "zero")


def test_a_file_has_at_most_20_kib(tools: Tools, root: Path) -> None:
    """20,480 bytes are read; one more is refused, with both sizes."""
    (root / "fits").write_bytes(b"x" * 20_480)
    (root / "large").write_bytes(b"x" * 1_234_567)
    assert len(tools["read_text_file"]("fits")) == 20_480
    expected = (ValueError, "'large' has 1,234,567 bytes; at most 20,480 are read")
    assert expected == refusal(tools["read_text_file"], "large")
    (root / "large").write_bytes(b"x" * 20_481)
    expected = (ValueError, "'large' has 20,481 bytes; at most 20,480 are read")
    assert expected == refusal(tools["read_text_file"], "large")


def test_the_size_limit_is_an_option(root: Path, opener: Opener) -> None:
    """`max_bytes` counts bytes, not characters."""
    (root / "four").write_text("首x", encoding="utf-8")
    read = functions(file_tools(root, max_bytes=4, open_beneath=opener))["read_text_file"]
    assert read("four") == "首x"
    read = functions(file_tools(root, max_bytes=3, open_beneath=opener))["read_text_file"]
    assert (ValueError, "'four' has 4 bytes; at most 3 are read") == refusal(read, "four")


def test_a_file_that_understates_its_size_is_bounded_too(opener: Opener) -> None:
    """Files of /proc claim to be empty; what they hold is bounded all the same."""
    read = functions(file_tools("/proc", max_bytes=10, open_beneath=opener))["read_text_file"]
    assert (ValueError, "'version' has more than 10 bytes; at most 10 are read") == refusal(read, "version")


def test_only_utf_8_is_read(tools: Tools, root: Path) -> None:
    """Other bytes are refused with the first that does not fit, its place, and the size."""
    (root / "latin").write_bytes(b"caf\xe9 au lait")
    expected = (ValueError, "'latin' is not UTF-8 text: byte 0xe9 at offset 3 of 12")
    assert expected == refusal(tools["read_text_file"], "latin")


def test_a_listing_is_sorted_and_says_what_each_entry_is(tools: Tools, root: Path) -> None:
    """Entries come by name with their kinds; secrets are marked; links are not looked behind."""
    (root / ".env").write_text("SECRET")
    (root / "out").symlink_to("../outside")
    os.mkfifo(root / "fifo")
    (root / os.fsdecode(b"caf\xe9")).write_text("x")
    assert tools["list_directory"]() == {
        "path": ".",
        "entries": [
            {"name": ".env", "kind": "secret"},
            {"name": "README.md", "kind": "file", "bytes": 29},
            {"name": "caf\\xe9", "kind": "file", "bytes": 1},
            {"name": "docs", "kind": "directory"},
            {"name": "fifo", "kind": "other"},
            {"name": "out", "kind": "link"},
        ],
        "cut": None,
    }
    assert tools["list_directory"]("docs/../docs/") == {
        "path": "docs",
        "entries": [{"name": "a.txt", "kind": "file", "bytes": 20}],
        "cut": None,
    }


def test_a_listing_is_cut_and_says_so(tools: Tools, root: Path) -> None:
    """At most 200 entries are shown, the first by name, and the listing says of how many."""
    for number in range(201):
        (root / "docs" / f"{number:03}").touch()
    listing = tools["list_directory"]("docs")
    assert [f"{number:03}" for number in range(200)] == [entry["name"] for entry in listing["entries"]]
    assert listing["cut"] == "the first 200 of 202 entries"


def test_schemas_and_signatures_agree(root: Path) -> None:
    """Each tool's schema has the function's parameters, those without default required, and no others."""
    assert [tool.name for tool in file_tools(root)] == ["read_text_file", "list_directory", "search_text"]
    for tool in standard_tools(root):
        parameters = inspect.signature(tool.function).parameters
        required = [name for name, value in parameters.items() if value.default is value.empty]
        assert list(parameters) == list(tool.parameters["properties"])
        assert required == tool.parameters["required"]
        assert {"string"} == {schema["type"] for schema in tool.parameters["properties"].values()}
        assert all(schema["description"] for schema in tool.parameters["properties"].values())
        assert tool.parameters["additionalProperties"] is False
        assert {*parameters, "return"} == set(get_type_hints(tool.function))
        assert tool.name == tool.function.__name__
        assert tool.description == (inspect.getdoc(tool.function) or "").split("\n")[0]


def test_the_root_must_be_a_folder(root: Path) -> None:
    """A root that is missing or a file is the host's mistake, told when the tools are made."""
    for wrong in [root / "README.md", root / "missing"]:
        with pytest.raises(NotADirectoryError):
            file_tools(wrong)


def test_the_root_stays_when_the_working_directory_changes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative root is the folder that it was when the tools were made."""
    monkeypatch.chdir(root.parent)
    read = functions(file_tools("root"))["read_text_file"]
    monkeypatch.chdir("/")
    assert read("docs/a.txt") == "first\r\nsecond docs\r\n"
