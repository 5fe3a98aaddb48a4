"""What each of our lanes is known to do in every request, whatever the scenario: expected everywhere."""

ENVELOPE = {
    "lc": ("added-field stream", "lost-field tools"),
}
"""By lane: keys of findings about the envelope. ChatOpenAI sends `stream: false`; a tool made from a plain function
has no parameter descriptions and no additionalProperties."""


def always_expected(lane: str) -> tuple[str, ...]:
    """The findings that this lane gives in every scenario in which it sends a request."""
    return ENVELOPE.get(lane, ())
