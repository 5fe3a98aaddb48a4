"""What can be found: the classes of difference, how grave each is, and the finding that names one place."""

from dataclasses import dataclass
from typing import Any

INFO, NOTICE, SERIOUS = "info", "notice", "serious"
SEVERITIES = (INFO, NOTICE, SERIOUS)

CLASSES: dict[str, tuple[str, str]] = {
    "lost-field": (NOTICE, "what the model sent does not come back to it"),
    "added-field": (NOTICE, "the model gets something that nobody said"),
    "renamed-parameter": (NOTICE, "the same value under another name: a server that knows one name ignores the other"),
    "re-serialised": (INFO, "same meaning, other bytes: a prefix cache breaks at the first byte that differs"),
    "changed-value": (NOTICE, "the model, or the tool, gets another value than was sent"),
    "reordered": (NOTICE, "the order of calls or results is not the order in which they were made"),
    "unanswered-call": (SERIOUS, "no tool message answers the call: most providers refuse the next turn"),
    "orphan-result": (SERIOUS, "a tool message answers no call of its turn: most providers refuse it"),
    "answered-twice": (SERIOUS, "more than one tool message for one call: most providers refuse it"),
    "swapped-results": (SERIOUS, "a result stands under the id of another call: the model reads the wrong one"),
    "executed-n-times": (SERIOUS, "the tool ran more often than it was called: its effects happen again"),
    "executed-despite-cut-off": (SERIOUS, "a tool ran on a turn that was cut off: on half of what was meant"),
    "dropped-call": (SERIOUS, "the call is gone from the history: the model never asked, as far as it can see"),
    "invented-id": (NOTICE, "the call had no id, so one was made up for it and for its result"),
    "stop-reason": (NOTICE, "the lanes ended for different reasons"),
    "extra-attempt": (NOTICE, "the same request went out again: an HTTP retry that costs time and perhaps money"),
    "other-endpoint": (NOTICE, "a request went somewhere other than /chat/completions"),
    "claim-differs": (SERIOUS, "what the lane says happened is not what crossed the wire"),
    "unused-reply": (NOTICE, "the script has a reply that nobody asked for: the run ended early"),
    "beyond-script": (NOTICE, "a request came after the script's last reply: the run went on too long"),
    "error-wording": (INFO, "the same failure is told to the model in other words"),
    "would-be-refused": (SERIOUS, "a provider with this rule refuses the request"),
}
"""Each class with its severity and what it leads to, in the words of the report."""

OF_ENVELOPE = {
    "lost-field": "the request leaves out what the lane was given",
    "added-field": "the request holds what nobody asked for",
}
"""What these classes lead to where they speak of what a request carries beside its messages."""

BETWEEN_LANES = ("stop-reason", "error-wording")
"""Classes that speak of one lane against another. Nobody expects them: they depend on which lanes are compared."""


@dataclass(frozen=True)
class Finding:
    """One difference: its class, the lane, the place, and the two values.

    `path` is a JSON path into the conversation (`messages[2].content`), or names what it is about (`stop`, `reply 2`).
    `request` is the number of the model request that shows it, or None. `offset` counts bytes into the text at
    `path`, up to the first that differs.
    """

    kind: str
    lane: str
    path: str
    request: int | None = None
    expected: Any = None
    found: Any = None
    note: str = ""
    rule: str = ""
    offset: int | None = None
    severity: str = ""

    def __post_init__(self) -> None:
        if self.kind not in CLASSES:
            raise ValueError(f"{self.kind!r} is no class of findings")
        if not self.severity:
            object.__setattr__(self, "severity", CLASSES[self.kind][0])

    @property
    def key(self) -> str:
        """The finding as a scenario's expectation names it: class, place, and the rule where there is one."""
        return " ".join(part for part in (self.kind, self.path, self.rule) if part)

    @property
    def consequence(self) -> str:
        """What it leads to."""
        if self.kind in OF_ENVELOPE and not self.path.startswith(("messages[", "executed ")):
            return OF_ENVELOPE[self.kind]
        return CLASSES[self.kind][1]


def meaning(kind: str) -> str:
    """What a class leads to, wherever it is found."""
    beside = f"; beside the messages: {OF_ENVELOPE[kind]}" if kind in OF_ENVELOPE else ""
    return CLASSES[kind][1] + beside
