"""Links to the repository. All of them are made from one line of pyproject.toml, which begins with `forge =`.

The metadata of wheels, the site of the documentation and the notes of a release use it; images have it as a
label.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    MetadataHookInterface: Any = object
else:
    try:
        from hatchling.metadata.plugin.interface import MetadataHookInterface
    except ImportError:  # no wheel is built here
        MetadataHookInterface = object

_PICTURE = re.compile(r"(!\[[^\]]*\])\((?!https?://|#|mailto:)([^)]+)\)")
_LINK = re.compile(r"(?<!!)(\[[^\]]*\])\((?!https?://|#|mailto:)([^)]+)\)")


def forge(root: Path) -> str:
    """The address of the repository, without a slash at its end; `root` is a checkout.

    Raises:
        KeyError: pyproject.toml does not say it.
    """
    described = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    address: str = described["tool"]["hatch"]["metadata"]["hooks"]["custom"]["forge"]
    return address


def absolute(markdown: str, address: str, *, ref: str = "main", folder: str = "") -> str:
    """The text with relative links as addresses of the forge at `ref`; its file stands in `folder`."""

    def leads_to(kind: str) -> Any:  # noqa: ANN401 (what re.sub takes)
        def replaced(link: re.Match[str]) -> str:
            return f"{link[1]}({address}/{kind}/{ref}/{posixpath.normpath(posixpath.join(folder, link[2]))})"

        return replaced

    return _LINK.sub(leads_to("blob"), _PICTURE.sub(leads_to("raw"), markdown))


class ForgeLinks(MetadataHookInterface):
    """Writes the project's addresses, and the README for a package index, which has no files beside it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """As hatchling calls it when it reads pyproject.toml."""
        address = self.config["forge"]
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(readme, address)}
        metadata["urls"] = {
            "Homepage": address,
            "Documentation": f"{address}/blob/main/docs/index.md",
            "Source": address,
            "Issues": f"{address}/issues",
            "Changelog": f"{address}/blob/main/CHANGELOG.md",
        }
