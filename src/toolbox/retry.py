"""Which HTTP errors are worth another try, and after how long a wait."""

RETRIED = {408, 409, 429}
"""Besides all from 500 on."""
LONGEST_WAIT = 60.0
"""Seconds. A server that asks for more patience than this is not waited for."""


def wait_after(status: int, retry_after: str, otherwise: float) -> float | None:
    """Seconds to wait before the request is sent again: what `Retry-After` says in seconds, else the default given.

    None where it is not sent again: another status than these, or too long a wait.
    """
    if status not in RETRIED and status < 500:
        return None
    wait = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else otherwise
    return None if wait > LONGEST_WAIT else wait
