"""How long requests of any model take, from Triton's own traces of a sample of them."""

from __future__ import annotations

from typing import Final

import palette
from panels import heatmap, row, timeseries
from signals import Signal, each, few

from extensions import Added

_KIND = "{{model}} {{version}}"
_GAP = {
    "p95": "A gap means fewer than 20 samples. ",
    "p99": "A gap means fewer than 100 samples. ",
}

HEATMAP = Signal(
    title="Traced requests",
    unit="s",
    expr=(
        "sum by (le) (\n"
        '  rate(tritonobs_trace_duration_seconds_bucket{phase="request", %(subject)s}[$__rate_interval])\n'
        ")"
    ),
    legend="{{le}}",
    description=(
        "Requests per second by how long they took, queue included, from the requests that Triton traces; a "
        "point is one of them, with its trace. Good: one strong band, low and flat; a rising one is a queue. "
        "Empty where nothing is traced. From `tritonobs_trace_duration_seconds`."
    ),
    exemplars=True,
)


def _expr(name: str, phase: str) -> str:
    record = f"model_version_phase:tritonobs_request_seconds:{name}_5m"
    chosen = f'phase="{phase}", %(subject)s'
    if name != "p99" or phase != "request":
        return f"{record}{{{chosen}}}"
    # The records have the number of samples for traces, and none for stages.
    enough = few.requests('stage="total", %(subject)s')
    return (
        f'{record}{{source!="stages_without_queue", {chosen}}}\n'
        "  or\n"
        f'{record}{{source="stages_without_queue", {chosen}}}\n'
        "  and on (%(by_model)s)\n"
        f"({enough} > 99.5)"
    )


def _quantile(name: str, phase: str, title: str, words: str, colour: str = "") -> Signal:
    return Signal(
        title=title,
        unit="s",
        expr=_expr(name, phase),
        legend=f"{name.upper()} {_KIND} {{{{source}}}}",
        colour=colour,
        description=(
            f"{words} {_GAP.get(name, '')}The legend has the source: `traces`, or "
            "`stages_without_queue` where a model is not traced but times its stages. Good: below the "
            f"threshold, and steady. From `model_version_phase:tritonobs_request_seconds:{name}_5m`."
        ),
    )


P50 = _quantile(
    "p50", "request", "P50 of every model", "Half of the requests took at most this long.", palette.GREEN
)
P99 = _quantile(
    "p99", "request", "P99 of every model", "99 % of the requests took at most this long.", palette.ORANGE
)
QUEUE_P99 = _quantile(
    "p99", "queue", "P99 of the queue", "99 % of the requests waited at most this long for a model instance."
)
SAMPLES = Signal(
    title="Traced requests/s",
    unit="reqps",
    expr="model_version:tritonobs_trace_samples:rate5m{%(subject)s}",
    legend=_KIND,
    description=(
        "How many requests are traced. The quantiles are computed from them: a P99 needs a thousand in its "
        "five minutes, 3.3 per second. Good: 3 or more of a busy model, and no more than 20 "
        "on a server. From `model_version:tritonobs_trace_samples:rate5m`."
    ),
)
SHARE = Signal(
    title="Trace coverage",
    unit="percentunit",
    expr="replica_model:tritonobs_requests_traced:ratio1h{%(model)s}",
    legend="{{%(replica)s}} {{model}}",
    description=(
        "Requests that the traces of the last hour represent, as a share of those that Triton counted, by "
        "server: of models that only clients call, while they are traced at one rate. Good: 100 %, and a "
        "little more in the first hour; a sample is off by chance. From "
        "`replica_model:tritonobs_requests_traced:ratio1h`."
    ),
)

ADDED: Final = (
    Added(
        board="model",
        after="Latency",
        row=row(
            "Latency from traces, queue included",
            heatmap(HEATMAP),
            timeseries(P50, P99, logarithmic=True, size=(6, 8), title="Request"),
            timeseries(QUEUE_P99, size=(6, 8)),
            timeseries(SAMPLES, size=(6, 8)),
            timeseries(SHARE, size=(6, 8)),
        ),
    ),
    Added(
        board="fleet",
        after="Latency",
        row=row(
            "Latency of every model",
            heatmap(HEATMAP),
            timeseries(each(P99), size=(8, 8), logarithmic=True),
            timeseries(each(QUEUE_P99), size=(8, 8), logarithmic=True),
            timeseries(SAMPLES, size=(8, 8)),
        ),
    ),
)
