"""Secrets are read from files and variables, refused where others can read them, and never shown."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.secrets import Secret, read_secret
from tritonobs.errors import SecretUnusable
from tritonobs.plan.notify import SecretSource

if TYPE_CHECKING:
    from pathlib import Path


def _file(folder: Path, text: bytes, mode: int = 0o600) -> Path:
    file = folder / "secret"
    file.write_bytes(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o440], ids=oct)
def test_file_of_owner_or_group_is_read(tmp_path: Path, mode: int) -> None:
    """A file that not every user can read is read, without the newline at its end."""
    file = _file(tmp_path, b"SECx\n", mode)
    assert read_secret(SecretSource(file=file), owner="x").reveal() == "SECx"


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o666, 0o444], ids=oct)
def test_file_everybody_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """The error names the file and the cure, not the secret."""
    file = _file(tmp_path, b"SECx", mode)
    with pytest.raises(
        SecretUnusable, match=f"robot a: every user can read {file}; run: chmod o-rwx"
    ) as caught:
        read_secret(SecretSource(file=file), owner="robot a")
    assert "SECx" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(b"\n", "is empty", id="empty"),
        pytest.param(b"a\nb\n", "more than one line", id="two lines"),
        pytest.param(b"\xff\xfe", "not UTF-8", id="binary"),
        pytest.param(bytes(100_000), "has more than 65536 bytes", id="endless"),
    ],
)
def test_unusable_file_is_refused(tmp_path: Path, text: bytes, words: str) -> None:
    """A secret is one line of text."""
    with pytest.raises(SecretUnusable, match=words):
        read_secret(SecretSource(file=_file(tmp_path, text)), owner="x")


def test_missing_file_and_variable_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is an empty secret."""
    with pytest.raises(SecretUnusable, match="No such file"):
        read_secret(SecretSource(file=tmp_path / "none"), owner="x")
    with pytest.raises(SecretUnusable, match="is not a file"):
        read_secret(SecretSource(file=tmp_path), owner="x")
    monkeypatch.delenv("TOKEN_X", raising=False)
    with pytest.raises(SecretUnusable, match="variable TOKEN_X is not set"):
        read_secret(SecretSource(env="TOKEN_X"), owner="x")
    monkeypatch.setenv("TOKEN_X", " SECy ")
    assert read_secret(SecretSource(env="TOKEN_X"), owner="x").reveal() == "SECy"


def test_secret_is_never_shown() -> None:
    """`repr`, `str`, formatting and pickling show nothing of it."""
    secret = Secret("SECx")
    assert "SECx" not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError, match="does not leave the process"):
        pickle.dumps(secret)


def test_secret_matches_only_itself() -> None:
    """Comparison is by bytes, so that no text of any encoding breaks it."""
    assert Secret("käse").matches("käse".encode())
    assert not Secret("käse").matches("käse".encode("latin-1"))
    assert not Secret("käse").matches(b"")
