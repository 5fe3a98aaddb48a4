"""The two modes of a request, and what one lane does otherwise in one of them than in the other."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compare.findings import BETWEEN_LANES, INFO
from compare.replies import compact

if TYPE_CHECKING:
    from compare.judge import Judged

PLAIN, STREAM = "plain", "stream"
MODES = (PLAIN, STREAM)


@dataclass(frozen=True)
class Across:
    """One lane on one scenario in both modes: how it ended, what ran, and the findings of one mode alone.

    What ran is a list of calls as text, `name({...})`, in order; a use that comes twice stands there twice.
    """

    name: str
    lane: str
    stops: tuple[str, str]
    ran: tuple[list[str], list[str]]
    only: tuple[list[str], list[str]]

    @property
    def differs(self) -> bool:
        """Whether the mode decides what the lane does."""
        return self.stops[0] != self.stops[1] or self.ran[0] != self.ran[1] or self.only[0] != self.only[1]


def across(name: str, plain: "Judged", stream: "Judged") -> Across:
    """Compare a lane with itself."""
    sides = (plain, stream)
    keys = [keys_of(side) for side in sides]
    only = [[key for key in mine if key not in other] for mine, other in (keys, keys[::-1])]
    return Across(
        name,
        plain.run.lane,
        (plain.observed, stream.observed),
        (ran(plain), ran(stream)),
        (only[0], only[1]),
    )


def keys_of(lane: "Judged") -> list[str]:
    """What was found in a lane that is more than cosmetic, and that does not speak of another lane."""
    return [one.key for one in lane.findings if one.severity != INFO and one.kind not in BETWEEN_LANES]


def ran(lane: "Judged") -> list[str]:
    """The uses of tools as text, in the order of the calls that asked for them."""
    return [f"{use.name}({compact(use.arguments)})" for call in lane.calls for use in call.executions]
