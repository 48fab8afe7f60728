"""Snapshots as files: JSON, readable by people, judged again by any later tritonobs of the same format."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from tritonobs import files
from tritonobs.clients.prometheus import Reading, Series
from tritonobs.errors import FileUnusable, SnapshotUnusable
from tritonobs.extensions.triage.snapshot import Snapshot
from tritonobs.outside import TooMany, read_json
from tritonobs.timings.promql import Span

FORMAT = 1
MOST_BYTES = 128 * 1024 * 1024
# A limit on bytes does not bound memory: a value may be two bytes of the file, and takes about a hundred in
# memory.
_MOST_VALUES = 5_000_000
_Json: TypeAlias = Any
_SNAPSHOT = TypeAdapter(Snapshot)


def save_snapshot(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot.

    Raises:
        FileUnusable: it cannot be written.
    """
    body = {"tritonobs_snapshot": FORMAT, **_written(snapshot)}
    # Names of models may hold half of a surrogate pair, which has no bytes.
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    files.replace(path, text.encode("utf-8", "surrogatepass"))


def load_snapshot(path: Path) -> Snapshot:
    """Read a snapshot.

    Raises:
        SnapshotUnusable: the file is missing, is not a snapshot, or one of another format.
    """
    try:
        body = read_json(files.read_bytes(path, most=MOST_BYTES), most=_MOST_VALUES)
    except FileUnusable as error:
        raise SnapshotUnusable(str(error)) from None
    except TooMany as error:
        raise SnapshotUnusable(f"{path} {error}, so it is not a snapshot") from None
    except ValueError as error:
        raise SnapshotUnusable(f"{path} is not JSON, so not a snapshot: {error}") from None
    found = body.get("tritonobs_snapshot") if isinstance(body, dict) else None
    if found != FORMAT:
        raise SnapshotUnusable(
            f"{path}: not a snapshot of format {FORMAT} (found {found!r}); make one with --save"
        )
    try:
        # A file can hold anything: what is read has the types of the fields.
        snapshot = _SNAPSHOT.validate_python(_named(body))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise SnapshotUnusable(f"{path}: damaged at {where!r}: {first['msg']}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise SnapshotUnusable(f"{path}: damaged: {error}") from None
    if not (_is_span(snapshot.incident) and _is_span(snapshot.baseline)):
        raise SnapshotUnusable(f"{path}: damaged: a span that does not end after it begins")
    return snapshot


def _written(value: _Json) -> _Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {field.name: _written(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return [*held.values()] if isinstance(value, (Reading, Series)) else held
    if isinstance(value, dict):
        return {name: _written(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    # JSON has no NaN and no infinity; Prometheus' API writes them as text, and so do we.
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _named(body: _Json) -> _Json:
    """What is written as lists, with the names of its fields."""
    fields = {"now": Reading, "before": Reading, "trends": Series, "usual": Series}
    return body | {
        question: {
            name: [
                dict(zip((field.name for field in dataclasses.fields(kind)), item, strict=True))
                for item in items
            ]
            for name, items in body[question].items()
        }
        for question, kind in fields.items()
        # Snapshots of tritonobs 0.1 have no `usual`.
        if question in body
    }


def _is_span(span: Span) -> bool:
    return math.isfinite(span.start) and math.isfinite(span.end) and span.start < span.end
