"""Secrets: read when used, masked in all texts, refused when other users can read their file."""

from __future__ import annotations

import hmac
import os
import stat
from pathlib import Path
from urllib.parse import SplitResult

from tritonobs.errors import FileUnusable, SecretUnusable
from tritonobs.files import read_bytes
from tritonobs.outside import web_parts
from tritonobs.plan.notify import SecretSource

_MOST_BYTES = 65_536


class Secret:
    """A text that `repr`, `str`, formatting and pickling never show; only `reveal` does."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself: hand it to the wire, never to a log, an error or a label."""
        return self._text

    def as_address(self) -> SplitResult:
        """Its parts; without a host where it is not an http address."""
        return web_parts(self._text) or SplitResult("", "", "", "", "")

    def matches(self, given: bytes) -> bool:
        """Whether `given` is the secret in UTF-8, in a time that does not show where they differ."""
        return hmac.compare_digest(self._text.encode(), given)

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret does not leave the process")


def without(text: str, *secrets: str) -> str:
    """The text without the parts of an address that are secret; some errors quote the whole address."""
    for secret in secrets:
        # A path that is only `/` hides nothing, and is in every address.
        text = text.replace(secret, "…") if len(secret) > 1 else text
    return text


def read_secret(source: SecretSource, *, owner: str) -> Secret:
    """The secret of `owner` (words for the reader, such as `robot oncall: signing secret`).

    Raises:
        SecretUnusable: the file or variable is missing or empty, or the file can be read by every user.
    """
    file = source.file
    if file is None:
        text = os.environ.get(source.env, "").strip()
        if not text:
            raise SecretUnusable(f"{owner}: the variable {source.env} is not set")
        return Secret(text)
    check_secret_file(file, owner=owner)
    text = secret_text(file, owner=owner)
    if not text:
        raise SecretUnusable(f"{owner}: {file} is empty")
    if "\n" in text:
        raise SecretUnusable(f"{owner}: {file} has more than one line")
    return Secret(text)


def secret_text(file: Path, *, owner: str) -> str:
    """What the file holds, without spaces around it; nothing of it is in an error.

    Raises:
        SecretUnusable: it is not a regular file, too large for a secret, or not UTF-8 text.
    """
    try:
        return read_bytes(file, most=_MOST_BYTES).decode().strip()
    except FileUnusable as error:
        raise SecretUnusable(f"{owner}: {file} {error.reason}") from None
    except UnicodeDecodeError:
        # `from None`: the error of decoding holds the bytes of the file.
        raise SecretUnusable(f"{owner}: {file} is not UTF-8 text") from None


def check_secret_file(file: Path, *, owner: str) -> None:
    """Nothing, when the file is there and not every user of the machine can read it.

    Raises:
        SecretUnusable: it is not so; the text says how to repair it.
    """
    try:
        status = file.stat()
    except OSError as error:
        raise SecretUnusable(f"{owner}: cannot read {file}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise SecretUnusable(f"{owner}: {file} is not a file")
    # The group may: a Kubernetes Secret mounted with `defaultMode: 0440` is read by its group.
    if status.st_mode & stat.S_IROTH:
        raise SecretUnusable(f"{owner}: every user can read {file}; run: chmod o-rwx {file}")
