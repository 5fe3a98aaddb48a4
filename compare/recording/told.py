"""What is said of a replay, and of what a recording lacks."""

from collections.abc import Iterator, Sequence

from compare.recording.load import Recording
from compare.recording.replay import Miss, Replay
from compare.report import plainly
from compare.visible import visible
from protocol import encode_json

MOST_DIFFERENCES = 5
MOST_CHARACTERS = 100


def told_of(recording: Recording) -> Iterator[str]:
    """What is missing, a line each."""
    for missing in recording.missing:
        yield visible(f"{recording.path}: missing is {missing}")


def told(replays: Sequence[Replay]) -> Iterator[str]:
    """How each lane did, a line each, and a line for each place where a request without a match differs."""
    for one in replays:
        if one.agrees:
            yield visible(f"replay: {one.lane} did what was recorded of {one.source}, and ended with {one.observed}")
        for miss in one.misses:
            yield from told_of_miss(one, miss)
        if one.unused and not one.misses:
            numbers = ", ".join(map(str, one.unused))
            yield visible(f"replay: {one.lane} never sent what is recorded of {one.source} as request {numbers}")
        if one.recorded not in (None, one.observed):
            yield visible(f"replay: {one.lane} ended with {one.observed}, but with {one.recorded} when it was recorded")


def told_of_miss(one: Replay, miss: Miss) -> Iterator[str]:
    """A request that no recorded one is left for."""
    what = f"replay: {one.lane}: request {miss.request} means what no recorded one of {one.source} does that is left"
    if miss.nearest is None:
        yield visible(f"{what}: all of them are used up, or there is none")
        return
    yield visible(f"{what}; the nearest is request {miss.nearest}, which differs at:")
    for difference in miss.differences[:MOST_DIFFERENCES]:
        values = f"recorded {shown(difference.expected)}, sent {shown(difference.found)}"
        yield visible(f"  {difference.path}: {values}")
    if len(miss.differences) > MOST_DIFFERENCES:
        yield f"  and at {len(miss.differences) - MOST_DIFFERENCES} more"


def shown(value: object) -> str:
    """A value as JSON, shortened."""
    text = encode_json(plainly(value)).decode()
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
