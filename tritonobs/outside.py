"""What comes from outside, made safe: addresses, host names, JSON, and text that is shown.

Names of models, answers of servers and texts of alerts are data. Escape sequences (ESC and C1) could clear a
screen or set its title, direction controls could show a text in another order than it has.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
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
        usable = parts.scheme in {"http", "https"} and _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def _is_host(name: str) -> bool:
    """Whether each part of it, between dots, has 1 to 63 characters, as names of hosts have."""
    longest = 63
    return ":" in name or all(0 < len(part) <= longest for part in name.removesuffix(".").split("."))


def is_known(host: str, names: Collection[str], here: str) -> bool:
    """Whether the `Host` header names this machine: loopback, `here` (the address asked), or a known name.

    A browser that was led here by another site's name (DNS rebinding) shows that name, so it is refused.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    # `urlsplit` takes what stands before an @ for a user, and only the rest for the name.
    if not name or "@" in host:
        return False
    return name == "localhost" or name in names or name == here or is_loopback(name)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    import ipaddress  # noqa: PLC0415 (every --help loads this module)

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def whole(text: str) -> str:
    """The text without halves of characters, which JSON can escape, and no file or page can hold."""
    return text.encode("utf-8", "replace").decode()


_FIRST_TEXT, _FIRST_ASTRAL = 0x20, 0x10000


def shown(text: str, *, keep: str = "") -> str:
    r"""The text with every character that does not print as an escape, but for those in `keep`.

    ESC is shown as `\x1b`, what comes after ASCII as JSON writes it (`\u202e`): JSON stays JSON.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in keep else _escape(each) for each in text)


def shown_lines(text: str) -> str:
    """The same for a text of several lines."""
    return shown(text, keep="\n")


def _escape(character: str) -> str:
    code = ord(character)
    if code < _FIRST_TEXT:
        return character.encode("unicode_escape").decode()
    if code < _FIRST_ASTRAL:
        return f"\\u{code:04x}"
    units = character.encode("utf-16-be").hex()
    return f"\\u{units[:4]}\\u{units[4:]}"


class TooMany(ValueError):
    """More values than are held in memory."""


def read_json(text: str | bytes, *, most: int) -> Any:  # noqa: ANN401 (any JSON)
    """The value; nothing is read of what may hold more than `most` values.

    Raises:
        TooMany: it may hold more. A comma within a text counts as well.
        ValueError: it is not JSON, or nested too deeply to be read.
    """
    # Each value is the first, or stands behind one of these.
    if isinstance(text, bytes):
        values = text.count(b",") + text.count(b"[") + text.count(b"{")
    else:
        values = text.count(",") + text.count("[") + text.count("{")
    if values > most:
        raise TooMany(f"holds more than {most:,} values")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
