"""Foreign text made safe for a terminal, a log or a chat: control characters are spelled out.

Names of models, answers of servers and texts of alerts are data. Escape sequences (ESC and C1) could clear a
screen or set its title, direction controls could show a text in another order than it has.
"""

from __future__ import annotations

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
