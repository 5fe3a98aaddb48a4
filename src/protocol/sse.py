"""How bytes become the data texts of Server-Sent Events, whatever pieces they come in."""

from protocol.text import is_json

BOM = b"\xef\xbb\xbf"
DONE = "[DONE]"
"""The data text behind which a Chat Completions stream has nothing more to say."""


class SseReader:
    """The WHATWG's event stream format (HTML Standard, 9.2.6), as far as Chat Completions uses it.

    A line ends at LF, CR or CRLF and nowhere else; a blank line ends an event; the data lines of an event are joined
    by LF; comments and other fields say nothing here. A body that starts with `{` is no event stream but JSON, and
    counts as the data text of one event. Bytes that are no UTF-8 come out as lone surrogates, which no UTF-8 can
    spell, so that whoever reads the text can refuse it.

    Where the standard gives up the last event of a stream without its blank line, this reader takes it: many servers
    end at `data: [DONE]`. `deviations` names what had to be forgiven, in words of `protocol.DEVIATIONS`.
    """

    def __init__(self) -> None:
        self.deviations: tuple[str, ...] = ()
        self._plain: bool | None = None  # None until the first byte that tells
        self._rest: list[bytes] = []  # pieces of a line whose end has not come
        self._data: list[bytes] = []  # the data lines of the event that is open
        self._after_cr = False

    def feed(self, data: bytes) -> list[str]:
        """The data texts of the events that these bytes complete."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]  # the second half of a CRLF that was cut in two
        self._after_cr = data.endswith(b"\r")
        self._rest.append(data)
        if self._plain is None:
            self._look()
        if self._plain is not False or (b"\n" not in data and b"\r" not in data):
            return []
        block = b"".join(self._rest)
        lines = block.splitlines()  # of bytes: at LF, CR and CRLF alone
        self._rest = [] if block.endswith((b"\n", b"\r")) else [lines.pop()]
        return self._take(lines)

    def end(self) -> list[str]:
        """The data texts of what still stood open when the stream came to a clean end.

        A last event without its blank line counts. A last data line without its line end counts when it is [DONE] or
        a JSON object, because no beginning of an object is an object itself; else it is half a line, and is dropped.
        Not to be called for a stream that broke: there even a whole line may be half of an event.
        """
        last = b"".join(self._rest)
        self._rest = []
        if self._plain:
            return [decoded(last)]
        if last:
            text = decoded(value_of(last)) if last.startswith(b"data:") else ""
            whole = text.strip() == DONE or (text.lstrip().startswith("{") and is_json(text))
            self.deviations += ("line-without-end",) if whole else ("half-line",)
            if whole:
                self._data.append(value_of(last))
        if not self._data:
            return []
        if "line-without-end" not in self.deviations:
            self.deviations += ("event-without-blank-line",)
        return self._take([b""])

    def _look(self) -> None:
        """Tell an event stream from a plain JSON body by its first byte behind a byte order mark and white space."""
        head = b"".join(self._rest).removeprefix(BOM)
        first = head.lstrip(b" \t\r\n")
        if first and not BOM.startswith(first):
            self._plain = first.startswith(b"{")
            self._rest = [head]

    def _take(self, lines: list[bytes]) -> list[str]:
        texts = []
        for line in lines:
            if line.startswith(b"data:") or line == b"data":
                self._data.append(value_of(line))
            elif not line and self._data:
                texts.append(decoded(b"\n".join(self._data)))
                self._data = []
        return texts


def value_of(line: bytes) -> bytes:
    """What stands behind the colon of a field, without the one blank that may follow it."""
    return line.partition(b":")[2].removeprefix(b" ")


def decoded(data: bytes) -> str:
    """The text of the bytes; what is no UTF-8 in them becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")
