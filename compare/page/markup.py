"""How HTML is written: elements built from values, in which every text is escaped and made visible."""

import html
import re
from collections.abc import Mapping

from compare.visible import visible

Attributes = Mapping[str, str | int]
PLAIN = re.compile(r"[A-Za-z0-9_,:.#-]+")
"""Values of attributes that need no quotation marks."""
VOID = {"meta", "br", "input"}
OPEN_ENDED = {"p", "li", "td", "th", "tr", "dt", "dd"}
"""Elements whose end tag HTML lets us leave out, because only their like, a block or the parent's end follows."""
GRAPHICS = {"path", "rect"}
"""Elements of SVG without content, which close themselves."""
ALLOWED = {
    *(
        "a",
        "b",
        "body",
        "br",
        "button",
        "code",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "h1",
        "h2",
        "h3",
        "h4",
        "head",
    ),
    *("header", "html", "i", "input", "ins", "kbd", "label", "li", "main", "mark", "meta", "nav", "noscript", "ol"),
    *("option", "p", "path", "pre", "q", "rect", "script", "section", "select", "small", "span", "style", "summary"),
    *("svg", "marker", "table", "tbody", "td", "th", "thead", "title", "tr", "u", "ul"),
}


class Markup(str):
    """Text that is HTML already. Only this module makes it, from what it has escaped."""

    __slots__ = ()


def text(value: str) -> Markup:
    """A text as it may stand between tags: what acts or hides is named, and nothing in it is markup."""
    return Markup(html.escape(visible(value, keep_newlines=True), quote=False))


def join(*parts: str, between: str = "") -> Markup:
    """Parts in a row; those that are not Markup are escaped."""
    return Markup(text(between).join(part if isinstance(part, Markup) else text(part) for part in parts))


def el(name: str, attributes: Attributes | None = None, *children: str) -> Markup:
    """An element. Children that are not Markup are escaped; so is every attribute's value.

    An address leads into this page and nowhere else, and no attribute holds style or script. Raises ValueError.
    """
    if name not in ALLOWED:
        raise ValueError(f"{name} is no element of ours")
    head = "".join(attribute(key, value) for key, value in (attributes or {}).items())
    if name == "p" and any("<details" in child for child in children if isinstance(child, Markup)):
        name = "div"  # a paragraph would end in front of what folds
    if name in GRAPHICS:
        return Markup(f"<{name}{head} />")
    if name in VOID:
        return Markup(f"<{name}{head}>")
    body = join(*children)
    if name == "pre" and body.startswith("\n"):
        body = Markup("\n" + body)  # the parser takes the first newline away
    return Markup(f"<{name}{head}>{body}" + ("" if name in OPEN_ENDED else f"</{name}>"))


def attribute(name: str, value: str | int) -> str:
    """One attribute, with a blank in front; without quotation marks where it needs none, and empty for no value."""
    if name == "style" or name.startswith("on") or name in ("src", "srcset", "action", "formaction", "srcdoc"):
        raise ValueError(f"{name} is no attribute of ours")
    shown = visible(str(value), keep_newlines=True)
    if name == "href" and not shown.startswith("#"):
        raise ValueError("an address leads into the page only")
    if not shown:
        return f" {name}"
    return f" {name}={shown}" if PLAIN.fullmatch(shown) else f' {name}="{html.escape(shown)}"'


def source(name: str, code: str, attributes: Attributes | None = None) -> Markup:
    """A style or a script of our own, whose text HTML does not escape. Raises ValueError where it would end early."""
    if name not in ("style", "script") or "</" in code or "<!--" in code:
        raise ValueError(f"this cannot stand in a {name}")
    head = "".join(attribute(key, value) for key, value in (attributes or {}).items())
    return Markup(f"<{name}{head}>{code}</{name}>")
