"""How the lab is opened on a port of this machine, and closed."""

import secrets
import socket

import uvicorn

from compare.lab.guard import Guard
from compare.lab.server import Lab, application


class Serving:
    """A lab on a port: `address` is the page's, and `once` leads there one time.

    Making it raises OSError, in one line, for a port that is not to be had.
    """

    def __init__(self, lab: Lab, port: int) -> None:
        self._lab = lab
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen()  # so that a browser that is there first waits for the server
        except OSError as error:
            self._socket.close()
            raise OSError(f"port {port} is not to be had: {error.strerror}; choose another") from error
        self.port = int(self._socket.getsockname()[1])
        self.token, once = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.address = f"http://127.0.0.1:{self.port}/{self.token}/"
        self.once = f"http://127.0.0.1:{self.port}/{once}"
        config = uvicorn.Config(
            Guard(application(lab, self.token), self.port, self.token, once),
            log_level="warning",
            access_log=False,  # it would hold the token
            server_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
            lifespan="off",
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until interrupted, or until `close`."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()
            for show in self._lab.shows[-1:]:
                show.stop()

    def close(self) -> None:
        """Let `run` return."""
        self._server.should_exit = True
