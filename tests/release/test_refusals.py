"""What may not be released is refused: all of it at once, each with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import release
from releasing.refusals import SAID_ALSO, VERSION_FILE, refusals, strange_links, version_of
from releasing.wheels import unfit_headers

ROOT = Path(__file__).parents[2]


def _said(root: Path, tag: str = "") -> list[str]:
    return [str(one) for one in refusals(root, tag)]


def test_a_checkout_with_nothing_wrong_is_not_refused(checkout: Path) -> None:
    """With the tag of its version, and without one."""
    assert _said(checkout) == []
    assert _said(checkout, "v1.2.3") == []


def test_everything_is_said_at_once(checkout: Path, commit) -> None:
    """Versions, changelog, links, and what is not committed."""
    (checkout / "docker" / "Dockerfile").write_text("FROM scratch\nARG VERSION=1.2.2\n")
    (checkout / "docs" / "kubernetes.md").write_text("r/tritonobs:1.2.3\n\nr/tritonobs:1.2.1 is pushed\n")
    (checkout / "tests/e2e/kubernetes/test_page.py").write_text("nothing\n")
    (checkout / "CHANGELOG.md").write_text("## [Unreleased]\n\n- More.\n\n## [1.2.2] - 2026-01-01\n\n- A.\n")
    (checkout / "README.md").write_text("# A\n\n[b](https://github.com/tritonobs/tritonobs/blob/main/b.md)\n")
    commit(checkout)
    (checkout / "docs" / "new.md").write_text("new\n")
    (checkout / "README.md").write_text((checkout / "README.md").read_text() + "more\n")

    assert _said(checkout, "v1.2.4") == [
        "tritonobs/__init__.py:3:1: says version 1.2.3, and the tag is v1.2.4 (tag v1.2.3)",
        "docker/Dockerfile:2:1: says version 1.2.2 (tritonobs/__init__.py says 1.2.3)",
        "docs/kubernetes.md:3:1: says version 1.2.1 (tritonobs/__init__.py says 1.2.3)",
        "tests/e2e/kubernetes/test_page.py: says no version (write 1.2.3)",
        "CHANGELOG.md:1:1: [Unreleased] has entries (move them below the version)",
        "CHANGELOG.md: has no entry for 1.2.3 (write ## [1.2.3] - YYYY-MM-DD)",
        (
            "README.md:3:1: links to github.com/tritonobs/tritonobs "
            "(forge in pyproject.toml is git.example.org/team/tritonobs)"
        ),
        "README.md: is not committed (commit it, or remove it)",
        "docs/new.md: is not committed (commit it, or remove it)",
    ]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("CHANGELOG.md", "## [1.2.3]\n\n- A.\n", "[1.2.3] has no date (write ## [1.2.3] - YYYY-MM-DD)"),
        ("CHANGELOG.md", "## [1.2.3] - 2026-01-31\n\n## [1.2.2]\n", "[1.2.3] is empty (write what changed)"),
        (VERSION_FILE, '__version__ = "1.2"\n', "says version 1.2 (allowed are three numbers, as in 1.2.3)"),
    ],
)
def test_what_is_half_done_is_refused(checkout: Path, commit, file: str, text: str, said: str) -> None:
    """An entry without a date or without words; a version that a chart could not have."""
    (checkout / file).write_text(text)
    commit(checkout)

    assert f"{file}:1:1: {said}" in _said(checkout)


def test_a_checkout_without_a_version_is_refused(checkout: Path, commit) -> None:
    """And so is one without the file."""
    (checkout / VERSION_FILE).unlink()
    commit(checkout)

    assert f'{VERSION_FILE}: says no version (write __version__ = "1.2.3")' in _said(checkout)


def test_the_command_builds_nothing_of_what_is_refused(checkout: Path, capsys) -> None:
    """It says why, and how to try the artifacts all the same."""
    (checkout / "new").write_text("new\n")

    code = release.main(["--skip", "image"], root=checkout)

    assert code == 1
    assert capsys.readouterr().err == (
        "new: is not committed (commit it, or remove it)\n"
        "nothing was built; to build and try the artifacts all the same: --trial\n"
    )
    assert not (checkout / "build").exists()


def test_a_folder_that_is_no_checkout_is_one_message(tmp_path: Path, capsys, monkeypatch) -> None:
    """Git's own words, and no traceback."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())

    code = release.main([], root=tmp_path / "a")

    assert code == 3
    assert "not a git repository" in capsys.readouterr().err


