"""The server of the studio: the standard library's, one thread for each connection."""

import errno
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from easee.errors import ArgumentError
from easee.studio.api import Api, Response, error
from easee.studio.jobs import Jobs
from easee.studio.limits import MAX_BODY
from easee.studio.security import HEADERS, Guard

TIMEOUT = 30.0  # seconds until a silent connection is closed
DRAINED = 16 * MAX_BODY  # bytes of a refused body that are read, so that the refusal arrives


class Studio(ThreadingHTTPServer):
    """A server with its jobs and its secret.

    Args:
        host: address to listen at.
        port: port to listen at; 0 for any that is free.
        modules: packages with environments, which worker processes import.

    Raises:
        ArgumentError: the port is in use or not allowed, or the address is not one of this machine.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, host: str = "127.0.0.1", port: int = 8765, modules: Sequence[str] = ()
    ) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.jobs = Jobs(modules)
        self.api = Api(self.jobs)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as problem:
            raise ArgumentError(_why_not(host, port, problem)) from None
        self.guard = Guard(host, int(self.server_address[1]))

    @property
    def url(self) -> str:
        """The address of the start page, with its secret."""
        return self.guard.url

    def server_close(self) -> None:
        """Stop listening, and end all computations."""
        super().server_close()
        self.jobs.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that close a connection early."""


@contextmanager
def running(**options: Any) -> Iterator[Studio]:
    """Run a studio in a thread; its arguments are those of `Studio`, with any free port.

    >>> with running() as studio:
    ...     studio.url.startswith("http://127.0.0.1:")
    True
    """
    studio = Studio(**{"port": 0, **options})
    thread = threading.Thread(target=studio.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield studio
    finally:
        studio.shutdown()
        thread.join()
        studio.server_close()


def _why_not(host: str, port: int, problem: Exception) -> str:
    number = getattr(problem, "errno", None)
    if number == errno.EADDRINUSE:
        return f"port {port} is in use: choose another with --port, or --port 0 for any free one"
    if number == errno.EACCES:
        return f"port {port} is not allowed: choose one above 1023 with --port"
    return f"the studio cannot listen at {host}, port {port}: {problem}"


class _Handler(BaseHTTPRequestHandler):
    """Checks a request, lets the API answer it, and sends the answer."""

    server: Studio
    server_version = "easee"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT

    def do_GET(self) -> None:
        """Answer a GET request."""
        path = self._allowed_path()
        self._send(self.server.api.get(path) if path is not None else self._refused)

    def do_POST(self) -> None:
        """Answer a POST request."""
        body = self._body()
        path = self._allowed_path()
        if path is None:
            self._send(self._refused)
        elif isinstance(body, Response):
            self._send(body)
        elif self.headers.get_content_type() != "application/json":
            self._send(error(415, "expected a request of type application/json"))
        else:
            self._send(self.server.api.post(path, body))

    def log_message(self, format: str, *values: Any) -> None:
        """Log nothing: the addresses have the secret in them."""

    def _allowed_path(self) -> str | None:
        """Return the path after the token, or None and set the refusal."""
        guard = self.server.guard
        refusal = guard.refusal(self.headers.get("Host"), self.headers.get("Origin"))
        path = guard.path_after_token(self.path.partition("?")[0])
        if refusal is None and path is None:
            refusal = "this address lacks the secret: open the one that 'easee studio' printed"
        self._refused = error(403, refusal or "")
        return path if refusal is None else None

    def _body(self) -> bytes | Response:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True
            return error(411, "expected a body with its length")
        if int(length) > MAX_BODY:
            left = min(int(length), DRAINED)
            while left > 0 and (read := self.rfile.read(min(left, 65536))):
                left -= len(read)
            self.close_connection = True
            return error(
                413, f"this is too long: expected at most {MAX_BODY:,} bytes, found {int(length):,}"
            )
        return self.rfile.read(int(length))

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", response.kind)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)
