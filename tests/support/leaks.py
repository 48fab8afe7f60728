"""Secrets that got out: what programs and tests left behind, searched for what only secret files may hold."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAMES: Final = frozenset(("webhook", "secret", "token", "pager"))
_TOKEN: Final = re.compile("(access_token=|key=|sig=|/hook/|/services/)(.+)$")
"""What stands before the token in the webhooks of chats."""
_SHORTEST = 12
"""Shorter ones are words such as `SECRET`, which tests use and which are not secret."""


def secret_files(folder: Path) -> list[Path]:
    """Files below `folder` that hold a secret: all in a folder called `secrets`, and a few names anywhere."""
    return [
        file
        for file in folder.rglob("*")
        if (file.parent.name == "secrets" or file.name in _NAMES) and file.is_file() and not file.is_symlink()
    ]


def leaks(folder: Path) -> list[Path]:
    """The files below `folder` that hold a secret of one of the `secret_files`, and are none themselves.

    Raises:
        RuntimeError: grep is missing or failed; nothing is known then.
    """
    kept = secret_files(folder)
    wanted = sorted({text for file in kept for text in _told(file)})
    if not wanted:
        return []
    search = ["grep", "--recursive", "--files-with-matches", "--text", "--fixed-strings", "--file=-"]
    # An installed package carries the secrets that the practice stack makes up; a copy of the tests, theirs.
    done = subprocess.run(
        [*search, "--exclude-dir=site-packages", "--exclude-dir=tests", str(folder)],
        input="\n".join(wanted),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1:
        raise RuntimeError(f"grep: {done.stderr.strip()}")
    own = {str(file) for file in kept}
    return sorted(folder / line for line in done.stdout.splitlines() if line not in own)


def _told(file: Path) -> Iterator[str]:
    """The secret's lines; of a webhook also its token alone. A file of zeros holds none."""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        found = _TOKEN.search(line.strip())
        mark, token = found.groups() if found else ("", "")
        yield from (text for text in (line.strip(), token) if len(text) >= _SHORTEST and text.isprintable())
        if mark == "access_token=" and token:
            yield mark + token
