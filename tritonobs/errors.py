"""Every exception tritonobs raises on purpose.

TritonobsError
├── SpecInvalid       what the user wrote cannot be used; carries every finding
├── RenderFailed      an artifact could not be made, or its checker refused it
├── ClientError       a server we asked
│   ├── Unreachable   gave no connection
│   │   └── ConnectionBroken  gave one that broke before its answer was whole
│   ├── TimedOut      gave no answer in time
│   └── BadAnswer     gave an answer that is not what its documentation says
├── StackError        a part of the local stack is missing, did not start, or died
├── SecretUnusable    a secret's file or variable is missing, empty or readable by others
├── FileUnusable      a file is missing, of a wrong kind, too large, or cannot be read or written
└── SnapshotUnusable  a saved snapshot is missing, damaged or of another format

Wrong use by a programmer is `TypeError` or `ValueError`, raised at once. Nothing from requests, yaml or
jsonnet escapes as itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tritonobs.findings import Finding, abridged


class TritonobsError(Exception):
    """Something outside the program is not as it must be; the text is fit to show to a user."""


class SpecInvalid(TritonobsError):
    """What the user wrote cannot be used."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, abridged(self.findings))))


class RenderFailed(TritonobsError):
    """An artifact could not be made, or its checker refused it."""


class ClientError(TritonobsError):
    """A server we asked did not help; the text names it without secrets."""


class Unreachable(ClientError):
    """No connection."""


class ConnectionBroken(Unreachable):
    """A connection that broke before the answer was whole: what the server did is unknown."""


class TimedOut(ClientError):
    """No answer in time."""


class BadAnswer(ClientError):
    """An answer that is not what the server's documentation says."""


class StackError(TritonobsError):
    """A part of the local stack is missing, did not start, or died."""


class SecretUnusable(TritonobsError):
    """A secret's file or variable is missing, empty or readable by others. Never names the secret itself."""


class SnapshotUnusable(TritonobsError):
    """A saved snapshot is missing, damaged or of another format."""


class FileUnusable(TritonobsError):
    """A file is missing, of a wrong kind, too large, or cannot be read or written; `reason` says which."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}")
