"""Where a model's time goes, from Prometheus' records. No message waits long for it, or fails without it."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.view import plain
from tritonobs.tasks import Threads
from tritonobs.units import format_percent

Subject = tuple[str, str, str]
"""A cluster ("" where there is only one), a model of it, and its version."""
_log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 1.5
_MOST_MODELS = 20
_MOST_STAGES = 3
_SMALLEST_SHARE = 0.05


class Evidence:
    """Asks one Prometheus."""

    def __init__(self, url: str, metrics: DeliveryMetrics) -> None:
        self.url = url
        self._client = PrometheusClient(url, timeout_seconds=_PATIENCE_SECONDS, retries=0)
        self._metrics = metrics
        self._threads = Threads("evidence", most=4)

    async def shares(
        self, models: Iterable[str], cluster_label: str = names.CLUSTER
    ) -> Mapping[Subject, str]:
        """`queue 64%, detector 23%` by cluster, model and version; empty without an answer at once."""
        asked = sorted({model for model in models if model})[:_MOST_MODELS]
        if not asked:
            return {}
        try:
            # A limit of its own: the client's covers neither the name service nor the wait for a thread.
            found = await self._threads.run(
                lambda: _told(self._client.query(_query(asked)), cluster_label), seconds=_PATIENCE_SECONDS
            )
        except Exception as error:  # noqa: BLE001 (the message is sent in any case)
            self._metrics.evidence.labels("failed").inc()
            _log.debug("no evidence for this message: %s", error)
            return {}
        self._metrics.evidence.labels("answered").inc()
        return found

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


def _query(models: Iterable[str]) -> str:
    pattern = "|".join(re.escape(model) for model in models)
    # Escaped a second time: the pattern stands in a string of PromQL.
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    wanted = f"{names.STAGE_SHARE}|{names.STAGE_MEAN}|{names.QUEUE_MEAN}|{names.REQUEST_MEAN}"
    return f'{{__name__=~"{wanted}",model=~"{quoted}"}}'


def _told(readings: Iterable[Reading], cluster_label: str) -> Mapping[Subject, str]:
    known: dict[Subject, _Spent] = defaultdict(_Spent)
    for reading in readings:
        cluster, model, version = (
            reading.labels.get(label, "") for label in (cluster_label, names.MODEL, names.VERSION)
        )
        spent = known[cluster, model, version]
        stage = reading.labels.get(names.STAGE, "")
        record = reading.labels.get("__name__", names.STAGE_SHARE)
        if record == names.STAGE_SHARE:
            spent.shares[stage] = reading.value
        elif record == names.STAGE_MEAN and stage == names.TOTAL_STAGE:
            spent.total = reading.value
        elif record == names.QUEUE_MEAN:
            spent.queue = reading.value
        elif record == names.REQUEST_MEAN:
            spent.request = reading.value
    return {key: phase for key, spent in known.items() if (phase := _largest(spent.parts()))}


@dataclass(slots=True)
class _Spent:
    """What the records say of one model version: seconds, and shares of the time in the model."""

    shares: dict[str, float] = field(default_factory=dict)
    total: float = 0.0
    queue: float = 0.0
    request: float = 0.0

    def parts(self) -> list[tuple[float, str]]:
        """Every part with its share of a whole request, the wait in Triton's queue among them."""
        inside = self.total or max(0.0, self.request - self.queue)
        whole = inside + self.queue
        if whole <= 0:
            return [(share, stage) for stage, share in self.shares.items()]
        # While traffic grows, stages are counted before their requests are; side by side they add up to more.
        scale = inside / whole / max(1.0, sum(self.shares.values()))
        parts = [(share * scale, stage) for stage, share in self.shares.items()]
        if not self.shares and inside:
            parts = [(inside / whole, "compute")]
        return [*parts, (self.queue / whole, "queue")] if self.queue else parts


def _largest(parts: list[tuple[float, str]]) -> str:
    """`queue 64%, detector 23%`: shares of a request, the largest first."""
    whole = max(1.0, sum(share for share, _ in parts))
    return ", ".join(
        f"{plain(stage, 60)} {format_percent(round(share / whole, 2))}"
        for share, stage in sorted(parts, reverse=True)[:_MOST_STAGES]
        if share / whole >= _SMALLEST_SHARE
    )
