"""`python -m raw PROMPT` runs this lane against a real endpoint."""

from toolbox.console import LaneRun, console


def load() -> LaneRun:
    """The lane's function."""
    from raw import run

    return run


if __name__ == "__main__":
    console("raw", load)
