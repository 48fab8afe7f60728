"""An answer of a tool: checked against its schema, names marked, cut to size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from mcp_types import CallToolResult, TextContent
from pydantic import TypeAdapter, ValidationError

from tritonobs.extensions.mcp.ask import Said, Unanswered, compact
from tritonobs.extensions.mcp.marking import marked, names_in, plain
from tritonobs.extensions.mcp.pages import cut, short, size
from tritonobs.extensions.mcp.schemas import NOTE, VERSION, Next

LEAST_BYTES, USUAL_BYTES, MOST_BYTES = 2048, 4096, 65_536
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How much of an answer: a page of so many bytes."""

    most_bytes: int = USUAL_BYTES
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a tool found: its JSON, its lists, the short text, what was not read, and which calls say more."""

    form: str
    value: Any
    text: str
    lists: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    next: tuple[Next, ...] = ()


def checked(said: Said, schema: Any) -> Any:  # noqa: ANN401 (a type to check by, and JSON)
    """The answer of a command as its schema has it, safe to show.

    Raises:
        Unanswered: it is of another shape.
    """
    return valid(said.value, schema)


def valid(value: Any, schema: Any) -> Any:  # noqa: ANN401 (as above)
    """The same for JSON from elsewhere."""
    adapter = TypeAdapter(schema)
    try:
        held = adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        at = ".".join(map(str, first["loc"])) or "its beginning"
        raise Unanswered(f"the answer is of another shape than promised, at {at}: {first['msg']}") from None
    return plain(adapter.dump_python(held, mode="json", exclude_none=True))


def result(found: Found, wanted: Wanted) -> CallToolResult:
    """The answer of the protocol: JSON as structured content, and as text for clients that read only that."""
    names, most = names_in(found.value), wanted.most_bytes
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
        page = cut(value, found.lists, most=room, page=wanted.page)
        counted = {
            "page": page.page,
            "pages": page.pages,
            "left_out": page.left_out,
            "shortened": page.shortened or None,
        }
        # Data is there even where it is empty, for it is what was asked for.
        answer = {**short({**envelope, **counted}), "data": page.data}
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
