"""The tools that a host offers to a model: what one is, the standard ones, how a call is carried out."""

from toolbox.calculator import CALCULATOR, calculator
from toolbox.execute import execute
from toolbox.files import file_tools
from toolbox.standard import standard_tools
from toolbox.tool import Tool

__all__ = ["CALCULATOR", "Tool", "calculator", "execute", "file_tools", "standard_tools"]
