"""The header fields whose values are written down; of any other only the name is, because it may hold a key."""

import re
from collections.abc import Iterable

from compare.secrets import MASK

ALLOWED = re.compile(
    r"accept|accept-encoding|accept-language|connection|content-length|content-type|retry-after(-ms)?|"
    r"transfer-encoding|user-agent|x-request-id|x-should-retry|x-stainless-[a-z-]+|(x-)?ratelimit-[a-z-]+",
    re.IGNORECASE,
)
Headers = tuple[tuple[str, str], ...]


def allowed(headers: Iterable[tuple[str, str]]) -> Headers:
    """The header fields with MASK as the value of each that is not allowed."""
    return tuple((name, value if ALLOWED.fullmatch(name) else MASK) for name, value in headers)


def sendable(headers: Iterable[tuple[str, str]]) -> Headers:
    """The fields of a recorded reply that may go out again: none that was masked, or that is the server's to add."""
    framing = ("connection", "content-length", "transfer-encoding")
    return tuple((name, value) for name, value in allowed(headers) if value != MASK and name.lower() not in framing)
