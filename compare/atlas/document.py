"""The atlas as data and as Markdown: the matrix, the versions, who was left out, and what changed between environments.

`atlas.schema.json` beside this file describes the form of the data.
"""

from collections.abc import Sequence
from typing import Any

from compare.atlas.changes import changes, gathered
from compare.visible import visible

VERSION = 1
NAMED = 5
"""Runs named beneath a change before the rest is counted."""


def document(surveys: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The whole atlas, from the survey of each environment under its name."""
    environments = [
        {"name": name, **{key: found[key] for key in ("python", "lanes", "left_out")}} for name, found in surveys
    ]
    cells = [{"environment": name, **cell} for name, found in surveys for cell in found["cells"]]
    return {
        "format": "diptych-atlas",
        "version": VERSION,
        "environments": environments,
        "cells": cells,
        "changes": changes(environments, cells),
    }


def columns(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The columns of the matrix, as environment and lane."""
    return [(one["name"], lane) for one in data["environments"] for lane in one["lanes"]]


def label(data: dict[str, Any], column: tuple[str, str]) -> str:
    """A column's name: the lane, and its environment where there are several."""
    environment, lane = column
    return lane if len(data["environments"]) == 1 else f"{lane} @ {environment}"


def rows(data: dict[str, Any]) -> dict[tuple[str, str], dict[tuple[str, str], str]]:
    """By scenario and mode: what each column has there, in words."""
    found: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for one in data["cells"]:
        row = found.setdefault((one["scenario"], one["mode"]), {})
        row[one["environment"], one["lane"]] = outcome(one)
    return found


def outcome(cell: dict[str, Any]) -> str:
    """How a run ended, and how many findings it gave of each severity, the gravest first."""
    counted = [f"{count} {severity}" for severity, count in reversed(cell["counts"].items()) if count]
    return " · ".join([cell["stop"], *counted])


def versions_of(packages: dict[str, str | None]) -> str:
    """The packages behind a lane, in words."""
    named = [f"{name} {version}" for name, version in packages.items() if version is not None]
    return ", ".join(named) or "not known"


def some_of(runs: Sequence[str]) -> str:
    """The first of several runs by name, and how many more there are."""
    more = len(runs) - NAMED
    return ", ".join(runs[:NAMED]) + (f" and {more} more" if more > 0 else "")


def markdown(data: dict[str, Any]) -> str:
    """The atlas as a Markdown text."""
    heads = columns(data)
    lines = ["# Atlas", "", "How each lane ends on each scenario, and how many findings it gives there.", ""]
    lines += table(
        ["scenario", "mode", *(label(data, column) for column in heads)],
        [[scenario, mode, *(row.get(column, "") for column in heads)] for (scenario, mode), row in rows(data).items()],
    )
    lines += ["", "## Versions", ""]
    behind = [
        [lane, one["name"], one["python"], versions_of(packages)]
        for one in data["environments"]
        for lane, packages in one["lanes"].items()
    ]
    lines += table(["lane", "environment", "Python", "packages"], behind)
    left_out = [[lane, one["name"], why] for one in data["environments"] for lane, why in one["left_out"].items()]
    if left_out:
        lines += ["", "## Left out", "", *table(["lane", "environment", "why"], left_out)]
    if len(data["environments"]) > 1:
        lines += ["", "## What changed", "", *changed_lines(data)]
    return "\n".join(lines) + "\n"


def changed_lines(data: dict[str, Any]) -> list[str]:
    """The changes between environments, as a list."""
    first = data["environments"][0]["name"]
    lines = [
        f"- {cell_text(lane)} @ {cell_text(environment)} against {cell_text(first)}: {cell_text(words)} "
        f"({len(runs)}: {cell_text(some_of(runs))})"
        for (environment, lane), found in gathered(data["changes"]).items()
        for words, runs in found.items()
    ]
    return lines or ["Nothing."]


def table(heads: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [heads, ["---"] * len(heads), *body]
    return ["| " + " | ".join(map(cell_text, line)) + " |" for line in lines]


def cell_text(text: str) -> str:
    """A text that Markdown shows as it is, in one line."""
    shown = visible(text)
    for sign in "\\`*[]<|":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
