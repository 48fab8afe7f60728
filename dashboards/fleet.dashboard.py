"""Fleet: is anybody being hurt, and where?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from house import Knobs, board
from panels import bars, row, stat, table, timeline, timeseries
from signals import alerts, errors, hosts, latency, saturation, slo, traffic
from variables import MODEL, VERSION

if TYPE_CHECKING:
    from grafanalib.core import Dashboard

_TO_MODEL = (
    "/d/tritonobs-model?${__url_time_range}&${datasource:queryparam}&${cluster:queryparam}"
    "&var-model=${__data.fields.model}&var-version=$__all"
)

# Where a panel shows one thing, the name of a model is enough, and gives it the same colour everywhere.
_EACH = "{{model}} {{version}}"


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "fleet",
        "Fleet",
        "Is anybody being hurt, and where? Traffic against limits, errors, latency and saturation of all "
        "models.",
        (
            row(
                "Now",
                stat(traffic.FROM_CLIENTS),
                stat(errors.OVERALL),
                stat(latency.WORST),
                stat(slo.BROKEN),
                stat(hosts.UP_SHARE),
                stat(alerts.FIRING),
                timeline(alerts.TIMELINE),
            ),
            row(
                "Traffic",
                timeseries(traffic.AGAINST_LIMIT, limits=(traffic.LIMIT,), wide=True),
                bars(traffic.LIMIT_USED),
            ),
            row(
                "Errors",
                timeseries(errors.RATIO, size=(8, 8)),
                timeseries(errors.BY_REASON, stacked=True, size=(8, 8)),
                timeseries(errors.OF_TRITON, size=(8, 8)),
            ),
            row(
                "Latency",
                timeseries(replace(latency.P50, legend=_EACH), wide=True),
                timeseries(
                    replace(latency.P99, legend=_EACH), limits=(latency.TARGET,), wide=True, logarithmic=True
                ),
            ),
            row(
                "Saturation",
                timeseries(saturation.BUSY, size=(8, 8)),
                timeseries(latency.QUEUE, size=(8, 8)),
                timeseries(
                    replace(latency.PENDING, legend=_EACH),
                    size=(8, 8),
                    title="Requests waiting for an instance",
                ),
            ),
            row(
                "Models and replicas",
                table(
                    "Models",
                    "Every model version with its golden signals; a click opens its board. Good: no colour "
                    "but green. From the records of the panels above.",
                    (
                        traffic.SERVED,
                        traffic.LIMIT_USED,
                        errors.RATIO,
                        latency.P50,
                        latency.P99,
                        latency.QUEUE,
                        saturation.BUSY,
                        saturation.WORKERS,
                    ),
                    ("model", "version"),
                    links=(("model", "Open the model's board", _TO_MODEL),),
                ),
                timeseries(traffic.REPLICAS),
                timeseries(latency.SKEW),
            ),
        ),
        variables=(MODEL, VERSION),
        knobs=knobs,
    )


dashboard = build(Knobs())
