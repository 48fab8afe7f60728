"""A hook of mkdocs: the address of the repository. Links from a page to files outside docs/ lead there."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge import forge

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_LINK = re.compile(r"\]\((\.\./[^)\s#]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The configuration with the address of the repository, from pyproject.toml."""
    config.repo_url = forge(Path(config.config_file_path).parent)
    config.repo_name = "/".join(config.repo_url.split("/")[3:])
    return config


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:  # noqa: ANN401 (mkdocs')
    """The page, with `../bench/RESULTS.md` as an address of the repository."""
    here = posixpath.dirname(page.file.src_uri)

    def elsewhere(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", here, link[1]))
        return link[0] if path.startswith("docs/") else f"]({config.repo_url}/blob/main/{path}"

    return _LINK.sub(elsewhere, markdown)
