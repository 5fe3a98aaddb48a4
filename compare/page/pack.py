"""What does not fit into a page as it is, packed: parts of HTML, each repeated text once, deflated, in base 85."""

import base64
import json
import re
import zlib
from collections.abc import Sequence

from compare.page.markup import Markup, source

REPEATED = re.compile(r"<(pre|code).*?</\1>", re.DOTALL)
SAFE = str.maketrans("<>&`", ",./:")
"""Characters of base 85 that mean something in HTML, and what stands for them."""
HOLE = "\x00"
"""Around the number of a repeated text. No part holds this character, because markup names it in texts."""


def pack(parts: Sequence[Markup | None]) -> Markup:
    """The parts, None where one is left out, in an element that is never run, for the page's script to unpack.

    It holds a list of two: the texts that parts have in common, and the parts, with the number of a text in its place,
    or no number where it is the next one that stands there first.
    """
    texts: dict[str, int] = {}

    def hole(found: re.Match[str]) -> str:
        known = texts.get(found[0])
        texts.setdefault(found[0], len(texts))
        return f"{HOLE}{'' if known is None else known}{HOLE}"

    holed = [part and REPEATED.sub(hole, part) for part in parts]
    data = zlib.compress(json.dumps([list(texts), holed], ensure_ascii=False).encode(), 9)
    return source("script", base85(data), {"type": "text/plain", "id": "pack", "data-size": len(data)})


def base85(data: bytes) -> str:
    """Four bytes in five characters: base64.b85encode, but for the characters that mean something in HTML."""
    return base64.b85encode(data, pad=True).decode().translate(SAFE)
