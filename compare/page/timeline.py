"""A lane's time as a picture: when the model's server answered, when tools ran, which requests were retries."""

from typing import Any

from compare.page.markup import Markup, el
from compare.page.words import counted

WIDTH = 240
"""Units across; the picture is as wide as the page lets it be."""
HEIGHT = 16
LEAST = 1
"""Units that the shortest bar takes, so that it can be seen."""


def timeline(lane: dict[str, Any], times: dict[str, Any], scale: float) -> Markup:
    """One lane on a scale of so many seconds, and the same in words."""
    bars, model, again = [], 0.0, 0
    turns = [exchange["turn"] for exchange in lane["exchanges"]]
    for place, (came, answered) in enumerate(times["requests"][: len(turns)]):
        chunks = times["chunks"][place] if place < len(times["chunks"]) else []
        end = max([answered, *chunks])
        retry = turns[place] is not None and turns[place] in turns[:place]
        bars.append(bar("retry" if retry else "model", came, end, scale))
        model, again = model + end - came, again + retry
    bars += [bar("tool", start, start + seconds, scale) for start, seconds in tool_times(times)]
    words = (
        f"{lane['name']}: {milliseconds(times['seconds'])} in all, model {milliseconds(model)} "
        f"({counted(len(turns) - again, 'request')}, {again} {'retry' if again == 1 else 'retries'}), "
        f"tools {milliseconds(sum(times['tools']))} ({len(times['tools'])})"
    )
    view = f"0 0 {WIDTH} {HEIGHT}"
    picture = el("svg", {"class": "tl", "viewBox": view, "preserveAspectRatio": "none", "aria-hidden": "true"}, *bars)
    return el("div", None, el("p", None, words), picture)


def tool_times(times: dict[str, Any]) -> list[tuple[float, float]]:
    """Each use of a tool: from when at the earliest, and how long; uses behind one reply stand in a row."""
    out: list[tuple[float, float]] = []
    at: dict[int, float] = {}
    for after, seconds in zip(times["tools_after"], times["tools"], strict=False):
        answered = times["requests"][after - 1][1] if 0 < after <= len(times["requests"]) else 0.0
        start = at.get(after, answered)
        out.append((start, seconds))
        at[after] = start + seconds
    return out


def bar(kind: str, start: float, end: float, scale: float) -> Markup:
    """One bar."""
    x, width = round(start / scale * WIDTH), round((end - start) / scale * WIDTH)
    return el(
        "rect",
        {"class": kind, "x": x, "width": max(width, LEAST), "height": HEIGHT},
    )


def scale_of(runs: list[dict[str, Any]]) -> float:
    """The seconds of the longest of some runs: what all of them are drawn on."""
    ends = [
        end
        for run in runs
        for end in (
            run["seconds"],
            *(pair[1] for pair in run["requests"]),
            *(at for one in run["chunks"] for at in one),
        )
    ]
    return float(max([*ends, 1e-6]))


def milliseconds(seconds: float) -> str:
    """Seconds for reading."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.1f} ms"
