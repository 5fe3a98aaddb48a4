"""Where the report of a command goes: the options that say so, and the writing of it."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compare.process import AS_EXPECTED, SURPRISED

if TYPE_CHECKING:  # --help need not wait for what only a run needs
    from compare.comparison import Comparison

json_option = click.option(
    "--json", "json_file", metavar="FILE", help="Write the report as JSON (-: to standard output)."
)
page_option = click.option(
    "--html", "html_file", metavar="FILE", help="Write the report as one page of HTML that loads nothing."
)
full_option = click.option(
    "--html-full", is_flag=True, help="With --html: keep every raw view as text, however large the page becomes."
)


@dataclass(frozen=True)
class Output:
    """Where the report of a comparison goes, besides the terminal."""

    json_file: str | None
    html_file: str | None
    html_full: bool

    @property
    def taken(self) -> bool:
        """Whether standard output is the report's alone."""
        return self.json_file == "-"

    def deliver(self, results: "Sequence[Comparison]", detail: set[str], keys: Sequence[str] | None = None) -> int:
        """Write the report where it is wanted, the scenarios in `detail` row by row; returns the exit code.

        With `keys`, those of a run that is live or recorded, neither they nor anything that looks like a token is
        written.
        """
        from compare.recording.spread import masked_report
        from compare.report import report
        from compare.secrets import Masker
        from compare.terminal import render

        data = report(results)
        if keys is not None:
            data = masked_report(data, Masker(keys))
        if self.html_file is not None:
            from compare.page import write

            write(data, self.html_file, self.html_full)
        written(data, self.json_file, lambda: render(data, detail))
        return AS_EXPECTED if not data["summary"]["unexpected"] else SURPRISED


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --json, --html and --html-full, together as the parameter `out`.

    Whether the files can be written is found out before anything runs. Raises OSError.
    """

    @functools.wraps(command)
    def with_output(*values: Any, json_file: str | None, html_file: str | None, html_full: bool, **named: Any) -> Any:
        writable(json_file, html_file)
        return command(*values, out=Output(json_file, html_file, html_full), **named)

    return json_option(page_option(full_option(with_output)))


def writable(*files: str | None) -> None:
    """Find out before anything runs whether these files can be written. Raises OSError."""
    for file in files:
        if file not in (None, "-"):
            with open(str(file), "a", encoding="utf-8"):
                pass


def written(data: dict[str, Any], json_file: str | None, render: Callable[[], object]) -> None:
    """Write a report as JSON where that is wanted, and to the terminal unless the JSON goes there."""
    from compare.report import to_json

    if json_file == "-":
        click.echo((to_json(data) + "\n").encode(), nl=False)  # in UTF-8, whatever the terminal speaks
        return
    if json_file is not None:
        Path(json_file).write_text(to_json(data) + "\n", encoding="utf-8")
    render()
