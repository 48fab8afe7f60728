"""Files that nobody vouches for are read within bounds, and never waited for."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tritonobs.errors import FileUnusable
from tritonobs.files import read_bytes, read_text


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """A pipe without a writer, a device without an end, a folder, no path: at once, and by its kind."""
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "pipe", "is a pipe; allowed is a regular file"),
        (Path("/dev/zero"), "is a device; allowed is a regular file"),
        (tmp_path, "is a folder; allowed is a regular file"),
        (tmp_path / "none", "cannot be read: No such file or directory"),
        (tmp_path / "a\0b", "cannot be read: Invalid argument"),
    ):
        with pytest.raises(FileUnusable) as caught:
            read_bytes(path, most=10)
        assert caught.value.reason == reason


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """`serve` reads its files every second for months, whatever stands in their places."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"0123456789")
    before = psutil.Process().num_fds()
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", Path("/dev/zero"), tmp_path / "file"):
        for _ in range(10):
            with suppress(FileUnusable):
                read_bytes(path, most=9)
    assert psutil.Process().num_fds() == before


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """One byte more is too many."""
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_bytes(tmp_path / "file", most=10) == b"0123456789"
    with pytest.raises(FileUnusable, match="has more than 9 bytes"):
        read_bytes(tmp_path / "file", most=9)


def test_text_is_utf8(tmp_path: Path) -> None:
    """What is none is refused with its place, and never guessed."""
    (tmp_path / "file").write_bytes("\ufeff告警".encode())
    assert read_text(tmp_path / "file", most=10) == "告警"
    (tmp_path / "file").write_bytes(b"ab\xffcd")
    with pytest.raises(FileUnusable, match="byte 3, 0xff, is not UTF-8 text"):
        read_text(tmp_path / "file", most=10)
