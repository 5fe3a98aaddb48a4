"""How one request goes out, how often, and what counts as no answer."""

import time

import httpx

from protocol import error_text

RETRIED = {408, 409, 429}
LONGEST_WAIT = 60.0
"""Seconds. A server that asks for more patience than this is not waited for."""


class NoAnswer(Exception):
    """The model server gave no usable answer: `stop` is the reason to end the run with, the text says what came."""

    def __init__(self, stop: str, text: str) -> None:
        super().__init__(text)
        self.stop = stop


def endpoint(base_url: str) -> httpx.URL:
    """Where requests go, parsed once: given a text, httpx would parse it again for each of them."""
    return httpx.URL(f"{base_url.rstrip('/')}/chat/completions")


def ask(client: httpx.Client, url: httpx.URL, body: bytes, max_retries: int) -> bytes:
    """POST one request and return the body of its answer.

    Tries again at most `max_retries` times after a broken connection, 408, 409, 429 or 5xx.
    Raises NoAnswer with `connection-error` or `http-error`.
    """
    for attempt in range(max_retries + 1):
        last = attempt == max_retries
        wait = 0.5 * 2**attempt
        try:
            response = client.post(url, content=body)
        except (httpx.TransportError, httpx.DecodingError) as error:
            if last:
                raise NoAnswer("connection-error", f"{type(error).__name__}: {error}") from error
        else:
            if 200 <= response.status_code < 300:
                return response.content
            wait = retry_after(response, wait)
            retried = response.status_code in RETRIED or response.status_code >= 500
            if last or not retried or wait > LONGEST_WAIT:
                raise NoAnswer("http-error", f"HTTP {response.status_code}: {said(response)}")
        time.sleep(wait)
    raise ValueError(f"max_retries is {max_retries}, but must be 0 or more")


def retry_after(response: httpx.Response, otherwise: float) -> float:
    """Seconds to wait before the next try: what `Retry-After` says in seconds, else the default given."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else otherwise


def said(response: httpx.Response) -> str:
    """What an error response says, on one line of at most 300 characters."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    problem = body.get("error", body) if isinstance(body, dict) else body
    return " ".join(error_text(problem).split())[:300]
