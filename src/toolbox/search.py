"""Which lines beneath a folder contain a text."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from typing import Any

from toolbox.folder import Folder, read_up_to, readable

MAX_MATCHES = 100
MAX_VISITED = 5_000  # files and directories
MAX_LINE = 200  # characters shown of a line


def search(folder: Folder, query: str, path: str, max_bytes: int) -> dict[str, Any]:
    """The `matches` of a text in a file or beneath a directory, sorted by path and line.

    `cut` says why the search ended early, and is None when it did not. `skipped` counts by reason what was
    not searched: secrets, links (what they lead to is searched in its own place), files that are too large,
    not UTF-8, or unreadable, and what is neither file nor directory.

    Raises ValueError for a query that is empty or not one line, and what `Folder.opened` raises for the path.
    """
    if not query or "\n" in query or "\r" in query:
        raise ValueError("the query is empty" if not query else "the query has more than one line")
    with folder.opened(path) as (fd, real):
        prefix = "" if real == "." else real + "/"
        start = prefix if stat.S_ISDIR(os.fstat(fd).st_mode) else real
    matches: list[dict[str, Any]] = []
    skipped: Counter[str] = Counter()
    cut = None
    for count, file in enumerate(_walk(folder, start, skipped)):
        if count == MAX_VISITED:
            cut = f"stopped after {MAX_VISITED:,} files and directories"
        elif not file.endswith("/") and file:
            matches += _matches(file, query, _text(folder, file, max_bytes, skipped))
        if len(matches) > MAX_MATCHES:
            cut = f"the first {MAX_MATCHES:,} matches"
        if cut:
            break
    return {"matches": matches[:MAX_MATCHES], "cut": cut, "skipped": dict(sorted(skipped.items()))}


def _walk(folder: Folder, start: str, skipped: Counter[str]) -> Iterator[str]:
    """Each directory and file from `start` on, in the order of their paths; directories end with a slash."""
    todo = [start]
    while todo:
        path = todo.pop()
        yield path
        if path.endswith("/") or not path:
            todo += sorted(_children(folder, path, skipped), reverse=True)


def _children(folder: Folder, directory: str, skipped: Counter[str]) -> list[str]:
    found: list[str] = []
    try:
        with folder.opened(directory or ".") as (fd, _), os.scandir(fd) as entries:
            for entry in entries:
                name = readable(os.fsencode(entry.name))
                if folder.refuses(name):
                    skipped["secret"] += 1
                elif name != entry.name:
                    skipped["unreadable"] += 1
                elif entry.is_symlink():
                    skipped["link"] += 1
                elif entry.is_dir(follow_symlinks=False):
                    found.append(f"{directory}{name}/")
                elif entry.is_file(follow_symlinks=False):
                    found.append(directory + name)
                else:
                    skipped["not a file"] += 1
    except (OSError, ValueError):  # gone or changed since it was found, too deep, or not ours to read
        skipped["unreadable"] += 1
    return found


def _text(folder: Folder, path: str, max_bytes: int, skipped: Counter[str]) -> str:
    """The text of a file; nothing, and a count, when it is not to be searched."""
    try:
        with folder.opened_file(path) as (fd, _):
            data = read_up_to(fd, max_bytes + 1)
    except (OSError, ValueError):  # as in _children
        skipped["unreadable"] += 1
        return ""
    if len(data) > max_bytes:
        skipped["too large"] += 1
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        skipped["not UTF-8"] += 1
        return ""


def _matches(path: str, query: str, text: str) -> Iterator[dict[str, Any]]:
    if query not in text:
        return
    for number, line in enumerate(text.split("\n"), start=1):
        position = line.find(query)
        if position >= 0:
            yield {"path": path, "line": number, "text": _excerpt(line.removesuffix("\r"), position)}


def _excerpt(line: str, position: int) -> str:
    """The line, or so much of a long one as stands around the match."""
    if len(line) <= MAX_LINE:
        return line
    start = max(0, min(position - MAX_LINE // 4, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
