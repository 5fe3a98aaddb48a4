"""The report in a terminal, made from its data alone."""

from compare.terminal.page import render, write

__all__ = ["render", "write"]
