"""Which tools a lane gets when nobody says otherwise."""

import os

from toolbox.calculator import CALCULATOR
from toolbox.files import file_tools
from toolbox.tool import Tool


def standard_tools(root: str | os.PathLike[str], write: bool = False) -> list[Tool]:
    """The calculator and one folder's file tools, which write only with `write`; NotADirectoryError when it is none."""
    return [CALCULATOR, *file_tools(root, write=write)]
