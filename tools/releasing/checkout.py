"""The checkout that a release is made of: what git knows of it, and nothing that merely lies about."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class CannotRelease(Exception):
    """An artifact could not be made; the text says why, fit to show to a user."""


def run(
    words: list[str], folder: Path, env: dict[str, str] | None = None, *, with_errors: bool = False
) -> str:
    """What a program prints; with what it prints as errors, if so asked. `env` replaces the environment.

    Raises:
        CannotRelease: it is not here, or it failed; the text has the end of what it said.
    """
    try:
        # auditwheel unpacks files and packs them again with the rights that they got.
        done = subprocess.run(
            words, cwd=folder, env=env, umask=0o022, check=False, capture_output=True, text=True
        )
    except OSError as error:
        raise CannotRelease(f"{words[0]} could not be run: {error.strerror}") from error
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-20:]
        raise CannotRelease("\n".join([f"{' '.join(words)} failed:", *said]))
    return done.stdout + (done.stderr if with_errors else "")


def git(root: Path, *words: str) -> str:
    """What git prints.

    Raises:
        CannotRelease: git is not here, or this is not a checkout.
    """
    return run(["git", *words], root)


def listed(root: Path, *patterns: str) -> list[str]:
    """The files that git tracks, by path below `root`, sorted; with patterns, those that fit one of them."""
    return sorted(name for name in git(root, "ls-files", "-z", "--", *patterns).split("\0") if name)


def revision(root: Path) -> str:
    """The commit that is checked out, in full."""
    return git(root, "rev-parse", "HEAD").strip()


def moment(root: Path) -> int:
    """When that commit was made, in seconds since 1970: the time of every file in every archive."""
    return int(git(root, "log", "-1", "--format=%ct"))


def copy_tracked(root: Path, folder: Path) -> Path:
    """Copy what git tracks into `folder`, with rights that do not depend on the umask, and return it."""
    for name in listed(root):
        source, target = root / name, folder / name
        if not source.is_file():
            continue  # removed, and not committed yet
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
    return folder
