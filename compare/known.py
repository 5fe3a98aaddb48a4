"""What each of our lanes is known to do in every request, whatever the scenario: expected everywhere."""

from compare.modes import PLAIN, STREAM

ENVELOPE = {
    ("lc", PLAIN): ("added-field stream", "lost-field tools"),
    ("lc", STREAM): ("lost-field tools",),
    ("lc.prebuilt", PLAIN): ("added-field stream", "lost-field tools"),
    ("lc.prebuilt", STREAM): ("lost-field tools",),
}
"""By lane and mode: keys of findings about the envelope. ChatOpenAI sends `stream: false` where it does not stream; a
tool made from a plain function has no parameter descriptions and no additionalProperties."""


def always_expected(lane: str, stream: bool = False) -> tuple[str, ...]:
    """The findings that this lane gives in every scenario in which it sends a request."""
    return ENVELOPE.get((lane, STREAM if stream else PLAIN), ())
