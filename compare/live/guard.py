"""The key kept from the lanes: an endpoint that tells it back, as some do in errors, is not quoted with it."""

import re

from compare.secrets import MASK, SHORTEST, patterns_of


class Guard:
    """Puts MASK in the place of the key in one reply, which comes in pieces.

    A piece that ends with a beginning of the key is kept back as far as that, so that no border cuts the key in two.
    Nothing else of the reply is changed, though it may look like a token: it is what the model said.
    """

    def __init__(self, key: str) -> None:
        secret = len(key) >= SHORTEST
        self._key = key.encode() if secret else b""
        self._patterns = [re.compile(pattern) for pattern in patterns_of(key)] if secret else []
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """What can be passed on behind this piece."""
        data = self._masked(self._kept + data)
        size = next((n for n in range(min(len(self._key) - 1, len(data)), 0, -1) if self._key.startswith(data[-n:])), 0)
        self._kept = data[len(data) - size :]
        return data[: len(data) - size]

    def end(self) -> bytes:
        """What was kept back, when nothing follows."""
        kept, self._kept = self._kept, b""
        return kept

    def whole(self, text: str) -> str:
        """A text without the key."""
        return self._masked(text.encode()).decode()

    def _masked(self, data: bytes) -> bytes:
        for pattern in self._patterns:
            data = pattern.sub(MASK.encode(), data)
        return data
