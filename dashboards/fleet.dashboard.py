"""Fleet: are clients affected, and where?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layout import Knobs, board
from links import address
from panels import bars, row, stat, table, timeline, timeseries
from signals import alerts, each, errors, hosts, latency, saturation, slo, traffic
from variables import MODEL, VERSION

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    to_model = address("model", "__data.fields.model", chooser=not knobs.source, carried=())
    return board(
        "fleet",
        "Fleet",
        "Are clients affected, and where? Traffic against limits, errors, latency and saturation of all "
        "models.",
        (
            row(
                "Now",
                table(
                    "Incidents",
                    "What is wrong, in the words of the messages, for each ongoing incident; "
                    "`tritonobs serve` has a page for each at /incidents. Good: no incident. Without a row, "
                    "serve is not scraped. From `tritonobs_incident_since_timestamp_seconds`.",
                    (alerts.INCIDENTS,),
                    ("sentence", "severity", "incident"),
                    size=(24, 4),
                ),
                stat(traffic.FROM_CLIENTS, title="Requests"),
                stat(errors.OVERALL),
                stat(latency.OF_TARGET, title="P99/SLO"),
                stat(slo.BROKEN),
                stat(hosts.UP_SHARE),
                stat(alerts.FIRING),
                timeline(alerts.TIMELINE, size=(24, 6)),
            ),
            row(
                "Traffic",
                timeseries(traffic.AGAINST_LIMIT, limits=(traffic.LIMIT,), wide=True),
                bars(traffic.LIMIT_USED),
            ),
            row(
                "Errors",
                timeseries(errors.RATIO, size=(8, 8), title="Error ratio by model"),
                timeseries(errors.BY_REASON, size=(8, 8)),
                timeseries(errors.OF_TRITON, size=(8, 8)),
            ),
            row(
                "Latency",
                timeseries(each(latency.P50), wide=True),
                timeseries(
                    each(latency.P99),
                    each(latency.P99_OF_FEW),
                    limits=(latency.TARGET,),
                    wide=True,
                    logarithmic=True,
                ),
            ),
            row(
                "Saturation",
                timeseries(saturation.BUSY, size=(8, 8)),
                timeseries(latency.QUEUE, size=(8, 8)),
                timeseries(
                    each(latency.PENDING),
                    size=(8, 8),
                    title="Queue length",
                ),
            ),
            row(
                "Models and replicas",
                table(
                    "Models",
                    "Every model version with its golden signals; a click opens its board. Good: all "
                    "green. From the records of the panels above.",
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
                    links=(("model", "Open the model's board", f"{to_model}&${{__url_time_range}}"),),
                ),
                timeseries(traffic.REPLICAS),
                timeseries(latency.SKEW),
            ),
        ),
        variables=(MODEL, VERSION),
        knobs=knobs,
    )


dashboard = build(Knobs())
