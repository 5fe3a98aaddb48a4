"""What lies in a folder at one time, and what has changed in it since another."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from compare.replies import compact


@dataclass(frozen=True, order=True)
class Change:
    """A file that was created, changed or removed, by its path from the folder; `data` is what it holds now."""

    path: str
    change: str
    data: bytes


State = dict[str, bytes]
"""The bytes of each file by its path from the folder, sorted by path; a link to a file counts as the file."""


def state_of(folder: Path) -> State:
    """All files beneath the folder. Folders without a file are not in it."""
    return {
        os.fspath(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def changes(before: State, after: State) -> tuple[Change, ...]:
    """What is otherwise in the second state than in the first, sorted by path."""
    found = [Change(path, "removed", b"") for path in before.keys() - after.keys()]
    found += [
        Change(path, "changed" if path in before else "created", data)
        for path, data in after.items()
        if before.get(path) != data
    ]
    return tuple(sorted(found))


def hash_of(state: State) -> str:
    """SHA-256 over the paths and the hashes of the files, in hexadecimal: equal for equal states alone."""
    listed = [[path, hashlib.sha256(data).hexdigest()] for path, data in sorted(state.items())]
    return hashlib.sha256(compact(listed).encode()).hexdigest()
