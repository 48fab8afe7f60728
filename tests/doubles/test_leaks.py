"""The search for secrets finds every one, wherever it was written, and nothing else."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support.leaks import leaks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "0123456789abcdef"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Iterator[Path]:
    for name, text in (
        ("stack/secrets/oncall", f"https://oapi.dingtalk.com/robot/send?access_token={TOKEN}\n"),
        ("stack/secrets/mail", "a password of some length"),
        ("serve/token", "tok-of-some-length"),
        ("serve/secret", "SECRET"),
        ("stack/logs/serve.log", "robot oncall accepted a message, SECRET is a word\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path
    # What was planted here must not be found when the whole run is searched.
    shutil.rmtree(tmp_path)


def test_clean_run_has_no_leak(folder: Path) -> None:
    """The secret files themselves are none."""
    assert leaks(folder) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"POST /robot/send?access_token={TOKEN}&timestamp=1", id="a request line"),
        pytest.param(f"token {TOKEN}", id="the token alone"),
        pytest.param('password: "a password of some length"', id="a password"),
        pytest.param("Bearer tok-of-some-length", id="a header"),
        pytest.param("\0\1\2tok-of-some-length\3", id="in what is no text"),
    ],
)
def test_secret_is_found(folder: Path, text: str) -> None:
    """Wherever it was written."""
    written = folder / "stack" / "data" / "block"
    written.parent.mkdir()
    written.write_text(f"before\n{text}\nafter\n")
    assert leaks(folder) == [written]
