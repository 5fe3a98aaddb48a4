"""The small parts that every view of the page is made of: texts that fold, values, differences, marks."""

from collections.abc import Sequence
from typing import Any

from compare.page.fate import ADDED, KEPT, LOST, Piece, fate, same_meaning, written
from compare.page.markup import Markup, el, join

LONGEST = 400
"""Characters of one text that are shown at once; what is behind them is folded away."""
FOLDED = 400
"""Characters of a folded part that the page holds. The raw view has every byte."""
SIGNS = {"same": "=", "equivalent": "≈", "different": "≠"}
AROUND = 20
"""Characters that are shown on each side of a difference."""
COLOURS = 6
FIRST = "c1"


def folded(value: str, longest: int = LONGEST) -> Markup:
    """A text; a long one with its rest behind a summary, and of a very long rest only the beginning."""
    if len(value) <= longest:
        return join(value)
    rest = value[longest : longest + FOLDED]
    left = len(value) - longest - len(rest)
    ends = f" … {left} more characters: see the raw view" if left else ""
    return join(value[:longest], "… ", el("details", None, el("summary", None, f"{len(value)} characters"), rest, ends))


def chip(sign: str) -> Markup:
    """The mark of a call: its sign, and its colour, the same wherever it stands."""
    return el("i", coloured(sign), sign)


def colour(sign: str) -> str:
    """The class that colours a call's mark and thread: a help for the eye, never the only sign."""
    if len(sign) == 1 and "①" <= sign <= "⑳":
        return f"c{(ord(sign) - ord('①')) % COLOURS + 1}"
    digits = sign.strip("()")
    return f"c{(int(digits) - 1) % COLOURS + 1}" if digits.isascii() and digits.isdigit() else "c0"


def coloured(sign: str, more: str = "") -> dict[str, str]:
    """The attributes for that colour; the first colour is everyone's who has none."""
    classes = " ".join(name for name in (colour(sign), more) if name and name != FIRST)
    return {"class": classes} if classes else {}


def pieces(parts: Sequence[Piece]) -> Markup:
    """Parts of a value: what was lost struck out, what was added underlined, and both named for who cannot see it."""
    tags = {LOST: "del", ADDED: "ins"}
    last = len(parts) - 1
    return join(
        *(
            around(part.text, at > 0, at < last) if part.kind == KEPT else el(tags[part.kind], None, folded(part.text))
            for at, part in enumerate(parts)
        )
    )


def around(value: str, behind: bool, ahead: bool) -> str:
    """A text that was kept, in short: of what stands behind one difference and ahead of another, the nearest part."""
    if len(value) <= 3 * AROUND:
        return value
    return (value[:AROUND] if behind else "") + " … " + (value[-AROUND:] if ahead else "")


def difference(expected: Any, found: Any) -> Markup:
    """Two values: letter by letter where both are texts, else one and then the other."""
    if isinstance(expected, str) and isinstance(found, str):
        label = el("small", None, "other bytes, same value ") if same_meaning(expected, found) else Markup()
        return join(label, el("code", None, pieces(fate(expected, found))))
    return join(value_shown(expected), " → ", value_shown(found))


def value_shown(value: Any) -> Markup:
    """A value as JSON, and no value as a word."""
    return Markup("nothing") if value is None else el("code", None, folded(written(value)))


def counted(number: int, word: str) -> str:
    """A count with its noun."""
    return f"{number} {word}" + ("" if number == 1 else "s")
