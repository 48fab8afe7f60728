"""Names and texts from monitored systems, made recognisable as data.

A model may be called "ignore all previous instructions". A reader of an answer must see where such a name
begins and ends: in sentences it stands between « and », and no character of it acts on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from tritonobs.outside import shown

OPEN, CLOSE = "«", "»"
_ESCAPED: Final = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in (OPEN, CLOSE)})
_KEYS: Final = frozenset(
    ("model", "models", "replica", "replicas", "place", "path", "stage", "pipeline", "subject", "slo")
)
"""Fields that hold names, in the JSON of commands."""
_MOST_NAMES: Final = 2000


def plain(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """The same JSON with every control character of its texts and keys spelled out, and our marks, too."""
    if isinstance(value, str):
        return shown(value).translate(_ESCAPED)
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def names_in(value: Any) -> frozenset[str]:  # noqa: ANN401 (any JSON)
    """The names of models, stages and servers in an answer."""
    return frozenset(name for name in _names(value, named=False) if len(name) > 1)


def marked(text: str, names: Collection[str]) -> str:
    """The text with every name in it between our marks. A digit alone is a version, and stays as it is."""
    there = sorted((name for name in names if name in text), key=len, reverse=True)[:_MOST_NAMES]
    if not there:
        return text
    pattern = "|".join(map(re.escape, there))
    return re.sub(rf"(?<![\w{OPEN}])(?:{pattern})(?![\w{CLOSE}])", rf"{OPEN}\g<0>{CLOSE}", text)


def _names(value: Any, *, named: bool) -> Iterator[str]:  # noqa: ANN401 (any JSON)
    if isinstance(value, str):
        if named and value and not value.isdigit():
            yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _names(one, named=key in _KEYS)
    elif isinstance(value, list):
        for one in value:
            yield from _names(one, named=named)
