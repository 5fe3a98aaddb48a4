"""Which conversation each request to one server belongs to, where a client holds several."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compare.body import Bodies
from compare.comparison import enforced_or_not
from compare.diff import shared
from compare.heard import heard, heard_to_the_end
from compare.replies import Reply
from compare.server import Backend, Exchange, Request
from compare.turns import ids_of
from protocol.profile import Profile


@dataclass
class Talk:
    """One conversation: its last request by number and messages, the ids of all calls in it, the replies given."""

    number: int
    last: int = 0
    messages: list[Any] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    given: int = 0

    def counted(self, backend: Backend) -> Backend:
        """The backend, counting its replies."""

        def answer(request: Request) -> Reply:
            self.given += 1
            return backend(request)

        return answer


class Conversations:
    """Tells the conversations on one server apart, and answers each with a backend of its own, made by `make`.

    A request belongs to the conversation whose failed request it repeats, or whose last request's messages it extends.
    One that does neither, and yet names a call of a conversation, goes on from that one: its history was rewritten.
    Any other begins a new one. Where several fit, the one with most messages in common counts, or the latest.

    `exchanges` is to be set to those of the server. `places` maps the number of a request to its conversation and to
    the number of its reply there, 0 where an enforced profile refused it.
    """

    def __init__(self, make: Callable[[], Backend], enforced: Profile | None = None) -> None:
        self.exchanges: Sequence[Exchange] = ()
        self.places: dict[int, tuple[int, int]] = {}
        self._make, self._enforced = make, enforced
        self._talks: list[tuple[Talk, Backend]] = []

    def answer(self, request: Request) -> Reply:
        """The reply to one request; this is the backend of the server."""
        messages = request.body.messages()
        talk, backend = self._found(messages) or self._begun()
        given = talk.given
        reply = backend(request)
        talk.last, talk.messages = request.number, messages
        talk.ids |= ids_of(heard_to_the_end(request, reply).message)
        self.places[request.number] = talk.number, talk.given if talk.given > given else 0
        return reply

    def _begun(self) -> tuple[Talk, Backend]:
        talk = Talk(len(self._talks) + 1)
        self._talks.append((talk, enforced_or_not(talk.counted(self._make()), self._enforced)))
        return self._talks[-1]

    def _found(self, messages: list[Any]) -> tuple[Talk, Backend] | None:
        latest = sorted(self._talks, key=lambda pair: pair[0].last, reverse=True)
        common = {talk.number: shared(messages, talk.messages) for talk, _ in latest}
        named = {one for message in messages for one in named_by(message)}
        held = [pair for pair in latest if common[pair[0].number] == len(pair[0].messages)]
        longer = [pair for pair in held if len(pair[0].messages) < len(messages)]
        again = [pair for pair in held if pair not in longer and self._failed(pair[0])]

        def nearest(pairs: list[tuple[Talk, Backend]]) -> list[tuple[Talk, Backend]]:
            """The one with most messages in common, if there is one; of equal ones, the latest."""
            return sorted(pairs, key=lambda pair: common[pair[0].number], reverse=True)[:1]

        fitting = nearest(longer) + nearest(again)
        if not fitting:
            fitting = nearest([pair for pair in latest if named & pair[0].ids])
        return max(fitting, key=lambda pair: pair[0].last, default=None)

    def _failed(self, talk: Talk) -> bool:
        """Whether the last request of a conversation was left without a whole reply."""
        came = heard(self.exchanges[talk.last - 1])
        return came.message is None or came.stop != ""

    def exchanges_of_each(self) -> list[list[Exchange]]:
        """The exchanges of each conversation; one without any where there was no request.

        A request that was not for the model goes with the one before it.
        """
        groups: list[list[Exchange]] = [[] for _ in self._talks] or [[]]
        number = 1
        for exchange in self.exchanges:
            number, _ = self.places.get(exchange.request.number, (number, 0))
            groups[number - 1].append(exchange)
        return groups if len(groups) == 1 else [list(anew(group)) for group in groups]


def named_by(message: Any) -> set[str]:
    """The ids of the calls that a message makes or answers."""
    answered = message.get("tool_call_id") if isinstance(message, dict) else None
    return ids_of(message) | ({answered} if isinstance(answered, str) else set())


def anew(exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    """The exchanges as a server of their own would have kept them: numbered from 1, each body after the one before."""
    bodies = Bodies()
    for number, exchange in enumerate(exchanges, start=1):
        request = exchange.request
        body = bodies.read(request.body.raw()) if exchange.for_model else request.body
        yield replace(exchange, request=replace(request, number=number, body=body))
