"""Which texts are sums: numbers, operators and brackets in an order that makes sense, short and shallow."""

import re

MAX_CHARACTERS = 10_000
MAX_PARTS = 1_000  # numbers, operators and brackets; a hundred terms are about 200
MAX_NESTING = 50
MAX_DIGITS = 4_000  # of an integer written out

_PART = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<operator>\*\*|//|[-+*/%])"
    r"|(?P<open>\()|(?P<close>\))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<other>[^ ])"
)


def at(offset: int) -> str:
    """The wording for a place in the text; columns count from 1, at the first sign that is no white space."""
    return f"at column {offset + 1}"


def check_syntax(expression: str) -> str:
    """The text without outer white space, and with plain spaces for the rest of it, when it is a sum.

    Checked here, before Python's own reader sees the text, because that reader takes exponential time or the
    whole C stack for some hostile texts, and reports them in words that change with its version.

    Raises SyntaxError for parts in the wrong order, ValueError for parts that are not supported and for too
    much text, parts, digits or nesting.
    """
    if len(expression) > MAX_CHARACTERS:
        raise ValueError(f"the expression has {len(expression):,} characters; at most {MAX_CHARACTERS:,}")
    # A sum may be broken over lines; one space for one sign keeps the columns.
    text = re.sub(r"[\t\n\r\f]", " ", expression).strip(" ")
    opened: list[int] = []
    wants_number = True
    for count, part in enumerate(_PART.finditer(text), start=1):
        if count > MAX_PARTS:
            raise ValueError(f"the expression has more than {MAX_PARTS:,} numbers, operators and brackets")
        wants_number = _next_state(part, wants_number, opened)
    if wants_number:
        raise SyntaxError(f"the expression ends where a number is expected, {at(len(text))}")
    if opened:
        raise SyntaxError(f"'(' is never closed, {at(opened[-1])}")
    return text


def _next_state(part: re.Match[str], wants_number: bool, opened: list[int]) -> bool:
    """Whether a number is expected after this part; `opened` holds the places of the open brackets."""
    kind, text, place = part.lastgroup, part.group(), at(part.start())
    if kind in ("name", "other"):
        raise ValueError(f"not supported: {_shown(text)}, {place}; only numbers, + - * / // % ** and brackets are")
    if wants_number:
        if kind == "number":
            if len(text) > MAX_DIGITS:
                raise ValueError(f"the number has more than {MAX_DIGITS:,} digits, {place}")
            return False
        if kind == "open":
            opened.append(part.start())
            if len(opened) > MAX_NESTING:
                raise ValueError(f"brackets are nested more than {MAX_NESTING} deep, {place}")
            return True
        if text in ("+", "-"):
            return True
        raise SyntaxError(f"a number is expected, not {text!r}, {place}")
    if kind == "operator":
        return True
    if kind == "close":
        if not opened:
            raise SyntaxError(f"')' has no '(', {place}")
        opened.pop()
        return False
    raise SyntaxError(f"an operator is expected, not {_shown(text)}, {place}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 20 else text[:20] + "…")
