"""The report in a terminal."""

from typing import Any


def render(data: dict[str, Any], detail: set[str]) -> None:
    """Print."""
