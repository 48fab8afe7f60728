"""Commands and what they print, letter by letter, where no server is needed or one is played back.

`TRITONOBS_GOLDEN=write pytest tests/cli/test_transcripts.py` writes the transcripts anew.
"""

from __future__ import annotations

import os
import shlex
import shutil
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tritonobs import assets

if TYPE_CHECKING:
    from conftest import Done, Run

TRANSCRIPTS = Path(__file__).parent / "transcripts"
BEGAN, SECONDS_BETWEEN_PAGES = 1795240058.2, 5.0
"""When the first page was recorded; its heartbeats are as old as they were."""


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_their_transcript_says(
    path: Path, run: Run, folder: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Result, complaint and exit status of every command of the file, in the folder they share."""
    assert folder.exists()
    moments = count()
    clock = SimpleNamespace(time=lambda: BEGAN + SECONDS_BETWEEN_PAGES * (next(moments) % 2))
    monkeypatch.setattr("tritonobs.timings.top.time", clock)
    monkeypatch.setattr("tritonobs.cli.live.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setenv("COLUMNS", "100")
    written = path.read_text(encoding="utf-8")
    commands = [line[2:] for line in written.splitlines() if line.startswith("$ tritonobs ")]

    seen = "\n".join(
        _told(command, run(*shlex.split(command.replace("PAGE", page))[1:]), page) for command in commands
    )
    if os.environ.get("TRITONOBS_GOLDEN") == "write":
        path.write_text(seen, encoding="utf-8")

    assert seen == path.read_text(encoding="utf-8")


def _told(command: str, done: Done, page: str) -> str:
    """A command as it looks on a screen; what went to stderr is marked, and so is a status other than 0."""
    lines = [f"$ {command}", *done.stdout.splitlines()]
    lines += [f"! {line}".rstrip() for line in done.stderr.splitlines()]
    lines += [f"[exit {done.returncode}]"] if done.returncode else []
    return "\n".join(line.rstrip() for line in lines).replace(page, "PAGE") + "\n"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Everything the commands read: the example fleet, one with mistakes, saved snapshots."""
    shutil.copy(assets.folder("examples") / "fleet.yaml", tmp_path / "fleet.yaml")
    for path in TRANSCRIPTS.iterdir():
        if path.suffix in {".yaml", ".json"}:
            shutil.copy(path, tmp_path / path.name)
    return tmp_path
