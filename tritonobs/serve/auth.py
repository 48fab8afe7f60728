"""Who may post alerts."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from tritonobs.clients.secrets import Secret, read_secret
from tritonobs.plan.notify import Auth


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Lets in who shows the secret: as a bearer token or, with a `username`, as its password."""

    secret: Secret
    username: str = ""

    @property
    def challenge(self) -> str:
        """The `WWW-Authenticate` header of a refusal."""
        return 'Basic realm="tritonobs"' if self.username else "Bearer"

    def header(self) -> Secret:
        """The `Authorization` header that is let in."""
        if not self.username:
            return Secret(f"Bearer {self.secret.reveal()}")
        login = f"{self.username}:{self.secret.reveal()}".encode()
        return Secret(f"Basic {base64.b64encode(login).decode()}")

    def admits(self, authorization: str) -> bool:
        """Whether the `Authorization` header is right; how long that takes tells nothing about the secret."""
        scheme, _, shown = authorization.partition(" ")
        # Starlette reads headers as Latin-1: these are the bytes that were sent.
        given = shown.strip().encode("latin-1", "replace")
        if not self.username:
            return self.secret.matches(given) and scheme.lower() == "bearer"
        name, _, password = _decoded(given).partition(b":")
        # Both are always compared, so that a right name takes as long as a wrong one.
        named = Secret(self.username).matches(name)
        return self.secret.matches(password) and named and scheme.lower() == "basic"


def read_gate(auth: Auth | None) -> Gate | None:
    """The gate of this section, or None when every client is let in.

    Raises:
        SecretUnusable: the file is missing, empty or readable by every user.
    """
    if auth is None:
        return None
    return Gate(secret=read_secret(file=auth.file, env="", owner="notify.auth"), username=auth.username)


def _decoded(given: bytes) -> bytes:
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return b""
