"""Which arithmetic expressions stand in a text."""

import re
from collections.abc import Iterator

_TO_ASCII = str.maketrans("０１２３４５６７８９（）＋－＊／．％＾×÷−", "0123456789()+-*/.%^*/-")
_NUMBER = r"(?<!\d:)(?:(?:\d{1,3}(?:,\d{3}){1,20}(?!,?\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w|\.\d|:\d)"
_OPERATOR = r"(?:\*\*|//|[-+*/^]|(?<=\s)%|%(?=[ \t]*[\d(.]))"  # 50% is no division
# All repetitions are bounded or end where a word ends: no prompt takes time by the square of its length.
_FIRST = rf"(?:[-+]|\([ \t]*){{0,20}}+{_NUMBER}(?:[ \t]*\)){{0,20}}"  # "- 1 + 1" is an item of a list
_TERM = rf"(?:[-+(][ \t]*){{0,20}}+{_NUMBER}(?:[ \t]*\)){{0,20}}"
# A neighbour that makes it algebra or a name: x + 1 + 1, GPT-4 + 1, f(2 + 3), 2 + 3 * x, 2 + 3 + 4x, 7 - 50%.
# In "the sum - 1 + 1" and "1 + 1 - what is it?" the operator is a dash, because a longer word stands there.
_LEFT = r"(?<![\w.])(?:[\w.]+[-+*/%^(]+|[A-Za-z][ \t]+[-+*/%^]+[ \t]+)"
_RIGHT = r"%|[-+*/%^(]*\w|[ \t]*[-+*/%^]+[ \t]*(?:\d|[A-Za-z]\b)"
_EXPRESSION = re.compile(
    rf"(?P<left>{_LEFT})??(?<![\w.])"
    rf"(?P<sum>(?>{_FIRST}(?:(?:[ \t]*{_OPERATOR}[ \t]*|(?=\()){_TERM})+))(?P<right>{_RIGHT})?",
    re.ASCII,
)
_DATE = re.compile(r"\b(?:\d{4}([-/])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2\d{4})\b", re.ASCII)
_SLASHED = re.compile(r"\d+/\d+", re.ASCII)
_QUESTION = re.compile(r"=|\b(?:what|how much|compute|calculate|divide|evaluate)\b|算|等于|多少|几", re.IGNORECASE)


def expressions(text: str) -> Iterator[tuple[int, str]]:
    """The arithmetic expressions in a text, with their places, in the calculator's signs.

    ×, ÷, ^ and full-width signs become ASCII, and 1,000 becomes 1000. Dates are no expressions, neither are
    single numbers, what has a name in it (x + 1, f(2 + 3), GPT-4), and 24/7 among words that ask for no sum.
    """
    is_prose = re.search(r"[^\W\d_]", text) and not _QUESTION.search(text)
    for match in _EXPRESSION.finditer(text.translate(_TO_ASCII)):
        written = _balanced(match["sum"])
        is_phrase = _DATE.search(written) or (is_prose and _SLASHED.fullmatch(written))
        if written and not (match["left"] or match["right"] or is_phrase):
            product = re.sub(r"(?<=[\d.)])\(", "*(", written)
            yield match.start("sum"), product.replace(",", "").replace("^", "**")


def _balanced(text: str) -> str:
    """The text without the brackets at its ends that have no partner in it; empty when others have none."""
    while text.startswith("(") and text.count("(") > text.count(")"):
        text = text[1:].lstrip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    depth = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return ""
    return text if depth == 0 else ""
