"""The replicas' own metrics pages, all read at one moment, for a live view without Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from tritonobs import names
from tritonobs.clients.exposition import MetricsPage, read_page
from tritonobs.timings.alive import Key
from tritonobs.timings.ask import Readings, Unseen

_PREFIXES = ("nv_inference_", "nv_gpu_", "nv_cpu_utilization", "tritonobs_")
_TIMEOUT_SECONDS = 2.0
_SILENT_SECONDS = 6.0
"""Workers beat every 0.5 s to 5 s (`stage.settings`) and may be late: what did not move in so long is silent.

A shorter time shows nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """What the replicas said, by name or address; `at` is Unix time. `unseen` are those that said nothing."""

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


def read_pages(urls: Iterable[str] | Mapping[str, str]) -> Pages:
    """Read every page; one that cannot be read is noted, not left out silently.

    Addresses may have names, by which their servers are then called.
    """
    readings = Readings()
    look = partial(read_page, prefixes=_PREFIXES, timeout_seconds=_TIMEOUT_SECONDS)
    at = time.time()
    named = urls if isinstance(urls, Mapping) else {url: url for url in urls}
    pages = readings.take({name: partial(look, url) for name, url in named.items()})
    return Pages(at=at, pages=pages, unseen=tuple(readings.unseen))


def increases(before: Pages, now: Pages, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """How much a counter grew, replica by replica and series by series; a restart counts from 0.

    The label `instance` is the name or address of the page. A series that was not there before counts from
    its first sight: its age is unknown.
    """
    grown: dict[tuple[str, ...], float] = {}
    for own, step in _steps(before, now, name):
        key = tuple(own.get(label, "") for label in labels)
        grown[key] = grown.get(key, 0.0) + step
    return grown


def rates(before: Pages, now: Pages, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """How much a counter grew a second, as `increases`.

    A worker hands over its numbers with each beat of its heart: what it says is of the time between beats.
    """
    # The clock may be set back between two looks.
    seconds = max(now.at - before.at, 1e-9)
    past = _beats(before)
    between = {key: beat - past[key] for key, beat in _beats(now).items() if beat > past.get(key, beat)}
    grown: dict[tuple[str, ...], float] = {}
    for own, step in _steps(before, now, name):
        key = tuple(own.get(label, "") for label in labels)
        grown[key] = grown.get(key, 0.0) + step / between.get(_worker(own), seconds)
    return grown


def _steps(before: Pages, now: Pages, name: str) -> Iterator[tuple[dict[str, str], float]]:
    """Every series of a counter, with `instance`, and how much it grew."""
    for address, page in now.pages.items():
        if address not in before.pages:
            continue
        past = _values(before.pages[address], name)
        for sample in page.by_name.get(name, ()):
            was = past.get(tuple(sorted(sample.labels.items())))
            step = 0.0 if was is None else sample.value - was if sample.value >= was else sample.value
            yield {**sample.labels, names.INSTANCE: address}, step


def _beats(pages: Pages) -> dict[Key, float]:
    """The heartbeat of every worker."""
    return {
        _worker({**sample.labels, names.INSTANCE: address}): sample.value
        for address, page in pages.pages.items()
        for sample in page.by_name.get(names.HEARTBEAT, ())
    }


def _worker(labels: Mapping[str, str]) -> Key:
    of = labels.get
    return of(names.INSTANCE, ""), of(names.MODEL, ""), of(names.VERSION, ""), of(names.WORKER, "")


def moved(before: Pages, now: Pages) -> dict[Key, float]:
    """By replica, model, version and worker: 1 where the heartbeat moved, or that is unknown; else 0."""
    beats, past = _beats(now), _beats(before)
    long_enough = now.at - before.at >= _SILENT_SECONDS
    return {key: float(not (long_enough and past.get(key) == beat)) for key, beat in beats.items()}


def _values(page: MetricsPage, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {tuple(sorted(sample.labels.items())): sample.value for sample in page.by_name.get(name, ())}
