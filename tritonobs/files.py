"""Files that may hold anything: bounded reads, whole writes, and a sentence when one fails."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tritonobs.errors import FileUnusable

_NEW = ".tritonobs-new"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def read_bytes(path: Path, *, most: int) -> bytes:
    """What a regular file of at most `most` bytes holds. Never waits: a pipe without a writer is refused.

    Raises:
        FileUnusable: it is missing, of another kind, too large, or cannot be read.
    """
    with refused(path, "read"):
        # Without O_NONBLOCK the opening itself waits for the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
            if kind != stat.S_IFREG:
                raise FileUnusable(path, f"is {_KINDS.get(kind, 'no file')}; allowed is a regular file")
            # The size that the system reports may be wrong: files below /proc say 0 and never end.
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(most + 1)
        finally:
            os.close(descriptor)
    if data is None:
        raise FileUnusable(path, "has nothing to read yet; allowed is a regular file")
    if len(data) > most:
        raise FileUnusable(path, f"has more than {most} bytes, the most that is read")
    return data


def read_text(path: Path, *, most: int) -> str:
    """As `read_bytes`, the text of UTF-8.

    Raises:
        FileUnusable: as there, or it holds no UTF-8.
    """
    data = read_bytes(path, most=most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileUnusable(
            path, f"byte {error.start + 1}, 0x{data[error.start]:02x}, is not UTF-8 text"
        ) from None


def replace(path: Path, data: bytes) -> None:
    """Put `data` in the file's place: a reader, also after a power cut, sees the old file or the new one.

    Owner and mode stay; symbolic links are followed. A device or a pipe is written to.

    Raises:
        FileUnusable: it cannot be written; then the old file is untouched.
    """
    with refused(path, "written"):
        path = path.resolve()
        status = path.stat() if path.exists() else None
        if status and not stat.S_ISREG(status.st_mode):
            path.write_bytes(data)
            return
        prefix = f".{path.name[:100]}."
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=prefix, suffix=_NEW, delete=False) as file:
            try:
                file.write(data)
                file.flush()
                _like(file.fileno(), status)
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        sync_folder(path.parent)


def sweep(path: Path) -> None:
    """Remove what a killed `replace` of this file left behind; no other may be under way."""
    for left in path.resolve().parent.glob(f".{glob.escape(path.name[:100])}.*{_NEW}"):
        left.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def locked(descriptor: int) -> bool:
    """Take the lock on an open file if it is free; whether it was taken."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def refused(path: Path, what: str) -> Iterator[None]:
    """Errors of the system in the block become `FileUnusable`: the path cannot be `what` (read, written).

    Raises:
        FileUnusable: the system refused something.
    """
    try:
        yield
    except OSError as error:
        raise FileUnusable(path, f"cannot be {what}: {error.strerror or error}") from error
    except ValueError as error:
        # A path that holds a NUL.
        raise FileUnusable(path, f"cannot be {what}: {os.strerror(errno.EINVAL)}") from error


def _like(descriptor: int, status: os.stat_result | None) -> None:
    """Give a new file the mode and, where that is allowed, the owner of the one it replaces."""
    if status is None:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
