"""What was seen of faults on the real stack, kept to be judged again."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planted import live, real
from planted.world import Recorded, store
from tritonobs.extensions.triage.saved import load_snapshot
from tritonobs.extensions.triage.snapshot import Snapshot, take_snapshot
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planted.fault import Truth

FOLDER = Path(__file__).parent / "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One fault: when it began, which windows were read, and what Prometheus was not asked for."""

    name: str
    truth: Truth
    began: float
    incident: Span
    baseline: Span
    beside: Snapshot


def known(folder: Path) -> Iterator[Kept]:
    """Every fault that was kept."""
    for file in sorted(folder.glob("*.json.gz")):
        name = file.name.removesuffix(".json.gz")
        record = _read(file)
        yield Kept(
            name=name,
            truth=(real.FAULTS | live.LIVE)[name][1],
            # Streams are switched when those of before are answered and new images are drawn.
            began=record["loaded" if name in real.SENT | live.SENT else "began"],
            incident=Span(start=record["incident"][0], end=record["incident"][1]),
            baseline=Span(start=record["baseline"][0], end=record["baseline"][1]),
            beside=load_snapshot(_beside(folder, name)),
        )


def replay(folder: Path, data: Path) -> None:
    """All samples into one database, at the times they were scraped."""
    series: dict[str, dict[float, str]] = {}
    for file in sorted(folder.glob("*.json.gz")):
        for row in _read(file)["series"]:
            labels = dict(row["metric"])
            name = labels.pop("__name__")
            head = f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels.items())}}}"
            series.setdefault(head, {}).update((float(time), value) for time, value in row["values"])
    text = data.parent / "kept.txt"
    with text.open("w", encoding="utf-8") as lines:
        for head, points in series.items():
            lines.writelines(f"{head} {value} {time:.3f}\n" for time, value in sorted(points.items()))
        lines.write("# EOF\n")
    store(text, data)
    text.unlink()


def look(url: str, kept: Kept) -> Snapshot:
    """What triage sees of it today."""
    client = Recorded(url, timeout_seconds=30.0)
    client.then = kept.beside.targets
    snapshot = take_snapshot(client, incident=kept.incident, baseline=kept.baseline)
    beside = kept.beside
    return replace(snapshot, replicas=beside.replicas, alerts=beside.alerts)


def _beside(folder: Path, name: str) -> Path:
    return folder / f"{name}.beside.json"


def _read(file: Path) -> dict:
    return json.loads(gzip.decompress(file.read_bytes()))
