"""What became of a value on its way: which parts were kept, lost, added, or spelled in other bytes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from compare.values import parse

KEPT, LOST, ADDED = "kept", "lost", "added"
COMPARED = 2000
"""Characters up to which two texts are compared one by one; longer ones by what they share at both ends."""


@dataclass(frozen=True)
class Piece:
    """A part of a value as text, and what became of it."""

    kind: str
    text: str


def fate(said: Any, sent: Any) -> list[Piece]:
    """One value against the other as JSON text in pieces, in the order of the first; neighbours of a kind are one."""
    merged: list[Piece] = []
    for piece in walk(said, sent):
        if merged and merged[-1].kind == piece.kind:
            merged[-1] = Piece(piece.kind, merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return merged


def walk(said: Any, sent: Any) -> Iterator[Piece]:
    """The pieces, not yet merged."""
    if isinstance(said, dict) and isinstance(sent, dict):
        yield from members(said, sent)
    elif isinstance(said, list) and isinstance(sent, list):
        yield from entries(said, sent)
    elif written(said) == written(sent):
        yield Piece(KEPT, written(said))
    elif isinstance(said, str) and isinstance(sent, str):
        yield Piece(KEPT, '"')
        yield from letters(said, sent)
        yield Piece(KEPT, '"')
    else:
        yield Piece(LOST, written(said))
        yield Piece(ADDED, written(sent))


def members(said: dict[str, Any], sent: dict[str, Any]) -> Iterator[Piece]:
    """Two objects, key by key."""
    yield Piece(KEPT, "{")
    for number, key in enumerate([*said, *(key for key in sent if key not in said)]):
        kind = KEPT if key in said and key in sent else LOST if key in said else ADDED
        yield Piece(kind, (", " if number else "") + written(key) + ": ")
        if kind == KEPT:
            yield from walk(said[key], sent[key])
        else:
            yield Piece(kind, written(said[key] if kind == LOST else sent[key]))
    yield Piece(KEPT, "}")


def entries(said: list[Any], sent: list[Any]) -> Iterator[Piece]:
    """Two lists: objects with an id by their ids, where both lists have the same ones, all else by place."""
    places = by_id(said, sent) or list(range(len(sent)))
    yield Piece(KEPT, "[")
    for number in range(max(len(said), len(sent))):
        kind = KEPT if number < len(said) and number < len(sent) else LOST if number < len(said) else ADDED
        yield Piece(kind, ", " if number else "")
        if kind == KEPT:
            yield from walk(said[number], sent[places[number]])
        else:
            yield Piece(kind, written(said[number] if kind == LOST else sent[number]))
    yield Piece(KEPT, "]")


def by_id(said: list[Any], sent: list[Any]) -> list[int] | None:
    """For each entry of the first list the place in the second of the one with its id; None where ids do not tell."""
    ids = [[str(entry.get("id", "")) if isinstance(entry, dict) else "" for entry in one] for one in (said, sent)]
    if "" in ids[0] or sorted(ids[0]) != sorted(ids[1]) or len(set(ids[0])) < len(ids[0]):
        return None
    return [ids[1].index(one) for one in ids[0]]


def letters(said: str, sent: str) -> Iterator[Piece]:
    """Two texts, character by character; of long ones, what stands between what they share at both ends."""
    if max(len(said), len(sent)) <= COMPARED:
        blocks = [tuple(block) for block in SequenceMatcher(None, said, sent, autojunk=False).get_matching_blocks()]
    else:
        front = shared_front(said, sent)
        back = shared_front(said[front:][::-1], sent[front:][::-1])
        blocks = [(0, 0, front), (len(said) - back, len(sent) - back, back)]
    at, to = 0, 0
    for one, other, size in blocks:
        yield Piece(LOST, said[at:one])
        yield Piece(ADDED, sent[to:other])
        yield Piece(KEPT, said[one : one + size])
        at, to = one + size, other + size


def shared_front(one: str, other: str) -> int:
    """How many characters two texts share in front."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def same_meaning(said: Any, sent: Any) -> bool:
    """Whether two texts are the same JSON value in other bytes."""
    if not isinstance(said, str) or not isinstance(sent, str) or said == sent:
        return False
    try:
        return bool(parse(said) == parse(sent))
    except (ValueError, RecursionError):
        return False


def written(value: Any) -> str:
    """A value as JSON text for reading."""
    return json.dumps(value, ensure_ascii=False)
