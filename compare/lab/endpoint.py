"""Where a live run asks, and with which key: from the environment of this process, or typed in for one run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from toolbox.console import has_host

OPENAI = "https://api.openai.com/v1"
LOCAL = ("127.0.0.1", "localhost", "::1")
MAX_REQUESTS = 12
"""Requests that a live run in the lab may cost, all lanes together, unless the reader wants another number."""


class EndpointError(ValueError):
    """An endpoint that cannot be asked; the text says why and what to do, and holds no key."""


@dataclass(frozen=True)
class Endpoint:
    """An address, a model, and the key: which no text made of this object shows."""

    base_url: str
    model: str
    key: str = field(repr=False)


def from_environment() -> Endpoint:
    """What the environment says, as it is: key and model are empty where it does not."""
    base_url = os.environ.get("OPENAI_BASE_URL") or OPENAI
    return Endpoint(base_url, os.environ.get("OPENAI_MODEL", ""), os.environ.get("OPENAI_API_KEY", ""))


def typed(fields: Mapping[str, Any]) -> Endpoint:
    """What was typed into the page. Raises EndpointError."""
    values = [fields.get(name) for name in ("base_url", "model", "key")]
    if not all(isinstance(value, str) for value in values):
        raise EndpointError("address, model and key are texts")
    return Endpoint(*(str(value).strip() for value in values))


def checked(endpoint: Endpoint) -> Endpoint:
    """The endpoint, when it can be asked. Raises EndpointError."""
    url, key = endpoint.base_url, endpoint.key
    if not key:
        raise EndpointError("there is no key: set OPENAI_API_KEY before the lab starts, or type one in")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise EndpointError("the key holds a character that no key has; copy it again")
    if not endpoint.model:
        raise EndpointError("no model is named")
    if not url.startswith(("http://", "https://")) or not has_host(url) or any(sign in url for sign in "@?# \t\r\n"):
        raise EndpointError("the address must be like https://api.example.com/v1, without password, query or fragment")
    if url.startswith("http://") and urlsplit(url).hostname not in LOCAL:
        raise EndpointError("over http:// everyone on the way can read the key; use https://, or a server of your own")
    return endpoint


def origin_of(url: str) -> str:
    """The origin of an address, as a content security policy names it. Raises EndpointError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EndpointError("this is no address") from None
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or parts.username is not None or not host:
        raise EndpointError("the address must begin with http:// or https:// and name a host")
    if not all(sign.isascii() and (sign.isalnum() or sign in ".-") for sign in host):
        raise EndpointError("the host may have letters, digits, dots and hyphens only")
    if parts.scheme == "http" and host not in LOCAL:
        raise EndpointError("over http:// everyone on the way can read the key; use https://, or a server of your own")
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")
