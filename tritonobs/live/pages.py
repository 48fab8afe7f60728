"""The replicas' own metrics pages, all read at one moment: a live view that needs no Prometheus."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tritonobs.clients.exposition import read_page
from tritonobs.live.ask import Looks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.clients.exposition import MetricsPage
    from tritonobs.live.ask import Unseen

_PREFIXES = ("nv_inference_", "nv_gpu_", "nv_cpu_utilization", "tritonobs_")
_TIMEOUT_SECONDS = 2.0


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
    looks = Looks()
    look = partial(read_page, prefixes=_PREFIXES, timeout_seconds=_TIMEOUT_SECONDS)
    at = time.time()
    pages = looks.take({url: partial(look, url) for url in urls})
    return Pages(at=at, pages=pages, unseen=tuple(looks.unseen))


def increases(before: Pages, now: Pages, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """How much a counter grew, replica by replica and series by series; a restart counts from 0.

    A series that was not there before counts from its first sight: how old it is nobody knows.
    """
    grown: dict[tuple[str, ...], float] = {}
    for address, page in now.pages.items():
        if address not in before.pages:
            continue
        past = {
            tuple(sorted(sample.labels.items())): sample.value
            for sample in before.pages[address].by_name.get(name, ())
        }
        for sample in page.by_name.get(name, ()):
            was = past.get(tuple(sorted(sample.labels.items())))
            step = 0.0 if was is None else sample.value - was if sample.value >= was else sample.value
            key = tuple(sample.labels.get(label, "") for label in labels)
            grown[key] = grown.get(key, 0.0) + step
    return grown
