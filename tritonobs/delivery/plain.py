"""Text from outside for a Markdown message: escaped, so that it is shown and not interpreted."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, urlunsplit

from tritonobs.addresses import web_parts

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
_BLOCK = re.compile(r"^(#+(?= |$)|[-=_+]{3,}|[-+](?= |$)|[0-9]+[.)](?= |$))")
_STARTS = str.maketrans(
    {
        "#": "\N{FULLWIDTH NUMBER SIGN}",
        "-": "\N{NON-BREAKING HYPHEN}",
        "=": "\N{MODIFIER LETTER SHORT EQUALS SIGN}",
        "_": "\N{FULLWIDTH LOW LINE}",
        "+": "\N{FULLWIDTH PLUS SIGN}",
        ".": "\N{ONE DOT LEADER}",
        ")": "\N{FULLWIDTH RIGHT PARENTHESIS}",
    }
)
# With %, because an address may be encoded already. Without brackets, which would end the link.
_URL_SAFE = "%:/?#@!$&*+,;=~-._"


def plain(text: str, most: int) -> str:
    """At most `most` characters on one line, without markup, links, control or direction characters."""
    seen = "".join(map(_seen, text[: most * 4].translate(_LOOKS)))
    line = _BLOCK.sub(_inline, " ".join(seen.split()).replace("](", "] ("))
    cut = len(line) > most or len(text) > most * 4
    return line[: most - 1].rstrip() + "…" if cut else line


def _seen(character: str) -> str:
    if character in _JOINERS or character.isspace():
        return character if character in _JOINERS else " "
    if unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return f"\N{REVERSE SOLIDUS OPERATOR}u{ord(character):04x}"
    return character


def _inline(start: re.Match[str]) -> str:
    """What would begin a heading, a list or a rule at the start of a line, as text that looks like it."""
    return start[0].translate(_STARTS)


def web_address(text: str) -> str:
    """The address, encoded so that it cannot end the link around it; "" if it is not http or https."""
    # JSON can hold half of a character, which has no bytes of its own.
    parts = web_parts(quote(text.strip(), safe=_URL_SAFE + "[]", errors="surrogatepass"))
    if parts is None:
        return ""
    # Brackets of a host are those of IPv6: no address is usable with others.
    return f"{parts.scheme}://{parts.netloc}{quote(urlunsplit(('', '', *parts[2:])), safe=_URL_SAFE)}"
