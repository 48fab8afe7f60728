"""How much headroom is left: model instances, batches, cache."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step

BUSY = Signal(
    title="Model instances busy",
    short="busy",
    unit="percentunit",
    expr="model_version:tritonobs_workers_busy:ratio5m{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Share of the time that model instances are busy. Good: below 70 %, so that there is headroom for "
        "bursts; above 90 % a warning fires. Batches of very different sizes make it too high. From "
        "`model_version:tritonobs_workers_busy:ratio5m`."
    ),
    maximum=1,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=thresholds.BUSY, colour=palette.BAD)),
    lines=True,
)

WORKERS = Signal(
    title="Workers alive",
    short="workers",
    unit="none",
    expr="model_version:tritonobs_workers:count{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Processes of a Python model with a recent heartbeat. Good: as many as model instances are "
        "configured; Triton calls a model ready even when its worker is dead. From "
        "`tritonobs_heartbeat_timestamp_seconds`."
    ),
    decimals=0,
)

HEARTBEAT = Signal(
    title="Heartbeat age",
    unit="dthms",
    expr="model_version:tritonobs_heartbeat_age_seconds:max{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Time since the last heartbeat of the worker with the oldest heartbeat. Good: below two scrape "
        "intervals. From `model_version:tritonobs_heartbeat_age_seconds:max`."
    ),
)

BATCH = Signal(
    title="Batch size",
    unit="none",
    expr="model_version:triton_batch_size:mean5m{%(subject)s}",
    legend="items {{model}} {{version}}",
    colour=palette.BLUE,
    description=(
        "Items and requests in an execution. Good: requests above 1 where dynamic batching is on and "
        "requests wait. From `model_version:triton_batch_size:mean5m` and "
        "`…triton_requests_per_executions:ratio5m`."
    ),
)

PER_EXECUTION = Signal(
    title="Requests per execution",
    unit="none",
    expr="model_version:triton_requests_per_executions:ratio5m{%(subject)s}",
    legend="requests {{model}} {{version}}",
    colour=palette.ORANGE,
    description=(
        "Requests that share an execution. Good: above 1 where requests wait. From "
        "`model_version:triton_requests_per_executions:ratio5m`."
    ),
)

FROM_CACHE = Signal(
    title="Cache hit ratio",
    unit="percentunit",
    expr=(
        "(\n"
        "  model_version:triton_cache_hits:rate%(short)s{%(subject)s}\n"
        "    or\n"
        "  model_version:triton_requests_timed:rate%(short)s{%(subject)s} * 0\n"
        ")\n"
        "  /\n"
        "(model_version:triton_requests_timed:rate%(short)s{%(subject)s} > 0)"
    ),
    legend="{{model}} {{version}}",
    description=(
        "Share of successful requests that Triton's response cache served. Good: steady where the cache "
        "is on, 0 elsewhere. From `nv_cache_num_hits_per_model`."
    ),
    maximum=1,
)
