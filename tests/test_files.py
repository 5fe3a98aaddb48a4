"""What the file tools read, list and search beneath one root, what they refuse, and in which words."""

import errno
import inspect
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tests.test_confined import OPENERS
from toolbox import Tool, confined, file_tools, standard_tools
from toolbox.confined import Opener
from toolbox.secret_names import SECRETS

Tools = dict[str, Callable[..., Any]]


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest) -> Opener:
    """Each way to confine that works on this machine."""
    chosen: Opener = request.param
    return chosen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace, with a file and a folder beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("OUTSIDE")
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text("# 首周任务\nread the docs\n", encoding="utf-8")
    (root / "docs" / "a.txt").write_bytes(b"first\r\nsecond docs\r\n")
    return root


@pytest.fixture
def tools(root: Path, opener: Opener) -> Tools:
    """The functions of the standard file tools."""
    return functions(file_tools(root, open_beneath=opener))


def functions(tools: list[Tool]) -> Tools:
    """The functions by their tools' names."""
    return {tool.name: tool.function for tool in tools}


def refusal(function: Callable[..., Any], *arguments: str) -> tuple[type[Exception], str]:
    """The class and text of the exception."""
    with pytest.raises((OSError, ValueError)) as caught:
        function(*arguments)
    return type(caught.value), str(caught.value)


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


SECRET_PATHS = [
    ".env",
    ".env.local",
    ".envrc",
    ".ENV",
    "prod.env",
    ".git/config",
    ".Git/config",
    "docs/.git/hooks/x",
    "id_rsa",
    "id_ed25519.bak",
    ".ssh/known_hosts",
    "server.pem",
    "SERVER.KEY",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".aws/credentials",
    ".kube/config",
    "docs/credentials.json",
    "infra/state.tfstate",
]


@pytest.mark.parametrize("path", SECRET_PATHS)
@pytest.mark.parametrize("there", [True, False])
def test_secrets_are_refused(tools: Tools, root: Path, path: str, there: bool) -> None:
    """Names that usually hold secrets are refused in any case, whether the file exists or not."""
    if there:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("SECRET")
    expected = (PermissionError, f"{path!r} is kept from models, as it usually holds secrets")
    assert expected == refusal(tools["read_text_file"], path)


@pytest.mark.parametrize("path", ["notes.txt", "folder/config", "chain", "docs/../notes.txt"])
def test_a_link_to_a_secret_is_refused(tools: Tools, root: Path, path: str) -> None:
    """A harmless name that leads to a secret inside is refused like the secret itself."""
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("SECRET")
    (root / ".env").write_text("SECRET")
    (root / "notes.txt").symlink_to(".env")
    (root / "folder").symlink_to(".git")
    (root / "chain").symlink_to("notes.txt")
    expected = (PermissionError, f"{path!r} is kept from models, as it usually holds secrets")
    assert expected == refusal(tools["read_text_file"], path)


