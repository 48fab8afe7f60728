"""Snapshots as files: JSON, readable by people, judged again by any later tritonobs of the same format.

A file can hold anything, so the types of what was read are checked.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, TypeAlias

from tritonobs import files
from tritonobs.clients.alertmanager import Silence
from tritonobs.clients.prometheus import FiringAlert, Reading, Series, Target
from tritonobs.clients.triton import EnsembleStep, ModelConfig, RepositoryEntry
from tritonobs.errors import FileUnusable, SnapshotUnusable
from tritonobs.extensions.triage.snapshot import ReplicaState, Snapshot
from tritonobs.outside import TooMany, read_json
from tritonobs.timings.ask import Unseen
from tritonobs.timings.promql import Span

FORMAT = 1
MOST_BYTES = 128 * 1024 * 1024
# A limit on bytes does not bound memory: a value may be two bytes of the file, and takes about a hundred in
# memory.
_MOST_VALUES = 5_000_000
_Json: TypeAlias = Any

# JSON has one kind of number, so other programs may write 60.0 back as 60.
_PLAIN = {"str": (str,), "bool": (bool,), "int": (int,), "float": (int, float)}


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
        snapshot = _snapshot(body)
        require_sound(snapshot)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise SnapshotUnusable(f"{path}: damaged at {error}") from None
    return snapshot


def _written(value: _Json) -> _Json:
    if isinstance(value, Reading):
        return [value.labels, _number(value.value), value.time]
    if isinstance(value, Series):
        return [value.labels, [[time, _number(number)] for time, number in value.points]]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _written(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: _written(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | str:
    """JSON has no NaN and no infinity; Prometheus' API writes them as text, and so do we."""
    return value if math.isfinite(value) else str(value)


def _snapshot(body: _Json) -> Snapshot:
    return Snapshot(
        model=body["model"],
        version=body["version"],
        incident=Span(**body["incident"]),
        baseline=Span(**body["baseline"]),
        now={name: _readings(items) for name, items in body["now"].items()},
        before={name: _readings(items) for name, items in body["before"].items()},
        trends=_many(body["trends"]),
        # Snapshots of tritonobs 0.1 have none.
        usual=_many(body.get("usual", {})),
        asked=dict(body["asked"]),
        targets=tuple(Target(**item) for item in body["targets"]),
        alerts=tuple(FiringAlert(**{**item, "value": float(item["value"])}) for item in body["alerts"]),
        silences=tuple(Silence(**{**item, "matchers": tuple(item["matchers"])}) for item in body["silences"]),
        replicas=tuple(_replica(item) for item in body["replicas"]),
        unseen=tuple(Unseen(**item) for item in body["unseen"]),
        # Those of tritonobs 0.5 have neither.
        trend_seconds=float(body.get("trend_seconds", 0.0)),
        baseline_note=body.get("baseline_note", ""),
        called={str(address): str(name) for address, name in body.get("called", {}).items()},
    )


def _readings(items: _Json) -> tuple[Reading, ...]:
    return tuple(
        Reading(labels=labels, value=float(value), time=float(time)) for labels, value, time in items
    )


def _many(items: _Json) -> dict[str, tuple[Series, ...]]:
    return {name: tuple(_series(item) for item in found) for name, found in items.items()}


def _series(item: _Json) -> Series:
    labels, points = item
    return Series(labels=labels, points=tuple((float(time), float(value)) for time, value in points))


def _replica(item: _Json) -> ReplicaState:
    return ReplicaState(
        address=item["address"],
        ready=item["ready"],
        entries=tuple(RepositoryEntry(**entry) for entry in item["entries"]),
        configs=tuple(
            ModelConfig(**{**config, "steps": tuple(EnsembleStep(**step) for step in config["steps"])})
            for config in item["configs"]
        ),
    )


def require_sound(snapshot: Snapshot) -> None:
    """Make sure that every field holds what its annotation says, and that both spans are spans.

    Raises:
        TypeError: one does not; the text names it.
    """
    _require(snapshot)
    for span in (snapshot.incident, snapshot.baseline):
        if not _is_span(span):
            raise TypeError("a span that does not end after it begins")


def _require(value: Any) -> None:  # noqa: ANN401 (any of the dataclasses below a snapshot)
    for field in dataclasses.fields(value):
        if not _fits(str(field.type), getattr(value, field.name)):
            raise TypeError(f"{type(value).__name__}.{field.name}")


def _fits(annotation: str, value: Any) -> bool:  # noqa: ANN401 (what a file held)
    if annotation in _PLAIN:
        # The exact type, because `isinstance` takes a bool for an int.
        return type(value) in _PLAIN[annotation]
    if annotation == "Mapping[str, str]":
        return isinstance(value, dict) and all(type(one) is str for pair in value.items() for one in pair)
    if annotation == "tuple[str, ...]":
        return all(type(one) is str for one in value)
    if annotation.startswith("tuple[tuple[float"):
        return all(type(number) is float for pair in value for number in pair)
    below = value.values() if isinstance(value, dict) else (value,)
    for one in (item for items in below for item in (items if isinstance(items, tuple) else (items,))):
        _require(one)
    return True


def _is_span(span: Span) -> bool:
    return math.isfinite(span.start) and math.isfinite(span.end) and span.start < span.end
