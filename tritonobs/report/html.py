"""Results as HTML files that need nothing else; names in them are data."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


def template(package: str, name: str) -> Template:
    """The template of this name in the folder `templates` of a package."""
    # Strict, because a name that is missing would leave a hole in the page, and no error.
    pages = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return pages.get_template(name)
