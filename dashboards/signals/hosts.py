"""Machines and processes: Triton servers, their hosts, the workers of Python models."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step

_UP_STEPS = (Step(value=None, colour=palette.CRITICAL), Step(value=1, colour=palette.GOOD))

UP = Signal(
    title="Replicas",
    unit="none",
    expr="max by (%(replica)s) (up{%(triton)s, %(cluster)s})",
    legend="{{%(replica)s}}",
    description=(
        "Whether Prometheus reaches each replica's metrics. Good: all up; a replica that is down is not "
        "monitored. From `up`."
    ),
    says=((0, "down", palette.CRITICAL), (1, "up", palette.GOOD)),
    steps=_UP_STEPS,
    maximum=1,
)

UP_SHARE = Signal(
    title="Replicas up",
    unit="percentunit",
    expr="avg(up{%(triton)s, %(cluster)s})",
    legend="up",
    description="Share of the replicas that Prometheus reaches. Good: 100 %. From `up`.",
    steps=_UP_STEPS,
    maximum=1,
)

CPU = Signal(
    title="CPU of the hosts",
    unit="percentunit",
    expr="max by (%(replica)s) (nv_cpu_utilization{%(triton)s, %(cluster)s})",
    legend="{{%(replica)s}}",
    description=(
        "CPU in use on the whole host, all its cores and processes; not the container's share. Good: "
        "below 80 %. From `nv_cpu_utilization`."
    ),
    maximum=1,
)

MEMORY = Signal(
    title="Memory of the hosts",
    unit="percentunit",
    expr=(
        "max by (%(replica)s) (\n"
        "  nv_cpu_memory_used_bytes{%(triton)s, %(cluster)s}\n"
        "    /\n"
        "  nv_cpu_memory_total_bytes{%(triton)s, %(cluster)s}\n"
        ")"
    ),
    legend="{{%(replica)s}}",
    description=(
        "Memory in use on the host. Good: steady, below 95 %; above it the kernel kills processes. From "
        "`nv_cpu_memory_used_bytes`."
    ),
    maximum=1,
    steps=(
        Step(value=None, colour=palette.GOOD),
        Step(value=thresholds.HOST_MEMORY, colour=palette.CRITICAL),
    ),
    lines=True,
)

PINNED = Signal(
    title="Pinned memory pool",
    unit="percentunit",
    expr=(
        "max by (%(replica)s) (\n"
        "  nv_pinned_memory_pool_used_bytes{%(triton)s, %(cluster)s}\n"
        "    /\n"
        "  (nv_pinned_memory_pool_total_bytes{%(triton)s, %(cluster)s} > 0)\n"
        ")"
    ),
    legend="{{%(replica)s}}",
    description=(
        "Triton's pool for copies to accelerators. Good: below 95 %; when it is full, copies become slow. "
        "From `nv_pinned_memory_pool_used_bytes`."
    ),
    maximum=1,
)

SCRAPE = Signal(
    title="Scrape duration",
    unit="s",
    expr="max by (%(replica)s) (scrape_duration_seconds{%(triton)s, %(cluster)s})",
    legend="{{%(replica)s}}",
    description=(
        "How long a scrape of the replica takes. Good: below a tenth of a second; a busy host "
        "is slow here first. From `scrape_duration_seconds`."
    ),
)

SERIES = Signal(
    title="Series by replica",
    unit="short",
    expr="max by (%(replica)s) (scrape_samples_scraped{%(triton)s, %(cluster)s})",
    legend="{{%(replica)s}}",
    description=(
        "Series that each replica exposes. Good: flat; 0 is a wrong metrics path, a steady "
        "rise is a label with unbounded cardinality. From `scrape_samples_scraped`."
    ),
)

HEARTBEATS = Signal(
    title="Heartbeats of model instances",
    unit="none",
    expr="model_instance:tritonobs_worker_alive:bool{%(cluster)s}",
    legend="{{model_instance}}",
    description=(
        "Whether each instance of a Python model has a live worker. Good: all alive; Triton calls a model "
        "ready even when its worker is dead. From `model_instance:tritonobs_worker_alive:bool`."
    ),
    says=((0, "dead", palette.CRITICAL), (1, "alive", palette.GOOD)),
    steps=_UP_STEPS,
    maximum=1,
)

FLUSH = Signal(
    title="Cost of the stage metrics",
    unit="percentunit",
    expr="max by (model) (rate(tritonobs_flush_seconds_total{%(triton)s, %(cluster)s}[$__rate_interval]))",
    legend="{{model}}",
    description=(
        "Share of one thread's time that a worker spends flushing its metrics. Good: below 5 %. From "
        "`tritonobs_flush_seconds_total`."
    ),
)

LOST = Signal(
    title="Stage records lost",
    unit="epm",
    expr=(
        "60 * sum by (model) (\n"
        "  rate(tritonobs_flush_errors_total{%(triton)s, %(cluster)s}[$__rate_interval])\n"
        ")"
    ),
    legend="{{model}}",
    description=(
        "Metric calls that failed. Good: 0; the server's log names the first. From "
        "`tritonobs_flush_errors_total`."
    ),
)
