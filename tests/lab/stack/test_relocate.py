"""Debian's Alertmanager, unpacked anywhere, finds its templates."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tritonobs.extensions.lab.stack.packages import relocate_alertmanager

if TYPE_CHECKING:
    from pathlib import Path

BINARY = b"\x7fELF ... /usr/share/prometheus/alertmanager ... the rest"


def _unpacked(folder: Path, content: bytes) -> Path:
    templates = folder / "usr" / "share" / "prometheus" / "alertmanager"
    templates.mkdir(parents=True)
    (templates / "default.tmpl").write_text("templates")
    program = folder / "usr" / "bin" / "prometheus-alertmanager"
    program.parent.mkdir(parents=True)
    program.write_bytes(content)
    program.chmod(0o755)
    return program


def test_program_is_started_with_its_templates_in_reach(tmp_path: Path) -> None:
    """From any working folder, with its arguments, through a link."""
    program = _unpacked(tmp_path / "a b", BINARY)
    assert relocate_alertmanager(program)
    real = program.with_name(".prometheus-alertmanager.real")
    assert len(real.read_bytes()) == len(BINARY)
    real.write_text('#!/bin/sh\ncat /proc/self/fd/9/./././alertmanager/default.tmpl; echo " $*"\n')
    (tmp_path / "link").symlink_to(program)
    done = subprocess.run(
        [tmp_path / "link", "x", "y z"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout == "templates x y z\n"


def test_nothing_is_done_twice_or_without_need(tmp_path: Path) -> None:
    """Nor to a program of another distribution."""
    program = _unpacked(tmp_path / "debian", BINARY)
    assert relocate_alertmanager(program)
    starter = program.read_bytes()
    assert not relocate_alertmanager(program)
    assert program.read_bytes() == starter
    other = _unpacked(tmp_path / "other", b"\x7fELF no such path")
    assert not relocate_alertmanager(other)
    assert other.read_bytes() == b"\x7fELF no such path"
    assert not relocate_alertmanager(tmp_path / "missing")
    assert os.access(program, os.X_OK)
