"""A hook of mkdocs: the address of the repository, and a page for each chat.

Links from a page to files outside docs/ lead to the repository.
"""

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
    """The configuration with the address of the repository, from pyproject.toml, and the pages of chats."""
    config.repo_url = forge(Path(config.config_file_path).parent)
    config.repo_name = "/".join(config.repo_url.split("/")[3:])
    chats = sorted((Path(config.docs_dir) / "chats").glob("*.md"))
    pages = [{_title(page): f"chats/{page.name}"} for page in chats]
    for section in config.nav or ():
        for entries in section.values():
            if isinstance(entries, list) and {"Delivery": "delivery.md"} in entries:
                entries.insert(entries.index({"Delivery": "delivery.md"}) + 1, {"Chats": pages})
    return config


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:  # noqa: ANN401 (mkdocs')
    """The page, with `../bench/RESULTS.md` as an address of the repository."""
    here = posixpath.dirname(page.file.src_uri)

    def elsewhere(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", here, link[1]))
        return link[0] if path.startswith("docs/") else f"]({config.repo_url}/blob/main/{path}"

    return _LINK.sub(elsewhere, markdown)
