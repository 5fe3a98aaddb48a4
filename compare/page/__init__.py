"""The report as one page of HTML that loads nothing, made from its data alone."""

from pathlib import Path
from typing import Any

from compare.page.document import render

__all__ = ["render", "write"]


def write(data: dict[str, Any], path: str, full: bool) -> None:
    """Write the page to a file. Raises OSError."""
    Path(path).write_text(render(data, full), encoding="utf-8", newline="\n")
