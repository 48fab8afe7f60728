"""Where a model's time goes, asked of Prometheus' records. No message waits long, none fails for it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import ClientError
from tritonobs.serve.plain import plain
from tritonobs.units import format_percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.clients.prometheus import Reading
    from tritonobs.serve.metrics import DeliveryMetrics

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

    async def shares(self, models: Iterable[str]) -> Mapping[tuple[str, str], str]:
        """By (model, version): `detector 78%, nms 12%`. Empty if Prometheus does not answer at once."""
        asked = sorted({model for model in models if model})[:_MOST_MODELS]
        if not asked:
            return {}
        try:
            readings = await asyncio.wait_for(
                asyncio.to_thread(self._client.query, _query(asked)), _PATIENCE_SECONDS
            )
        except (ClientError, asyncio.TimeoutError) as error:
            self._metrics.evidence.labels("failed").inc()
            _log.debug("no evidence for this message: %s", error or "Prometheus took too long")
            return {}
        self._metrics.evidence.labels("answered").inc()
        return _told(readings)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


def _query(models: Iterable[str]) -> str:
    pattern = "|".join(re.escape(model) for model in models)
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{names.STAGE_SHARE}{{model=~"{quoted}"}}'


def _told(readings: Iterable[Reading]) -> Mapping[tuple[str, str], str]:
    stages: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for reading in readings:
        key = reading.labels.get(names.MODEL, ""), reading.labels.get(names.VERSION, "")
        stages[key].append((reading.value, reading.labels.get(names.STAGE, "")))
    return {key: told for key, found in stages.items() if (told := _largest(found))}


def _largest(stages: list[tuple[float, str]]) -> str:
    """`detector 78%, nms 12%`. While traffic grows, stages are counted before their requests are."""
    whole = max(1.0, sum(share for share, _ in stages))
    return ", ".join(
        f"{plain(stage, 60)} {format_percent(round(share / whole, 2))}"
        for share, stage in sorted(stages, reverse=True)[:_MOST_STAGES]
        if share / whole >= _SMALLEST_SHARE
    )
