"""The conversation so far, as messages and as the bytes of the next request, each message encoded once."""

from collections.abc import Iterable

from protocol import Message, encode_json
from toolbox.tool import Tool


class History:
    """A growing list of messages and, beside it, the request body that they make.

    `messages` comes last in the body, so that each request is the one before it with more at the end: nothing is
    encoded twice, and a server's prefix cache finds the old prompt again.
    """

    def __init__(self, model: str, tools: Iterable[Tool], messages: Iterable[Message], stream: bool = False) -> None:
        schemas = [tool.schema() for tool in tools]
        # Providers refuse an empty tools list, so without tools the key stays away.
        streamed = {"stream": True} if stream else {}
        head = {"model": model, **streamed, **({"tools": schemas} if schemas else {}), "messages": []}
        self.messages: list[Message] = []
        self._body = bytearray(encode_json(head)[:-2])
        for message in messages:
            self.add(message)

    def add(self, message: Message) -> None:
        """Put a message at the end."""
        if self.messages:
            self._body += b","
        self._body += encode_json(message)
        self.messages.append(message)

    def request(self) -> bytes:
        """The body of a request that sends all messages so far."""
        return b"".join((self._body, b"]}"))
