"""An answer of a size that was asked for: lists are spread over pages, and what is still too large is cut.

Sizes are bytes of compact JSON in UTF-8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tritonobs.extensions.mcp.ask import compact

_DIGITS: Final = 6
_TIMES_FROM: Final = 1e6
"""From here on a number is a time or a large count, which digits must not be taken from."""
_SHORTEST_TEXT: Final = 120
_CUT: Final = "…"
_ROOT: Final = ""
_PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One page of `pages`: its data, how many items of each list are elsewhere, and whether it was cut."""

    data: Any
    page: int
    pages: int
    left_out: dict[str, int]
    shortened: bool


def size(value: Any) -> int:  # noqa: ANN401 (any JSON)
    """Its bytes."""
    return len(compact(value).encode())


def cut(value: Any, lists: Sequence[str], *, most: int, page: int) -> Cut:  # noqa: ANN401 (any JSON)
    """The page of this number, 1 for the first; the last one where there are fewer.

    `lists` are fields of an object whose items are spread over pages, first things first. A list is spread
    itself.
    """
    skeleton, items = _apart(value, lists)
    bones = _fitting(skeleton, most // 2)
    room = max(1, most - size(bones))
    fit = [(name, key, _fitting(item, room - size(key) - 2)) for name, key, item in items]
    pages = list(_filled(fit, room))
    page = min(page, len(pages))
    here, data = pages[page - 1], bones
    for name, key, item in here:
        where = data if name == _ROOT else data.setdefault(name, {} if key else [])
        if key:
            where[key] = item
        else:
            where.append(item)
    of_all = _counted(items)
    left_out = {name: number - _counted(here).get(name, 0) for name, number in of_all.items()}
    return Cut(
        data=data,
        page=page,
        pages=len(pages),
        left_out={name or "data": number for name, number in left_out.items() if number},
        shortened=bones != skeleton
        or any(one != whole for (*_, one), (*_, whole) in zip(fit, items, strict=True)),
    )


def short(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """The same without what says nothing (none, empty texts and lists), and numbers of six digits."""
    if isinstance(value, dict):
        made = {key: short(one) for key, one in value.items()}
        return {key: one for key, one in made.items() if one is not None and one not in ("", [], {})}
    if isinstance(value, list):
        return [short(one) for one in value]
    if isinstance(value, float) and math.isfinite(value):
        return round(value, 3) if abs(value) >= _TIMES_FROM else float(f"{value:.{_DIGITS}g}")
    return value


_Item = tuple[str, str, Any]
"""The list it is of, its key where that is a mapping, and the item."""


def _apart(value: Any, lists: Sequence[str]) -> tuple[Any, list[_Item]]:  # noqa: ANN401 (any JSON)
    if isinstance(value, list):
        return [], [(_ROOT, "", item) for item in value]
    items: list[_Item] = []
    for name in lists:
        held = value.get(name, [])
        pairs = held.items() if isinstance(held, dict) else (("", item) for item in held)
        items += [(name, key, item) for key, item in pairs]
    return {key: one for key, one in value.items() if key not in lists}, items


def _filled(items: Sequence[_Item], room: int) -> Iterator[list[_Item]]:
    """Pages of items in their order; there is always one."""
    here: list[_Item] = []
    held = 0
    named: set[str] = set()
    for name, key, item in items:
        # A list costs its name once on a page.
        needs = size(item) + size(key) + 2 + (0 if name in named else len(name.encode()) + 6)
        if here and held + needs > room:
            yield here
            here, held, named = [], 0, set()
            needs = size(item) + size(key) + 2 + len(name.encode()) + 6
        here.append((name, key, item))
        held += needs
        named.add(name)
    yield here


def _counted(items: Sequence[_Item]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, *_ in items:
        found[name] = found.get(name, 0) + 1
    return found


def _fitting(value: Any, most: int) -> Any:  # noqa: ANN401 (any JSON)
    """The value, or what is left of it: its longest lists and texts are halved until it fits."""
    while size(value) > most:
        smaller = _smaller(value)
        if smaller == value:
            return value
        value = smaller
    return value


def _smaller(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """The value with its largest part cut once."""
    if isinstance(value, str):
        return value if len(value) <= _SHORTEST_TEXT else value[: max(_SHORTEST_TEXT, len(value) // 2)] + _CUT
    if isinstance(value, list) and value:
        largest = max(range(len(value)), key=lambda at: size(value[at]))
        if len(value) <= _PAIR and not all(isinstance(one, dict) for one in value):
            # A time and its value, or a name and its number, belong together.
            less = _smaller(value[largest])
            return [*value[:largest], less, *value[largest + 1 :]]
        # One huge item is cut itself; of many the later half goes.
        if 2 * size(value[largest]) > size(value) and (less := _smaller(value[largest])) != value[largest]:
            return [*value[:largest], less, *value[largest + 1 :]]
        return value[: len(value) // 2]
    if isinstance(value, dict) and value:
        for key in sorted(value, key=lambda one: -size(value[one])):
            if (less := _smaller(value[key])) != value[key]:
                return {**value, key: less}
    return value
