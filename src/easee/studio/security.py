"""Which requests the studio answers: those of its own page, from this machine.

A page elsewhere can send requests to this address, too, and a name that someone else controls can
be made to mean 127.0.0.1. So the names in the headers `Host` and `Origin` are checked, and each
path begins with a secret that only the start page's address has.
"""

import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address has the secret in it
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Guard:
    """Checks the addresses of requests.

    Args:
        host: the address that the studio listens at.
        port: its port.
        token: the first part of every path.
    """

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def url(self) -> str:
        """The address of the start page."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/{self.token}/"

    def refusal(self, host: str | None, origin: str | None) -> str | None:
        """Return why a request with these headers is refused, or None.

        >>> guard = Guard("127.0.0.1", 8000)
        >>> guard.refusal("127.0.0.1:8000", None), guard.refusal("localhost:8000", None)
        (None, None)
        >>> guard.refusal("example.com:8000", None)
        "this studio does not answer to the host 'example.com:8000'"
        >>> guard.refusal("127.0.0.1:8000", "http://example.com")
        "this studio does not answer to pages of 'http://example.com'"
        """
        if not self._is_ours(f"//{host or ''}"):
            return f"this studio does not answer to the host {host!r}"
        if origin is not None and not (origin.startswith("http://") and self._is_ours(origin)):
            return f"this studio does not answer to pages of {origin!r}"
        return None

    def path_after_token(self, path: str) -> str | None:
        """Return the rest of a path that begins with the token, or None."""
        token, slash, rest = path.removeprefix("/").partition("/")
        same = hmac.compare_digest(token.encode(), self.token.encode())
        return rest if slash and same else None

    def _is_ours(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            name, port = (parts.hostname or "").lower(), parts.port or 80
        except ValueError:
            return False
        return port == self.port and parts.path in ("", "/") and self._answers_to(name)

    def _answers_to(self, name: str) -> bool:
        if name == self.host.lower() or name in LOOPBACK:
            return True
        if self.host in LOOPBACK:
            return False
        try:  # on other interfaces, any address of this machine, but no names
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return False
