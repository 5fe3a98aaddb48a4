"""How one request goes out, how often, and what counts as no answer."""

import contextlib
import time

import httpx

from protocol import error_text, read_json, read_reply
from raw.receive import BROKEN, NoAnswer, Turn, broken, read_body, read_stream
from toolbox.retry import wait_after
from toolbox.watch import Watch


class Endpoint:
    """The model server, as one run speaks to it: a connection that is kept, and one clock for all replies."""

    def __init__(self, base_url: str, api_key: str, *, stream: bool, timeout: float, max_retries: int) -> None:
        if max_retries < 0:
            raise ValueError(f"max_retries is {max_retries}, but must be 0 or more")
        # Parsed once: given a text, httpx would parse it again for each request.
        self._url = httpx.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._stream, self._max_retries = stream, max_retries
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        # Loading the certificates costs tens of milliseconds, and a plain http address has no use for them.
        self._client = httpx.Client(headers=headers, timeout=timeout, verify=self._url.scheme != "http")
        self._watch = Watch(timeout)

    def __enter__(self) -> "Endpoint":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._watch.close()

    def ask(self, body: bytes) -> Turn:
        """POST one request and return the model's turn.

        Tries again at most `max_retries` times after a broken connection, a reply that takes too long, 408, 409, 429
        or 5xx; not once the first byte of a stream is there.
        Raises NoAnswer with `connection-error`, `deadline` or `http-error`, and BadReply.
        """
        for attempt in range(self._max_retries + 1):
            last = attempt == self._max_retries
            wait = 0.5 * 2**attempt
            self._watch.start()
            try:
                request = self._client.build_request(
                    "POST", self._url, content=body, extensions=self._watch.extensions()
                )
                response = self._client.send(request, stream=True)
                self._watch.stream = response.extensions["network_stream"]
                if self._stream and 200 <= response.status_code < 300:
                    return read_stream(response, self._watch)
                content = read_body(response, self._watch)
            except BROKEN as error:
                if last:
                    raise broken(error, self._watch) from error
            else:
                if 200 <= response.status_code < 300:
                    return (*read_reply(content), True)
                pause = wait_after(response.status_code, response.headers.get("retry-after", ""), wait)
                if last or pause is None:
                    raise NoAnswer("http-error", f"HTTP {response.status_code}: {said(content)}")
                wait = pause
            finally:
                self._watch.stop()
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")


def said(body: bytes) -> str:
    """What an error response says, on one line of at most 300 characters."""
    text = body.decode(errors="replace")
    with contextlib.suppress(ValueError, RecursionError):  # what is no JSON is shown as it came
        told = read_json(text)
        text = error_text(told.get("error", told) if isinstance(told, dict) else told)
    return " ".join(text.split())[:300]
