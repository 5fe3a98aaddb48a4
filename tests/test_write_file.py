"""What `write_text_file` writes beneath one root, and what it refuses."""

import errno
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_secret_names import SECRET_PATHS
from tests.workspace import functions, refusal
from toolbox import execute, file_tools, standard_tools
from toolbox.confined import Opener

Write = Callable[[str, str], dict[str, object]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links of every kind, and a file and a folder beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("OUTSIDE")
    root = tmp_path / "root"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "old").write_text("old text")
    (root / "docs" / "a.txt").write_text("first")
    links = {
        "to_old": "old",
        "to_docs": "docs",
        "to_link": "to_docs/a.txt",
        "docs/up": "..",
        "nowhere": "nothing",
        "nowhere_deep": "nothing/at/all",
        "docs/nowhere": "../gone",
        "loop": "loop",
        "out": "../outside",
        "out_file": "../outside/file",
        "out_missing": "../outside/missing",
        "out_missing_folder": "../missing",
        "out_by_detour": "docs/../../outside",
        "out_behind_a_missing_folder": "nothing/../../outside",
        "to_out": "out",
        "absolute": str(tmp_path / "outside" / "file"),
        "absolute_missing": str(tmp_path / "outside" / "missing"),
        "absolute_inside": str(root / "old"),
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


@pytest.fixture
def write(root: Path, opener: Opener) -> Write:
    """The function of the tool."""
    return writer(root, opener)


def writer(root: Path, opener: Opener) -> Write:
    """The function of the tool for a root."""
    return functions(file_tools(root, write=True, open_beneath=opener))["write_text_file"]


def everything(base: Path) -> dict[str, object]:
    """All that lies in a folder: texts, targets of links, None for folders."""
    found: dict[str, object] = {}
    for path in sorted(base.rglob("*")):
        name = os.fspath(path.relative_to(base))
        if path.is_symlink():
            found[name] = (os.readlink(path),)
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def test_the_tool_is_offered_only_where_the_host_wants_it(root: Path) -> None:
    """It is off by default, in both functions that make tools."""
    reading = ["read_text_file", "list_directory", "search_text"]
    assert reading == [tool.name for tool in file_tools(root)]
    assert ["calculator", *reading] == [tool.name for tool in standard_tools(root)]
    assert [*reading, "write_text_file"] == [tool.name for tool in file_tools(root, write=True)]
    assert ["calculator", *reading, "write_text_file"] == [tool.name for tool in standard_tools(root, write=True)]


def test_the_schema_asks_for_both_arguments(root: Path) -> None:
    """A call without a text writes nothing, not even an empty file."""
    tools = {tool.name: tool for tool in standard_tools(root, write=True)}
    told = json.loads(execute(tools, "write_text_file", '{"path": "new"}'))
    assert {"ok": False, "error_type": "invalid_arguments", "error": "missing field 'text'"} == told
    assert not (root / "new").exists()
    told = json.loads(execute(tools, "write_text_file", '{"path": "new", "text": "ü"}'))
    assert {"ok": True, "result": {"path": "new", "bytes": 2}} == told


@pytest.mark.parametrize(
    ("path", "lies_at"),
    [
        ("new", "new"),
        ("old", "old"),
        ("./old", "old"),
        ("docs/a.txt", "docs/a.txt"),
        ("docs//deep/../new", "docs/new"),
        ("docs/../old", "old"),
        ("a/b/c/new", "a/b/c/new"),
        ("docs/./x/./new", "docs/x/new"),
        ("to_old", "old"),
        ("to_link", "docs/a.txt"),
        ("to_docs/a.txt", "docs/a.txt"),
        ("to_docs/new", "docs/new"),
        ("to_docs/x/y/new", "docs/x/y/new"),
        ("docs/up/new", "new"),
        ("docs/up/x/new", "x/new"),
        ("首周/任务.txt", "首周/任务.txt"),
        ("v1..txt", "v1..txt"),
        ("x (deleted)", "x (deleted)"),
    ],
)
def test_files_are_written_where_the_path_leads(write: Write, root: Path, path: str, lies_at: str) -> None:
    """New and old files, behind links and missing folders: only the file and the folders on its way change."""
    before = everything(root.parent)
    assert write(path, "eins\r\nzwei\n首") == {"path": lies_at, "bytes": 14}
    after = everything(root.parent)
    changed = {name for name in after if name not in before or before[name] != after[name]}
    folders = {os.fspath(folder) for folder in Path("root", lies_at).parents} - {".", "root"}
    assert {f"root/{lies_at}"} | (folders - set(before)) == changed
    assert "eins\r\nzwei\n首".encode() == after[f"root/{lies_at}"]
    assert write(path, "again") == {"path": lies_at, "bytes": 5}  # in the place of what is now there
    assert (root / lies_at).read_text() == "again"
    assert set(after) == set(everything(root.parent))


LEAVES = "{path!r} leads out of the root folder"
ABSOLUTE = "{path!r} is absolute; paths are relative to the root folder"
REFUSED: list[tuple[str, type[Exception], str]] = [
    ("", ValueError, "the path is empty; the folder itself is '.'"),
    ("a\0b", ValueError, "the path {path!r} contains a NUL character"),
    ("\ud800", ValueError, "the path {path!r} contains half a surrogate pair"),
    ("x/" * 2_100, ValueError, "the path has 4,200 bytes; at most 4,095"),
    ("x/" * 22 + "new", ValueError, "{path!r} would need more than 20 new folders"),
    ("y" * 256, OSError, f"'{'y' * 120}…' cannot be opened: {os.strerror(errno.ENAMETOOLONG)}"),
    ("new/" + "y" * 256, OSError, f"'new/{'y' * 116}…' cannot be written: {os.strerror(errno.ENAMETOOLONG)}"),
    ("/etc/passwd", PermissionError, ABSOLUTE),
    ("//new", PermissionError, ABSOLUTE),
    ("..", PermissionError, LEAVES),
    ("../new", PermissionError, LEAVES),
    ("../outside/file", PermissionError, LEAVES),
    ("../root/new", PermissionError, LEAVES),
    ("docs/../../new", PermissionError, LEAVES),
    ("docs/up/../new", PermissionError, LEAVES),
    ("out/new", PermissionError, LEAVES),
    ("out/file", PermissionError, LEAVES),
    ("out/x/y/new", PermissionError, LEAVES),
    ("out_file", PermissionError, LEAVES),
    ("out_missing", PermissionError, LEAVES),
    ("out_missing/new", PermissionError, LEAVES),
    ("out_missing_folder/new", PermissionError, LEAVES),
    ("out_by_detour/new", PermissionError, LEAVES),
    ("to_out/new", PermissionError, LEAVES),
    ("absolute", PermissionError, LEAVES),
    ("absolute_missing", PermissionError, LEAVES),
    ("absolute_inside", PermissionError, LEAVES),
    ("out_behind_a_missing_folder", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("out_behind_a_missing_folder/new", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("nowhere", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("nowhere/new", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("nowhere_deep", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("nowhere_deep/x/new", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("docs/nowhere/new", FileNotFoundError, "{path!r} leads through a link to nothing"),
    ("x/../new", FileNotFoundError, "a folder on the way of {path!r} does not exist"),
    ("x/../../new", FileNotFoundError, "a folder on the way of {path!r} does not exist"),
    ("x/y/..", FileNotFoundError, "a folder on the way of {path!r} does not exist"),
    ("loop", OSError, "{path!r} leads through too many links"),
    ("loop/new", OSError, "{path!r} leads through too many links"),
    (".", IsADirectoryError, "{path!r} is a directory"),
    ("docs", IsADirectoryError, "{path!r} is a directory"),
    ("docs/", IsADirectoryError, "{path!r} is a directory"),
    ("docs/..", IsADirectoryError, "{path!r} is a directory"),
    ("to_docs", IsADirectoryError, "{path!r} is a directory"),
    ("new/", IsADirectoryError, "{path!r} names a directory"),
    ("new/.", IsADirectoryError, "{path!r} names a directory"),
    ("old/", NotADirectoryError, "a part of {path!r} is not a directory"),
    ("old/new", NotADirectoryError, "a part of {path!r} is not a directory"),
]


@pytest.mark.parametrize(("path", "error", "message"), REFUSED)
def test_other_paths_are_refused_and_nothing_is_made(
    write: Write, root: Path, path: str, error: type[Exception], message: str
) -> None:
    """Each refusal has its class and sentence, and leaves everything, inside and outside, as it was."""
    before = everything(root.parent)
    assert (error, message.format(path=path)) == refusal(write, path, "text")
    assert before == everything(root.parent)


@pytest.mark.parametrize("path", SECRET_PATHS)
@pytest.mark.parametrize("there", [True, False])
def test_secrets_are_not_written(write: Write, root: Path, path: str, there: bool) -> None:
    """What is kept from reading is kept from writing, whether it exists or not."""
    if there:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("SECRET")
    before = everything(root)
    expected = (PermissionError, f"{path!r} is kept from models, as it usually holds secrets")
    assert expected == refusal(write, path, "text")
    assert before == everything(root)


@pytest.mark.parametrize("path", ["notes.txt", "folder/config", "folder/new", "folder/x/new"])
def test_a_link_to_a_secret_is_not_written_through(write: Write, root: Path, path: str) -> None:
    """A harmless name that leads to a secret, or into a secret folder, is refused."""
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("SECRET")
    (root / ".env").write_text("SECRET")
    (root / "notes.txt").symlink_to(".env")
    (root / "folder").symlink_to(".git")
    before = everything(root)
    assert refusal(write, path, "text")[0] is PermissionError
    assert before == everything(root)


def test_the_patterns_of_secrets_are_those_of_the_reading_tools(root: Path, opener: Opener) -> None:
    """The options `secrets` and `allow_secrets` hold for writing too."""
    tools = file_tools(root, write=True, secrets=["old"], allow_secrets=["OLD.txt"], open_beneath=opener)
    write = functions(tools)["write_text_file"]
    assert refusal(write, "old", "x")[0] is PermissionError
    assert write(".env", "x") == {"path": ".env", "bytes": 1}
    assert write("old.txt", "x") == {"path": "old.txt", "bytes": 1}


def test_only_regular_files_are_replaced(write: Write, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO and a socket stay what they are, and nobody waits for them."""
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert (ValueError, "'socket' is not a regular file") == refusal(write, "socket", "x")
        assert stat.S_ISSOCK((root / "socket").lstat().st_mode)
    assert (ValueError, "'fifo' is not a regular file") == refusal(write, "fifo", "x")
    assert stat.S_ISFIFO((root / "fifo").lstat().st_mode)


def test_a_device_is_not_replaced(opener: Opener) -> None:
    """Nothing is written to a device, nor put in its place."""
    assert (ValueError, "'null' is not a regular file") == refusal(writer(Path("/dev"), opener), "null", "x")
    assert Path("/dev/null").is_char_device()


def test_a_text_has_at_most_20_kib(write: Write, root: Path) -> None:
    """20,480 bytes in UTF-8 are written; one more is refused, and the old text stays."""
    assert write("old", "首" * 6_826 + "ab") == {"path": "old", "bytes": 20_480}
    expected = (ValueError, "the text has 20,481 bytes; at most 20,480 are written")
    assert expected == refusal(write, "old", "首" * 6_827)
    assert (root / "old").stat().st_size == 20_480


def test_a_text_that_utf_8_cannot_carry_is_refused(write: Write, root: Path) -> None:
    """Half a surrogate pair has no bytes."""
    assert (ValueError, "the text contains half a surrogate pair") == refusal(write, "old", "x\ud800")
    assert (root / "old").read_text() == "old text"


def test_permissions_stay_and_new_files_have_the_usual_ones(write: Write, root: Path) -> None:
    """An executable script stays one; a new file and a new folder obey the umask; no set-user-id bit is passed on."""
    (root / "old").chmod(0o4751)
    write("old", "new text")
    before = os.umask(0o027)
    try:
        write("x/new", "text")
    finally:
        os.umask(before)
    found = [stat.S_IMODE((root / name).stat().st_mode) for name in ("old", "x/new", "x")]
    assert [0o751, 0o640, 0o750] == found


def test_a_hard_link_from_outside_is_not_written_through(write: Write, root: Path) -> None:
    """The file inside is replaced; the one outside, which was the same, keeps its text."""
    os.link(root.parent / "outside" / "file", root / "hard")
    write("hard", "inside")
    assert (root / "hard").read_text() == "inside"
    assert (root.parent / "outside" / "file").read_text() == "OUTSIDE"


def test_a_link_to_a_name_that_is_not_utf_8_is_refused(write: Write, root: Path) -> None:
    """Such a name cannot be told to a model, so nothing is written under a made-up one."""
    (root / os.fsdecode(b"caf\xe9")).write_text("latin")
    (root / "link").symlink_to(os.fsdecode(b"caf\xe9"))
    before = everything(root)
    assert (OSError, "'link' cannot be written: it is not to be found where it lay") == refusal(write, "link", "x")
    assert before == everything(root)


@pytest.mark.parametrize("path", ["old", "new", "x/y/new"])
def test_a_write_that_fails_leaves_no_half_file(
    write: Write, root: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """When the disk is full, the old text stays, no file with a made-up name is left, and no path is told."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space", str(root))

    monkeypatch.setattr(os, "rename", full)
    before = {name: text for name, text in everything(root).items() if text is not None}
    assert (OSError, f"{path!r} cannot be written: {os.strerror(errno.ENOSPC)}") == refusal(write, path, "x")
    assert before == {name: text for name, text in everything(root).items() if text is not None}


def test_the_root_may_have_gone(write: Write, root: Path) -> None:
    """Then nothing is made in its place, and no error says where it was."""
    root.rename(root.parent / "moved")
    for path in ("new", "x/new"):
        expected = (FileNotFoundError, "the root folder of the file tools cannot be opened")
        assert expected == refusal(write, path, "x")
    assert not root.exists()


def test_no_descriptor_stays_open(write: Write) -> None:
    """Success and refusal alike leave as many descriptors open as before."""
    before = os.listdir("/dev/fd")
    for path in ["old", "new", "a/b/new", "to_link", *(path for path, _, _ in REFUSED)]:
        try:
            write(path, "text")
        except (OSError, ValueError):
            continue
    assert before == os.listdir("/dev/fd")
