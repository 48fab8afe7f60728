"""How long requests take, and where they wait."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step, few

_TOTAL = 'stage="total", %(subject)s'


def _percentile(name: str, words: str, colour: str) -> Signal:
    return Signal(
        title=f"Latency {name.upper()}",
        unit="s",
        expr=few.told(name, _TOTAL),
        legend=f"{name.upper()} {{{{model}}}} {{{{version}}}}",
        empty=few.EMPTY if name == "p99" else "",
        short=name.upper(),
        colour=colour,
        description=(
            f"{words} of the requests took at most this long, as the model saw them, over five minutes. "
            f"{few.GAP[name]}Good: below the threshold of the SLO. From "
            f"`model_version_stage:tritonobs_stage_duration_seconds:{name}_5m`."
        ),
    )


P50 = _percentile("p50", "Half", palette.GREEN)
P95 = _percentile("p95", "95 %", palette.BLUE)
P99 = _percentile("p99", "99 %", palette.ORANGE)
P99_OF_FEW = few.of_few(P99, "model, version", _TOTAL, "{{model}} {{version}}")

TARGET = Signal(
    title="Latency threshold",
    unit="s",
    expr='max by (le) (subject_slo:tritonobs_latency_target_seconds:held{stage="total", %(model)s})',
    legend="threshold {{le}} s",
    description="The thresholds of latency SLOs. Good: above P99. From `tritonobs_latency_target_seconds`.",
)


_P99 = "model_version_stage:tritonobs_stage_duration_seconds:p99_5m"


def of_target(title: str, stage: str, what: str) -> Signal:
    """The P99 of a stage as a share of its latency threshold."""
    chosen = f'stage="{stage}", %(subject)s'
    return Signal(
        title=title,
        unit="percentunit",
        expr=(
            "max(\n"
            "  max by (%(by_model)s) (\n"
            f"{few.told('p99', chosen)}\n"
            "  )\n"
            "    / on (%(by_model)s)\n"
            "  min by (%(by_model)s) (\n"
            f'    subject_slo:tritonobs_latency_target_seconds:held{{stage="{stage}", %(model)s}}\n'
            "  )\n"
            ")"
        ),
        legend="of the threshold",
        description=(
            f"{what} as a share of the tightest latency threshold of its model, of the slowest chosen model "
            f"version. {few.GAP['p99']}Good: below 100 %. From `{_P99}` and "
            "`tritonobs_latency_target_seconds`."
        ),
        decimals=0,
        empty="no latency threshold, or few requests",
        steps=(
            Step(value=None, colour=palette.GOOD),
            Step(value=0.8, colour=palette.NOTICE),
            Step(value=1, colour=palette.CRITICAL),
        ),
    )


OF_TARGET = of_target("P99 of its threshold", "total", "The P99")

HEATMAP = Signal(
    title="Latency over time",
    unit="s",
    expr=(
        "sum by (le) (\n"
        "  avg_over_time(\n"
        "    model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s"
        '{stage="total", %(subject)s}[$__interval]\n'
        "  )\n"
        ")"
    ),
    legend="{{le}}",
    description=(
        "Requests per second by how long they took, in a stronger colour where there are more; a column is a "
        "minute in the last hour, half an hour in a day. Good: one strong band, low and flat; two bands are "
        "two kinds of requests, a rising one is a queue. From "
        "`model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate…`."
    ),
)

MEAN = Signal(
    title="Mean latency",
    unit="s",
    expr="model_version:triton_request_duration_seconds:mean5m{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Mean latency of successful requests inside Triton; ensembles have only this. Good: steady. From "
        "`nv_inference_request_duration_us`."
    ),
)

_QUEUE = "model_version:triton_queue_duration_seconds:rate%(short)s{%(subject)s}"
_COMPUTE = "model_version:triton_compute_duration_seconds:rate%(short)s{%(subject)s}"
_REQUEST = "model_version:triton_request_duration_seconds:rate%(short)s{%(subject)s}"
_DONE = "sum(model_version:triton_requests_timed:rate%(short)s{%(subject)s}) > 0"


def _phase(name: str, expr: str, description: str) -> Signal:
    return Signal(
        title=f"Time {name}",
        unit="s",
        expr=f"{expr}\n  /\n({_DONE})",
        legend=name,
        description=description,
        colours=tuple(palette.PHASES.items()),
    )


IN_COMPUTE = _phase(
    "compute",
    f"sum({_COMPUTE})",
    "Where the mean latency of a request goes. Queue: waiting for a model instance. Compute: copying in, the "
    "model, copying out; a request in a batch is charged the whole batch. Good: next to no queue. From "
    "`nv_inference_queue_duration_us` and `nv_inference_compute_…`.",
)
IN_QUEUE = _phase("queue", f"sum({_QUEUE})", "Waiting for a model instance. Good: next to nothing.")
IN_OTHER = _phase(
    "other",
    f"clamp_min(sum({_REQUEST}) - sum({_QUEUE}) - sum({_COMPUTE}), 0)",
    "What is neither queue nor compute. Good: next to nothing.",
)

QUEUE = Signal(
    title="Queue time",
    short="queue",
    unit="s",
    expr="model_version:triton_queue_duration_seconds:mean5m{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Mean time a request waits for a model instance. Good: a few milliseconds; above a tenth of a "
        "second a warning fires. From `model_version:triton_queue_duration_seconds:mean5m`."
    ),
    steps=(
        Step(value=None, colour=palette.GOOD),
        Step(value=thresholds.QUEUE_SECONDS, colour=palette.BAD),
    ),
    lines=True,
)

PENDING = Signal(
    title="Queue length",
    unit="none",
    expr="model_version:triton_requests_pending:sum{%(subject)s}",
    legend="waiting {{model}} {{version}}",
    colour=palette.VIOLET,
    description=(
        "Requests in Triton's queues at the moment of the scrape, and requests in flight on average. Good: "
        "waiting near 0, in flight below the number of model instances. From "
        "`nv_inference_pending_request_count`."
    ),
)

WAITING_ALL = Signal(
    title="Queue length",
    unit="none",
    expr="sum(model_version:triton_requests_pending:sum{%(cluster)s})",
    legend="waiting",
    empty="no Triton server is scraped",
    description=(
        "Requests in the queues of all models: busy accelerators are a problem when this grows. Good: near "
        "0. From `model_version:triton_requests_pending:sum`."
    ),
    decimals=0,
)

IN_FLIGHT = Signal(
    title="Requests in flight",
    unit="none",
    expr="model_version:triton_requests_in_flight:mean5m{%(subject)s}",
    legend="in flight {{model}} {{version}}",
    colour=palette.ORANGE,
    description=(
        "Mean number of requests inside the model, from Little's law. Good: below the number of model "
        "instances. From `model_version:triton_requests_in_flight:mean5m`."
    ),
)

SKEW = Signal(
    title="Replica compared with its peers",
    unit="none",
    expr="replica_model_version:triton_request_duration_seconds_per_peers:ratio5m{%(subject)s}",
    empty="no other replica with traffic",
    legend="{{%(replica)s}} {{model}} {{version}}",
    description=(
        "Mean latency on one replica as a multiple of that of the other replicas. Good: all near 1; at "
        "twice its peers a warning fires. From "
        "`replica_model_version:triton_request_duration_seconds_per_peers:ratio5m`."
    ),
    steps=(Step(value=None, colour=palette.GOOD), Step(value=thresholds.SKEW, colour=palette.BAD)),
    lines=True,
    decimals=2,
)
