"""The file tools: what a model may read, list, search and, where the host wants it, write beneath one root."""

import os
import stat
from collections.abc import Sequence
from typing import Any

from toolbox.confined import Opener, best_opener
from toolbox.folder import Folder, read_up_to, readable, shown
from toolbox.search import search
from toolbox.secret_names import SECRETS
from toolbox.tool import Tool
from toolbox.write import write_text

MAX_BYTES = 20 * 1024
MAX_ENTRIES = 200


def file_tools(
    root: str | os.PathLike[str],
    *,
    write: bool = False,
    max_bytes: int = MAX_BYTES,
    secrets: Sequence[str] = SECRETS,
    allow_secrets: Sequence[str] = (),
    open_beneath: Opener | None = None,
) -> list[Tool]:
    """The tools `read_text_file`, `list_directory` and `search_text` for one folder; `write` adds `write_text_file`.

    `max_bytes` is the largest file that is read, searched or written. `secrets` are the patterns of names that are
    refused (`toolbox.secret_names` explains them), `allow_secrets` the exceptions, such as `.env.example`.
    `open_beneath` is the confinement; by default the kernel's where it works, else the walk.

    Links that stay beneath the root are followed, except absolute ones, which are refused wherever they lead.
    A hard link is the file itself: one that was made from outside is inside. Writing replaces such a link and leaves
    what lies outside as it was; `toolbox.write` says what else holds of writing.

    Raises NotADirectoryError when the root is no folder.
    """
    if not os.path.isdir(root):
        raise NotADirectoryError(f"the root of the file tools is not a folder: {os.fspath(root)!r}")
    folder = Folder(os.path.abspath(root), tuple(secrets), tuple(allow_secrets), open_beneath or best_opener())

    def read_text_file(path: str) -> str:
        """Read a UTF-8 text file."""
        return read_text(folder, path, max_bytes)

    def list_directory(path: str = ".") -> dict[str, Any]:
        """List the entries of a directory."""
        return list_entries(folder, path)

    def search_text(query: str, path: str = ".") -> dict[str, Any]:
        """Find the lines that contain a text, in one file or in all files beneath a directory."""
        return search(folder, query, path, max_bytes)

    def write_text_file(path: str, text: str) -> dict[str, Any]:
        """Write a UTF-8 text file, new or in the place of an old one; missing folders are made."""
        return write_text(folder, path, text, max_bytes)

    where = "relative to the root folder"
    searches = "Find the lines that contain a text, in one file or in all files beneath a directory."
    writes = "Write a UTF-8 text file, new or in the place of an old one; missing folders are made."
    writing = Tool(
        name="write_text_file",
        description=writes,
        parameters=_parameters(["path", "text"], path=f"The file, {where}.", text="All that the file is to hold."),
        function=write_text_file,
        effects=True,
    )
    return [
        Tool(
            name="read_text_file",
            description="Read a UTF-8 text file.",
            parameters=_parameters(["path"], path=f"The file, {where}."),
            function=read_text_file,
        ),
        Tool(
            name="list_directory",
            description="List the entries of a directory.",
            parameters=_parameters([], path=f"The directory, {where}; by default the root folder itself."),
            function=list_directory,
        ),
        Tool(
            name="search_text",
            description=searches,
            parameters=_parameters(
                ["query"],
                query="The text to find: one line, taken literally, upper and lower case distinguished.",
                path=f"The file or directory, {where}; by default the root folder itself.",
            ),
            function=search_text,
        ),
        *([writing] if write else []),
    ]


def _parameters(required: list[str], **descriptions: str) -> dict[str, Any]:
    """A JSON Schema for arguments that are all strings; the one that may be left out is the root folder, `.`."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": text, **({} if name in required else {"default": "."})}
            for name, text in descriptions.items()
        },
        "required": required,
        "additionalProperties": False,
    }


def read_text(folder: Folder, path: str, max_bytes: int) -> str:
    """The text of a file, exactly as it stands there.

    Raises ValueError when it has more than `max_bytes` bytes or is not UTF-8, and what `opened_file` raises.
    """
    with folder.opened_file(path) as (fd, size):
        data = read_up_to(fd, max_bytes + 1)
    if len(data) > max_bytes:
        # A file of /proc says that it has no bytes, and a growing one has more than it said.
        actual = f"{size:,}" if size > max_bytes else f"more than {max_bytes:,}"
        raise ValueError(f"{shown(path)} has {actual} bytes; at most {max_bytes:,} are read")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{shown(path)} is not UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start:,} "
            f"of {len(data):,}"
        ) from None


def list_entries(folder: Folder, path: str) -> dict[str, Any]:
    """The entries of a directory, sorted by name; `cut` says when not all are shown, and is None otherwise.

    Each has a `name` and a `kind`: directory, file (with its `bytes`), link, secret (refused), or other.
    """
    with folder.opened(path) as (fd, real):
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise NotADirectoryError(f"{shown(path)} is not a directory")
        names = sorted(os.listdir(fd))
        entries = [_entry(folder, fd, name) for name in names[:MAX_ENTRIES]]
    cut = f"the first {MAX_ENTRIES:,} of {len(names):,} entries" if len(names) > MAX_ENTRIES else None
    return {"path": real, "entries": entries, "cut": cut}


def _entry(folder: Folder, fd: int, name: str) -> dict[str, Any]:
    text = readable(os.fsencode(name))
    if folder.refuses(text):
        return {"name": text, "kind": "secret"}
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:  # gone since it was listed
        return {"name": text, "kind": "other"}
    if stat.S_ISREG(status.st_mode):
        return {"name": text, "kind": "file", "bytes": status.st_size}
    kinds = {stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return {"name": text, "kind": kinds.get(stat.S_IFMT(status.st_mode), "other")}
