"""Text from outside, made fit for a Markdown message: shown as it is, never obeyed."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, urlsplit

# Bidirectional overrides and isolates could show a text in another order than it is read in.
_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_JOINERS = "\u200c\u200d\ufe0f"
# Look-alikes, because DingTalk documents no way to escape.
_LOOKS = str.maketrans(
    {
        "*": "\N{ASTERISK OPERATOR}",
        "`": "\N{MODIFIER LETTER GRAVE ACCENT}",
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
        "|": "\N{BROKEN BAR}",
        "~": "\N{TILDE OPERATOR}",
        "\\": "\N{REVERSE SOLIDUS OPERATOR}",
    }
)
_URL_SAFE = "%:/?#@!$&*+,;=~-._"


def plain(text: str, most: int) -> str:
    """At most `most` characters on one line, without markup, links, control or direction characters."""
    seen = "".join(
        character
        if character in _JOINERS or unicodedata.category(character) not in _UNSEEN_CATEGORIES
        else " "
        for character in text[: most * 4]
    )
    line = " ".join(seen.translate(_LOOKS).split()).replace("](", "] (")
    cut = len(line) > most or len(text) > most * 4
    return line[: most - 1].rstrip() + "…" if cut else line


def web_address(text: str) -> str:
    """The address, encoded so that it cannot end the link it stands in; "" if it is none of the web's."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return ""
    return quote(text.strip(), safe=_URL_SAFE)
