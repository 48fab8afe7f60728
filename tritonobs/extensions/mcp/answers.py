"""An answer of a tool: checked against its schema, names marked as data, lists on pages, cut to size.

A model may be called "ignore all previous instructions". A reader of an answer must see where such a name
begins and ends: in sentences it stands between « and », and no character of it acts on a terminal. Sizes are
bytes of compact JSON in UTF-8.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Any, Final

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from tritonobs.clients.transport import masked_text
from tritonobs.extensions.mcp.ask import Unanswered, compact
from tritonobs.extensions.mcp.schemas import LISTS, NOTE, VERSION, Next
from tritonobs.outside import shown

USUAL_BYTES = 4096
_MOST_UNREAD, _MOST_NEXT = 3, 3
_TEXT, _WHY, _WHAT = 8, 40, 60
"""The share of an answer that its text, and each thing that was not read, may take: one in so many."""
_LONGEST_ARGUMENTS: Final = 300
_ROUNDS: Final = 4
_SPARE_BYTES: Final = 160
"""For the numbers of pages and of what is left out, which are known last."""
_TEXTS: Final = frozenset(
    ("sentence", "what", "next_steps", "notes", "still_burning", "baseline_note", "summary")
)
"""Fields of sentences, in which names are marked."""
OPEN, CLOSE = "«", "»"
_ESCAPED: Final = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in (OPEN, CLOSE)})
_KEYS: Final = frozenset(
    ("model", "models", "replica", "replicas", "place", "path", "stage", "pipeline", "subject", "slo")
)
"""Fields that hold names, in the JSON of commands."""
_MOST_NAMES: Final = 2000
_DIGITS: Final = 6
_TIMES_FROM: Final = 1e6
"""From here on a number is a time or a large count, which digits must not be taken from."""
_SHORTEST_TEXT: Final = 120
_CUT: Final = "…"
_ROOT: Final = ""
_PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a tool found: its JSON, the short text, what was not read, and which calls say more."""

    form: str
    value: Any
    text: str
    unread: tuple[tuple[str, str], ...] = ()
    next: tuple[Next, ...] = ()


class Paged(BaseModel):
    """Arguments that every tool that reads has behind its own."""

    page: Annotated[int, Field(ge=1, le=1000, description="which page of the answer")] = 1
    max_bytes: Annotated[
        int,
        Field(
            ge=2048,
            le=65_536,
            description="how large the answer may be; ask for more only if it was cut",
        ),
    ] = USUAL_BYTES


def valid(value: Any, schema: Any) -> Any:  # noqa: ANN401 (JSON, and a type to check by)
    """An answer as its schema has it, safe to show.

    Raises:
        Unanswered: it is of another shape.
    """
    adapter = TypeAdapter(schema)
    try:
        held = adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        at = ".".join(map(str, first["loc"])) or "its beginning"
        raise Unanswered(f"the answer is of another shape than promised, at {at}: {first['msg']}") from None
    return plain(adapter.dump_python(held, mode="json", exclude_none=True))


def result(found: Found, *, most: int, page: int) -> CallToolResult:
    """The answer of the protocol, a page of at most so many bytes.

    It is JSON as structured content, and as text for clients that read only that.
    """
    names = names_in(found.value)
    envelope = {
        "form": f"{found.form}/{VERSION}",
        "note": NOTE,
        "text": _clipped(marked(plain(found.text), names), most // _TEXT),
        "read_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "unread": [
            {"what": _clipped(plain(what), most // _WHAT), "why": _clipped(plain(why), most // _WHY)}
            for what, why in _few(found.unread)
        ],
        "next": _calls(found.next),
    }
    value = _sentences_marked(short(found.value), names)
    room = most - size(short(envelope)) - _SPARE_BYTES
    for _ in range(_ROUNDS):
        here = cut(value, LISTS.get(found.form, ()), most=room, page=page)
        counted = {
            "page": here.page,
            "pages": here.pages,
            "left_out": here.left_out,
            "shortened": here.shortened or None,
        }
        # Data is there even where it is empty, for it is what was asked for.
        answer = {**short({**envelope, **counted}), "data": here.data}
        if (excess := size(answer) - most) <= 0:
            break
        room -= excess
    return CallToolResult(content=[TextContent(type="text", text=compact(answer))], structured_content=answer)


def _calls(calls: Sequence[Next]) -> list[Any]:
    """Those whose arguments are of a sane length."""
    found = (plain(one.model_dump(mode="json")) for one in calls)
    return [one for one in found if size(one) <= _LONGEST_ARGUMENTS][:_MOST_NEXT]


def _sentences_marked(value: Any, names: frozenset[str], *, sentence: bool = False) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(value, str):
        return marked(value, names) if sentence else value
    if isinstance(value, dict):
        return {key: _sentences_marked(one, names, sentence=key in _TEXTS) for key, one in value.items()}
    if isinstance(value, list):
        return [_sentences_marked(one, names, sentence=sentence) for one in value]
    return value


def _few(unread: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    more = len(unread) - _MOST_UNREAD
    return [*unread[:_MOST_UNREAD], *([(f"{more} more", "data.unseen lists them")] if more > 0 else [])]


def _clipped(text: str, most: int) -> str:
    """At most so many bytes of the text; a character is not cut in half."""
    data = text.encode()
    return text if len(data) <= most else f"{data[: max(0, most - 3)].decode(errors='ignore')}…"


def plain(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """The same JSON with control characters of its texts and keys spelled out, our marks, too; no password.

    A text of others, such as an alert's, may have an address with one.
    """
    if isinstance(value, str):
        return shown(masked_text(value)).translate(_ESCAPED)
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def names_in(value: Any) -> frozenset[str]:  # noqa: ANN401 (any JSON)
    """The names of models, stages, servers and alerts in an answer."""
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
            # That of an alert: what has labels.
            yield from _names(one, named=key in _KEYS or (key == "name" and "labels" in value))
    elif isinstance(value, list):
        for one in value:
            yield from _names(one, named=named)


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
    left_out = _counted(items) - _counted(here)
    return Cut(
        data=data,
        page=page,
        pages=len(pages),
        left_out={name or "data": number for name, number in left_out.items()},
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


def _counted(items: Sequence[_Item]) -> Counter[str]:
    return Counter(name for name, *_ in items)


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
