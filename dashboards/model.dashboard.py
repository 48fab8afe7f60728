"""Model: what is wrong with it, and since which version?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import heatmap, row, stat, timeline, timeseries
from signals import alerts, errors, latency, saturation, slo, stages, traffic
from variables import ONE_MODEL, STAGE, VERSION

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "model",
        "Model",
        "What is wrong with this model, and since which version? Latency, queue, batches, outcomes, and "
        "versions compared.",
        (
            row(
                "Now",
                stat(traffic.SERVED, title="Requests", size=(5, 4)),
                stat(errors.RATIO, size=(5, 4)),
                stat(latency.P99, size=(5, 4)),
                stat(latency.OF_TARGET, size=(5, 4)),
                stat(saturation.WORKERS, size=(4, 4)),
                timeline(alerts.TIMELINE, size=(24, 7)),
            ),
            row(
                "Traffic",
                timeseries(traffic.AGAINST_LIMIT, limits=(traffic.LIMIT,), size=(8, 8)),
                timeseries(traffic.OUTCOMES, stacked=True, size=(8, 8)),
                timeseries(errors.BY_REASON, stacked=True, size=(8, 8)),
            ),
            row(
                "Latency",
                heatmap(latency.HEATMAP),
                timeseries(
                    latency.P50,
                    latency.P95,
                    latency.P99,
                    limits=(latency.TARGET,),
                    logarithmic=True,
                    title="Percentiles",
                ),
                timeseries(stages.P99, stages.P99_OF_FEW),
            ),
            row(
                "Queue and compute",
                timeseries(
                    latency.IN_COMPUTE,
                    latency.IN_QUEUE,
                    latency.IN_OTHER,
                    stacked=True,
                    size=(8, 8),
                    title="Where the time goes",
                ),
                timeseries(
                    latency.PENDING,
                    latency.IN_FLIGHT,
                    size=(8, 8),
                    title="Requests queued and in flight",
                ),
                timeseries(
                    saturation.BATCH,
                    saturation.PER_EXECUTION,
                    size=(8, 8),
                    title="Items and requests per execution",
                ),
            ),
            row(
                "Versions compared",
                timeseries(traffic.BY_VERSION, stacked=True, size=(8, 8)),
                timeseries(latency.MEAN, size=(8, 8)),
                timeseries(errors.RATIO, size=(8, 8), title="Error ratio by version"),
            ),
            row(
                "Model instances",
                timeseries(saturation.BUSY, size=(6, 7)),
                timeseries(saturation.HEARTBEAT, size=(6, 7)),
                timeseries(saturation.FROM_CACHE, size=(6, 7)),
                timeseries(slo.REMAINING_OF_MODEL, size=(6, 7)),
            ),
        ),
        variables=(ONE_MODEL, VERSION, STAGE),
        knobs=knobs,
    )


dashboard = build(Knobs())
