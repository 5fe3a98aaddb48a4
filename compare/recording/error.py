"""How a recording that cannot be written or read is refused."""


class RecordingError(ValueError):
    """A recording that is not to be had, in one line: the file, the place in it, what is wrong, and the mend."""