def test_another_folder_is_not_replaced(checkout: Path, tmp_path: Path, capsys) -> None:
    """A release replaces an earlier release alone."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear\n")
    skipped = [word for part in ("sdist", "wheels", "image") for word in ("--skip", part)]

    code = release.main([*skipped, "--out", str(tmp_path / "home")], root=checkout)

    assert code == 3
    assert "holds something else than a release" in capsys.readouterr().err
    assert (tmp_path / "home" / "letter").read_text() == "dear\n"


def test_what_is_missing_is_said_with_how_to_get_it(checkout: Path, capsys, monkeypatch) -> None:
    """Packages and Docker in one go, before anything is built."""
    monkeypatch.setattr("releasing.wheels._MODULES", ("no_such_module",))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")

    code = release.main([], root=checkout)

    said = capsys.readouterr().err
    assert code == 3
    assert re.search(r"^no_such_module\b.* not here: pip install '\.\[release\]'$", said, re.MULTILINE)
    assert "the image needs a running docker with buildx" in said
    assert said.endswith("or leave it out: --skip image\n")
    assert not (checkout / "build").exists()


def test_headers_for_one_architecture_are_said_before_a_compiler_trips_over_them(tmp_path: Path) -> None:
    """Debian's include others by the compiler's architecture; those of a Python built from source do not."""
    assert "has no headers of Python" in unfit_headers(tmp_path)
    (tmp_path / "Python.h").touch()
    (tmp_path / "pyconfig.h").write_text("# include <x86_64-linux-gnu/python3.11/pyconfig.h>\n")
    assert "are for one architecture, as Debian's are" in unfit_headers(tmp_path)
    (tmp_path / "pyconfig.h").write_text("#define SIZEOF_LONG 8\n")
    assert unfit_headers(tmp_path) == ""


@pytest.mark.parametrize("name", ["r/tritonobs:1.2.3", "r/tritonobs@sha256:0", "r/Tritonobs", "a b", ""])
def test_an_image_with_a_tag_is_refused(checkout: Path, capsys, name: str) -> None:
    """The tag is the version, and a name that no registry takes would fail an hour later."""
    with pytest.raises(SystemExit) as ended:
        release.main(["--image", name], root=checkout)

    assert ended.value.code == 2
    assert "is not an image without a tag" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["tritonobs", "team/tritonobs", "localhost:5000/tritonobs", "R.example.org/a/b"]
)
def test_an_image_of_any_registry_is_taken(checkout: Path, name: str) -> None:
    """With a port, and with folders; what is asked for next is a version that may be released."""
    (checkout / "new").write_text("new\n")

    assert release.main(["--image", name], root=checkout) == 1


def test_every_place_that_names_the_version_of_this_checkout_is_read() -> None:
    """A file with the version that no refusal reads would be forgotten."""
    version = re.compile(rf"(?:VERSION=|tritonobs:){re.escape(version_of(ROOT))}\b")
    found = {
        str(path.relative_to(ROOT))
        for folder in ("docker", "docs", "examples", "tests/e2e")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in ("", ".md", ".py", ".yaml", ".yml", ".gpu", ".debian") and path.is_file()
        if version.search(path.read_text(encoding="utf-8"))
    }

    assert found
    assert sorted(found - set(SAID_ALSO)) == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout: nothing here is tracked by git")
def test_every_link_to_the_repository_leads_to_the_forge_of_pyproject() -> None:
    """The setting moves, and the pages that have to follow it are named."""
    assert [str(one) for one in strange_links(ROOT)] == []
