"""Who may speak to the lab: this machine's own page, under this machine's own name, with the token in the address."""

import secrets

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def policy(*origins: str) -> str:
    """The content security policy of a page that may speak to the lab, and to these origins."""
    return POLICY.format(connect=" ".join(("'self'", *origins)))


HEADERS = {
    "Content-Security-Policy": policy(),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI application in front of another: it lets through what comes from the lab's page, and nothing else.

    A page anywhere in the web can send requests to loopback. It cannot do so under our Host unless it is ours, cannot
    hide its Origin in a POST, and does not know the token.
    """

    def __init__(self, app: ASGIApp, port: int, token: str, once: str) -> None:
        """`once` is a path that leads to the page one time: a browser's command line, which shows it, can be read."""
        self._app, self._token, self._once = app, token, once
        self._hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in given)]
            await send(message)

        await self._chosen(scope)(scope, receive, guarded)

    def _chosen(self, scope: Scope) -> ASGIApp:
        """What answers a request."""
        refusal = self._refusal(scope)
        if refusal is not None:
            return PlainTextResponse(f"{refusal}\n", 403)
        first = scope["path"].split("/")[1]
        if self._once and secrets.compare_digest(first.encode(), self._once.encode()):
            self._once = ""
            return RedirectResponse(f"/{self._token}/", 303)
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return PlainTextResponse("the address lacks the token: open the one that 'diptych lab' shows\n", 403)
        return self._app

    def _refusal(self, scope: Scope) -> str | None:
        """Why a request is not taken, whatever it asks for; or None."""
        if scope["type"] != "http" or "/" not in scope["path"]:
            return "only HTTP is spoken here"
        fields: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            fields.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if [host.lower() for host in fields.get("host", [])] not in [[host] for host in self._hosts]:
            return "the lab answers under its own name only"
        if not {*fields.get("origin", [])} <= {f"http://{host}" for host in self._hosts}:
            return "the lab answers no other page"
        return None
