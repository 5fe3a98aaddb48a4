"""The demo model: rules that play the model's part for any prompt, and say that they are a program."""

from compare.demo.turn import answer

__all__ = ["answer"]
