"""A lane that is a command: what it is given, how it is ended, and what is kept of it."""

from compare.command.ended import CommandFailed, Ended
from compare.command.given import variables
from compare.command.start import run_command

__all__ = ["CommandFailed", "Ended", "run_command", "variables"]
