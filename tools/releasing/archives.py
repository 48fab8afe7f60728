"""Archives that are the same bytes whenever and wherever they are packed from the same files."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SUMS: Final = "SHA256SUMS"


def pack(files: Mapping[str, bytes], archive: Path, *, folder: str, moment: int) -> None:
    """Write `files` (by path below `folder`) as a .tar.gz: sorted, owned by no one, all of the same time.

    `moment` is in seconds since 1970.
    """
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{folder}/{path}")
            member.size, member.mtime, member.mode = len(content), moment, 0o644
            tar.addfile(member, io.BytesIO(content))


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS over all files of the folder, as `sha256sum --check SHA256SUMS` reads it."""
    files = sorted(one for one in folder.iterdir() if one.is_file() and one.name != SUMS)
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
