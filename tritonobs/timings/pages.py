"""The replicas' own metrics pages, all read at one moment, for a live view without Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from tritonobs import names
from tritonobs.clients.exposition import MetricsPage, read_page
from tritonobs.timings.ask import Readings, Unseen

_PREFIXES = ("nv_inference_", "nv_gpu_", "nv_cpu_utilization", "tritonobs_")
_TIMEOUT_SECONDS = 2.0
_SILENT_SECONDS = 3.5
"""Workers beat once a second: what did not move in so long is silent. A shorter time shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """What the replicas said, by address; `at` is Unix time. `unseen` are those that said nothing."""

    at: float
    pages: Mapping[str, MetricsPage]
    unseen: tuple[Unseen, ...] = ()

    def rows(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """A metric summed over replicas and over every label but these."""
        rows: dict[tuple[str, ...], float] = {}
        for page in self.pages.values():
            for sample in page.by_name.get(name, ()):
                key = tuple(sample.labels.get(label, "") for label in labels)
                rows[key] = rows.get(key, 0.0) + sample.value
        return rows


def read_pages(urls: Iterable[str]) -> Pages:
    """Read every page; one that cannot be read is noted, not left out silently."""
    readings = Readings()
    look = partial(read_page, prefixes=_PREFIXES, timeout_seconds=_TIMEOUT_SECONDS)
    at = time.time()
    pages = readings.take({url: partial(look, url) for url in urls})
    return Pages(at=at, pages=pages, unseen=tuple(readings.unseen))


def increases(before: Pages, now: Pages, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """How much a counter grew, replica by replica and series by series; a restart counts from 0.

    The label `instance` is the page's address. A series that was not there before counts from its first
    sight: its age is unknown.
    """
    grown: dict[tuple[str, ...], float] = {}
    for address, page in now.pages.items():
        if address not in before.pages:
            continue
        past = _values(before.pages[address], name)
        for sample in page.by_name.get(name, ()):
            was = past.get(tuple(sorted(sample.labels.items())))
            step = 0.0 if was is None else sample.value - was if sample.value >= was else sample.value
            own = {**sample.labels, names.INSTANCE: address}
            key = tuple(own.get(label, "") for label in labels)
            grown[key] = grown.get(key, 0.0) + step
    return grown


def moved(before: Pages, now: Pages) -> dict[tuple[str, str, str, str], float]:
    """By replica, model, version and worker: 1 where the heartbeat moved, or that is unknown; else 0."""
    beats: dict[tuple[str, str, str, str], float] = {}
    for address, page in now.pages.items():
        past = _values(before.pages[address], names.HEARTBEAT) if address in before.pages else {}
        for sample in page.by_name.get(names.HEARTBEAT, ()):
            was = past.get(tuple(sorted(sample.labels.items())))
            model, version, worker = (
                sample.labels.get(label, "") for label in (names.MODEL, names.VERSION, names.WORKER)
            )
            still = was == sample.value and now.at - before.at >= _SILENT_SECONDS
            beats[address, model, version, worker] = float(not still)
    return beats


def _values(page: MetricsPage, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {tuple(sorted(sample.labels.items())): sample.value for sample in page.by_name.get(name, ())}
