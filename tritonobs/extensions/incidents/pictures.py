"""Two or three panels of boards that show an incident, drawn when its page is opened and kept for a while."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.incidents.recorder import Entry
from tritonobs.plan.fleet import Plan
from tritonobs.registry import answer
from tritonobs.tasks import Threads
from tritonobs.timings.promql import Span

_log = logging.getLogger(__name__)
_SECONDS = 20.0
_PROMETHEUS_SECONDS = 5.0
_FRESH_SECONDS, _OVER_FRESH_SECONDS = 12.0, 120.0
_PATIENCE_SECONDS = 1.5
"""How long the page waits; the next one has them."""
_MOST_KEPT = 20
_MOST_MODELS = 5
_LEAD_SECONDS, _LONGEST_SECONDS = 600.0, 6 * 3600.0

Panel = tuple[str, str]
"""A board and the title of one of its panels, without the window, which depends on the rules."""
_REQUESTS: Final = ("model", "Requests a second and their limit")
_OUTCOMES: Final = ("model", "Outcomes")
_PERCENTILES: Final = ("model", "Percentiles")
_STAGES: Final = ("model", "P99 by stage")
_ERRORS: Final = ("model", "Error ratio by version")
_VERSIONS: Final = ("model", "Traffic by version")
_WHERE: Final = ("model", "Where the time goes")
_WAITING: Final = ("model", "Requests waiting")
_BUSY: Final = ("model", "Model instances busy")
_REPLICAS: Final = ("fleet", "Requests a second by replica")
_PEERS: Final = ("fleet", "Replica compared with its peers")

OF_MODEL: Final = (_REQUESTS, _OUTCOMES, _STAGES)
OF_FLEET: Final = (
    ("fleet", "Requests a second and their limit"),
    _REPLICAS,
    ("fleet", "Latency P99"),
)
OF_CHECK: Final[Mapping[str, tuple[Panel, ...]]] = {
    **dict.fromkeys(("qps_limit", "traffic_surge", "upstream_drop"), (_REQUESTS, _OUTCOMES, _WAITING)),
    **dict.fromkeys(("error_surge", "dead_worker", "budget_burn"), (_ERRORS, _OUTCOMES, _REQUESTS)),
    **dict.fromkeys(
        ("bad_deploy", "slow_version", "reload", "model_gone"), (_ERRORS, _VERSIONS, _PERCENTILES)
    ),
    **dict.fromkeys(
        ("slow_stage", "larger_inputs", "more_boxes", "cache_collapse"), (_STAGES, _WHERE, _REQUESTS)
    ),
    **dict.fromkeys(("queue_saturation", "batch_delay", "batch_too_large"), (_WAITING, _BUSY, _PERCENTILES)),
    **dict.fromkeys(("slow_replica", "slow_machine", "cpu_starved"), (_PEERS, _REPLICAS, _STAGES)),
    **dict.fromkeys(("replica_down", "scrape_problem", "accelerator"), OF_FLEET),
}
"""What shows a cause; the others' is that of any trouble with a model, or with none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A title, and an SVG that needs nothing else."""

    title: str
    svg: bytes

    @property
    def source(self) -> str:
        """The source of an image, which runs no script, and so no name in it does."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode()


def panels(entry: Entry) -> tuple[Panel, ...]:
    """Which panels show this incident."""
    check = entry.causes[0].check if entry.causes else ""
    found = OF_CHECK.get(check, OF_MODEL)
    # The board of models shows some of them.
    return found if entry.models else OF_FLEET


def span(entry: Entry, now: float) -> Span:
    """From some minutes before the trouble until it was over for a while, or until now."""
    end = now if entry.ended is None else min(now, entry.ended + _LEAD_SECONDS / 2)
    return Span(start=max(entry.since - _LEAD_SECONDS, end - _LONGEST_SECONDS), end=end)


class Pictures:
    """Draws one incident at a time. Made and used inside one event loop."""

    def __init__(self) -> None:
        self._draw: Callable[..., Any] | None = answer("pictures")
        self._threads = Threads("pictures of incidents")
        self._kept: dict[str, _Kept] = {}
        self._drawing: asyncio.Task[None] | None = None

    async def of(self, entry: Entry, plan: Plan) -> tuple[Picture, ...] | None:
        """The pictures, some seconds old at most; None while they are being drawn.

        Where they cannot be drawn there are none, which the page does without.
        """
        if self._draw is None:
            return ()
        kept = self._kept.get(entry.id)
        if kept is None or kept.old(entry):
            if self._drawing is None or self._drawing.done():
                self._drawing = asyncio.create_task(self._keep(entry, plan))
            await asyncio.wait({self._drawing}, timeout=_PATIENCE_SECONDS)
            kept = self._kept.get(entry.id)
        return kept.pictures if kept else None

    def close(self) -> None:
        """Draw no more."""
        if self._drawing:
            self._drawing.cancel()

    async def _keep(self, entry: Entry, plan: Plan) -> None:
        try:
            found = await self._threads.run(lambda: self._drawn(entry, plan), seconds=_SECONDS)
        except Exception as error:  # noqa: BLE001 (the page is shown in any case)
            _log.info("no pictures of incident %s: %s: %s", entry.id, type(error).__name__, error)
            found = ()
        others = {name: one for name, one in self._kept.items() if name != entry.id}
        kept = _Kept(at=time.monotonic(), ended=entry.ended, pictures=found)
        self._kept = dict([*others.items(), (entry.id, kept)][-_MOST_KEPT:])

    def _drawn(self, entry: Entry, plan: Plan) -> tuple[Picture, ...]:
        assert self._draw is not None  # noqa: S101 (`of`)
        label = plan.rules.cluster_label
        client = PrometheusClient(
            plan.addresses.prometheus_url,
            cluster=plan.cluster if label else "",
            cluster_label=label or names.CLUSTER,
            timeout_seconds=_PROMETHEUS_SECONDS,
            retries=0,
        )
        try:
            found = self._draw(
                client,
                panels(entry),
                entry.models[:_MOST_MODELS],
                span=span(entry, time.time()),
                zone=zoneinfo.ZoneInfo(plan.notify.timezone),
            )
        finally:
            client.close()
        return tuple(Picture(title=title, svg=svg) for title, svg in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Pictures as they were at a moment of the process's clock, of an incident that had ended, or not."""

    at: float
    ended: float | None
    pictures: tuple[Picture, ...]

    def old(self, entry: Entry) -> bool:
        """Whether they show less than there is to see. What is over for long changes no more."""
        return entry.ended != self.ended or time.monotonic() - self.at > (
            _FRESH_SECONDS if entry.ended is None else _OVER_FRESH_SECONDS
        )
