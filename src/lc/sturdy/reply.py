"""A reply as it comes in, piece by piece, and the turn that it makes: no input or output of its own."""

from typing import Any

from lc.sturdy.wire import Turn
from protocol import Assembly, SseReader, read_json, read_reply


class Reply:
    """What has come of one reply: `feed` it the bytes of the body, then take the turn from `end`."""

    def __init__(self, streamed: bool) -> None:
        self._streamed = streamed
        self._body: list[bytes] = []
        self._reader, self._assembly = SseReader(), Assembly()
        self._told = 0

    @property
    def begun(self) -> bool:
        """Whether any of a stream is there, so that the request must not be sent again."""
        return self._streamed and bool(self._body)

    @property
    def done(self) -> bool:
        """Whether nothing that comes still matters: [DONE] is there."""
        return self._streamed and self._assembly.done

    @property
    def whole(self) -> bool:
        """Whether the message is there, though the body may not have come to its end."""
        return self._streamed and self._assembly.whole

    def feed(self, data: bytes) -> str:
        """Take in a piece of the body; returns the new text of the content. Raises BadReply."""
        if not self._streamed:
            self._body.append(data)
            return ""
        self._body = [data]
        for text in self._reader.feed(data):
            self._assembly.add(text)
        return self._news()

    def end(self, clean: bool = True) -> Turn:
        """The turn, when no more comes. Raises BadReply. `clean` says whether the body came to a proper end."""
        if not self._streamed:
            parsed: list[Any] = []

            def parse(text: str) -> Any:
                parsed.append(read_json(text))
                return parsed[0]

            message, finish_reason = read_reply(b"".join(self._body), parse)
            return Turn(message, finish_reason, parsed[0].get("usage"))
        if clean:
            for text in self._reader.end():
                self._assembly.add(text)
        made = self._assembly.finished()
        deviations = (*self._reader.deviations, *made.deviations)
        return Turn(made.message, made.finish_reason, made.usage, made.whole, deviations)

    def _news(self) -> str:
        pieces = self._assembly.content
        news = "".join(pieces[self._told :])
        self._told = len(pieces)
        return news
