"""What a usable http address is: one rule for fleet files, options, secrets and links."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def web_parts(text: str) -> SplitResult | None:
    """The parts of an `http://` or `https://` address; None for any other text.

    It has a host, a port from 1 to 65535 if any, and neither spaces nor characters that do not print.
    """
    # urlsplit silently drops tabs and line breaks, so they are searched in the text.
    if " " in text or not text.isprintable():
        return None
    try:
        parts = urlsplit(text)
        # `port` is read for its own check: it raises ValueError for 99999.
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None
