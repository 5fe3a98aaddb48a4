"""What a terminal may be shown: text in which every character that acts or hides is named."""

import re
import unicodedata
from itertools import accumulate

MARKS_KEPT = 4  # Vietnamese and Hebrew need up to three on one letter; a pile of more climbs into other lines
ELLIPSIS = "…"

# Cc acts, Cf, Zl and Zp hide or reorder, Cs cannot be encoded, Cn and Co have no width that all agree on.
_NAMED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})

# Of other categories, and yet blank, or changing the width of what is before them in some terminals only.
_NAMED_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # joiner, fillers, Mongolian selectors
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variation selectors
    "\U0001f3fb-\U0001f3ff]"  # skin tones
)

# Conjoining vowels and finals of Hangul are letters to Unicode, and take no cell of their own.
_JOINING_LETTERS = re.compile("[\u1161-\u11ff\ud7b0-\ud7fb]")

_UNITS = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩|.", re.DOTALL)


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """`text` made safe for a terminal, in one line unless `keep_newlines`.

    C0 controls and DEL become their control pictures (tab is `␉`, newline `␊`). Other controls, format
    characters (bidi, zero-width, tags), line and paragraph separators, lone surrogates, private and
    unassigned code points and blank fillers become `⟨U+202E⟩`; so do marks without a letter before them, and
    each mark after the fourth on one letter. The result can be encoded as UTF-8, and a second pass changes
    nothing.

    It is for reading: a stand-in that was in the data looks like one of ours, so evidence is kept as bytes,
    elsewhere. Which code points are assigned is as this Python's `unicodedata` has it.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = MARKS_KEPT  # a mark at the start of a line would sit on what is outside of the text
    for character in text:
        if character == "\n" and keep_newlines:
            marks = MARKS_KEPT
            shown.append(character)
        elif _is_named(character):
            marks = 0
            shown.append(_stand_in(character))
        elif _is_mark(character):
            marks += 1
            shown.append(character if marks <= MARKS_KEPT else _stand_in(character))
        else:
            marks = 0
            shown.append(character)
    return "".join(shown)


def shorten(text: str, width: int) -> str:
    """`visible(text)` in at most `width` terminal cells, the last one an ellipsis when something was cut.

    Never cuts between a letter and its marks, nor inside a stand-in. A width below 1 gives the empty text.
    """
    from rich.cells import cell_len  # here, so that `visible` alone stays cheap to import

    text = visible(text)
    if cell_len(text) <= width:
        return text
    if width < 1:
        return ""
    units = _UNITS.findall(text)
    ends = accumulate(cell_len(unit) for unit in units)
    fitting = sum(1 for end in ends if end < width)
    return "".join(units[:fitting]) + ELLIPSIS


def _is_named(character: str) -> bool:
    return unicodedata.category(character) in _NAMED_CATEGORIES or bool(_NAMED_CHARACTERS.match(character))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or bool(_JOINING_LETTERS.match(character))


def _stand_in(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