def test_a_secret_that_is_deleted_while_it_is_open_stays_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel calls a file without a name left `name (deleted)`; that is not another name."""
    (root / ".netrc").write_text("SECRET")
    (root / "link").symlink_to(".netrc")
    lies_at = confined._lies_at

    def after_it_is_deleted(fd: int) -> bytes:
        (root / ".netrc").unlink(missing_ok=True)
        return lies_at(fd)

    monkeypatch.setattr(confined, "_lies_at", after_it_is_deleted)
    read = functions(file_tools(root, open_beneath=OPENERS[-1]))["read_text_file"]
    expected = (PermissionError, "'link' is kept from models, as it usually holds secrets")
    assert expected == refusal(read, "link")


def test_ordinary_names_are_no_secrets(tools: Tools, root: Path) -> None:
    """Names that only resemble a pattern are read."""
    for name in ["environment.md", "keys.md", "gitignore", ".gitignore", ".github", "pem.txt", "monkey"]:
        (root / name).write_text("fine")
        assert tools["read_text_file"](name) == "fine"


def test_the_option_lists_exceptions(root: Path, opener: Opener) -> None:
    """`allow_secrets` lets single names through, in any case, but not out of a secret folder."""
    (root / ".env").write_text("SECRET")
    (root / ".env.example").write_text("KEY=")
    (root / ".git").mkdir()
    (root / ".git" / ".env.example").write_text("SECRET")
    read = functions(file_tools(root, allow_secrets=[".Env.Example"], open_beneath=opener))["read_text_file"]
    assert read(".env.example") == "KEY="
    assert refusal(read, ".env")[0] is PermissionError
    assert refusal(read, ".git/.env.example")[0] is PermissionError


def test_the_option_lists_secrets(root: Path, opener: Opener) -> None:
    """`secrets` says what is refused: more than by default, or nothing."""
    (root / ".env").write_text("KEY=1")
    read = functions(file_tools(root, secrets=[*SECRETS, "README*"], open_beneath=opener))["read_text_file"]
    assert refusal(read, "README.md")[0] is PermissionError
    assert refusal(read, ".env")[0] is PermissionError
    read = functions(file_tools(root, secrets=(), open_beneath=opener))["read_text_file"]
    assert read(".env") == "KEY=1"


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


def test_a_search_finds_lines_in_order(tools: Tools, root: Path) -> None:
    """Matches come sorted by path, then line, literally; secrets and links are passed over."""
    (root / ".env").write_text("docs")
    (root / ".git").mkdir()
    (root / ".git" / "x").write_text("docs")
    (root / "docs.txt").write_text("x\ndocs docs\nDOCS\ndo.s")
    (root / "docs" / "link").symlink_to("../README.md")
    (root / "out").symlink_to("../outside")
    os.mkfifo(root / "fifo")
    assert tools["search_text"]("docs") == {
        "matches": [
            {"path": "README.md", "line": 2, "text": "read the docs"},
            {"path": "docs.txt", "line": 2, "text": "docs docs"},
            {"path": "docs/a.txt", "line": 2, "text": "second docs"},
        ],
        "cut": None,
        "skipped": {"link": 2, "not a file": 1, "secret": 2},
    }
    assert tools["search_text"]("do.s")["matches"] == [{"path": "docs.txt", "line": 4, "text": "do.s"}]


@pytest.mark.parametrize("path", ["docs", "docs/", "docs/a.txt", "to_docs", "to_docs/a.txt"])
def test_a_search_may_start_anywhere(tools: Tools, root: Path, path: str) -> None:
    """A folder, a file and a link inside are searched, and named as they lie beneath the root."""
    (root / "to_docs").symlink_to("docs")
    expected = [{"path": "docs/a.txt", "line": 2, "text": "second docs"}]
    assert expected == tools["search_text"]("second", path)["matches"]


def test_a_search_says_what_it_skipped(tools: Tools, root: Path) -> None:
    """Files that are too large or not UTF-8, and names that cannot be opened again, are counted."""
    (root / "large").write_bytes(b"text" * 10_000)
    (root / "binary").write_bytes(b"text\xff")
    (root / os.fsdecode(b"\xff")).write_text("text")
    expected = {"not UTF-8": 1, "too large": 1, "unreadable": 1}
    assert {"matches": [], "cut": None, "skipped": expected} == tools["search_text"]("text")


def test_a_search_is_cut_and_says_so(tools: Tools, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 100 matches are given, and at most 5,000 files and directories visited."""
    (root / "many").write_text("hit\n" * 100)
    assert tools["search_text"]("hit")["cut"] is None
    (root / "many").write_text("hit\n" * 101)
    result = tools["search_text"]("hit")
    assert (len(result["matches"]), result["cut"]) == (100, "the first 100 matches")
    monkeypatch.setattr("toolbox.search.MAX_VISITED", 3)  # the root, README.md, docs/
    result = tools["search_text"]("docs")
    assert (len(result["matches"]), result["cut"]) == (1, "stopped after 3 files and directories")
    monkeypatch.setattr("toolbox.search.MAX_VISITED", 5)
    assert tools["search_text"]("docs")["cut"] is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hit" + "." * 197, "hit" + "." * 197),
        ("hit" + "." * 300, "hit" + "." * 197 + "…"),
        ("." * 300 + "hit", "…" + "." * 197 + "hit"),
        ("." * 300 + "hit" + "." * 300, "…" + "." * 50 + "hit" + "." * 147 + "…"),
    ],
)
def test_long_lines_are_shown_around_the_match(tools: Tools, root: Path, line: str, expected: str) -> None:
    """Of a long line 200 characters are shown, with marks where it goes on."""
    (root / "long").write_text(line)
    assert expected == tools["search_text"]("hit")["matches"][0]["text"]


@pytest.mark.parametrize(
    ("query", "message"), [("", "the query is empty"), ("a\nb", "the query has more than one line")]
)
def test_a_query_is_one_line(tools: Tools, query: str, message: str) -> None:
    """What no line can contain, and what every line contains, is refused."""
    assert (ValueError, message) == refusal(tools["search_text"], query)


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
