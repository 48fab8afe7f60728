"""A hook of mkdocs: links from a page to files outside docs/ lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_LINK = re.compile(r"\]\((\.\./[^)\s#]+)")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:  # noqa: ANN401 (mkdocs')
    """The page, with `../bench/RESULTS.md` as an address of the repository."""
    here = posixpath.dirname(page.file.src_uri)

    def elsewhere(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", here, link[1]))
        return link[0] if path.startswith("docs/") else f"]({config.repo_url}/blob/main/{path}"

    return _LINK.sub(elsewhere, markdown)
