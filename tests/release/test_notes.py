"""Notes are cut from the changelog, and links are made from one setting."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import site_links
from forge import absolute, forge
from releasing.notes import notes, sections

ROOT = Path(__file__).parents[2]
CHANGELOG = """\
# Changelog

Words above, with ## [no] heading.

## [Unreleased]

## [1.1.0] - 2026-02-01

### Added

- A [page](docs/page.md#part) and [another](https://example.org/x).

## [1.0.0] - 2026-01-01

- First.
"""


def test_sections_are_cut_at_their_headings() -> None:
    """With line, date and text; an empty one is one, too."""
    found = sections(CHANGELOG)

    assert list(found) == ["Unreleased", "1.1.0", "1.0.0"]
    assert [(one.line, one.date) for one in found.values()] == [
        (5, ""),
        (7, "2026-02-01"),
        (13, "2026-01-01"),
    ]
    assert (found["Unreleased"].text, found["1.0.0"].text) == ("", "- First.")


def test_notes_are_of_one_version_with_links_to_its_tag() -> None:
    """They are read where no file lies beside them."""
    assert notes(CHANGELOG, "1.1.0", "https://git.example.org/team/tritonobs") == (
        "# tritonobs 1.1.0\n\n"
        "### Added\n\n"
        "- A [page](https://git.example.org/team/tritonobs/blob/v1.1.0/docs/page.md#part) "
        "and [another](https://example.org/x).\n"
    )


def test_a_version_that_is_not_there_has_no_notes() -> None:
    """Instead of those of another."""
    with pytest.raises(KeyError):
        notes(CHANGELOG, "1.0.1", "https://git.example.org/team/tritonobs")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("[a](b.md)", "[a](F/blob/main/docs/b.md)"),
        ("[a](../b.md#c)", "[a](F/blob/main/b.md#c)"),
        ("![a](p/b.png)", "![a](F/raw/main/docs/p/b.png)"),
        ("[a](#b) [c](mailto:d@e.f) [g](http://h/i)", "[a](#b) [c](mailto:d@e.f) [g](http://h/i)"),
    ],
)
def test_relative_links_become_addresses(text: str, made: str) -> None:
    """Pictures as themselves, files as pages; what is an address already stays."""
    assert absolute(text, "F", folder="docs") == made


def test_the_address_stands_in_one_place_of_what_makes_links() -> None:
    """In pyproject.toml; the site, the Makefile and the Dockerfile read it there or are given it."""
    address = forge(ROOT)
    bare = address.removeprefix("https://")
    files = ["mkdocs.yml", "Makefile", "docker/Dockerfile", "tools/forge.py", "tools/site_links.py"]
    workflows = [str(path.relative_to(ROOT)) for path in (ROOT / ".github" / "workflows").glob("*.yml")]

    assert (ROOT / "pyproject.toml").read_text().count(bare) == 1
    assert [name for name in (*files, *workflows) if bare in (ROOT / name).read_text()] == []
    (line,) = re.findall(r"sed -n '(s/\^forge .*?)' pyproject", (ROOT / "Makefile").read_text())
    assert line == r's/^forge = "\(.*\)"$$/\1/p'
    assert f'\nforge = "{address}"\n' in (ROOT / "pyproject.toml").read_text()


def test_the_site_has_the_address() -> None:
    """Its header, the links to edit a page, and those to files outside of docs/."""
    config = SimpleNamespace(config_file_path=str(ROOT / "mkdocs.yml"), docs_dir=str(ROOT / "docs"), nav=None)
    made = site_links.on_config(config)

    assert made.repo_url == forge(ROOT)
    assert made.repo_url.endswith(f"/{made.repo_name}")


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="reads pyproject.toml as extras.py does, with Python 3.11"
)
def test_the_metadata_has_what_the_setting_says() -> None:
    """`urls` and `readme` are the hook's; a second source would contradict it."""
    import tomllib  # noqa: PLC0415 (newer than Python 3.10)

    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {"readme", "urls"} <= set(described["project"]["dynamic"])
    assert not {"readme", "urls"} & set(described["project"])
