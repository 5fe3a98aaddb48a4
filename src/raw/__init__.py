"""The lane written by hand, on httpx."""

from raw.loop import run

__all__ = ["run"]
