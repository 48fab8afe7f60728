"""Since when a bound is named, at the edge of each window: what is new is not charged, what was away is.

Each cluster is a fleet of its own, with one worker and one bound.
"""

from support.case import WRITTEN, Case, reads
from support.simulate import World

GREW = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase"
COUNTED = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:last"
KEPT, READ = "model_stage_le:tritonobs_latency_bound:kept", "target:triton_page_read:bool"
NEW, BOUND, BUDGET = (
    "replica:triton_pages_new:count",
    "model_stage_le:tritonobs_latency_bound:info",
    "cluster:slo_error_budget:min",
)
NOW, HOUR, SCRAPE = 120, 60, 0.25
ALWAYS = [(999, 1)]
SINCE_NOW, SINCE_BEFORE = [(NOW, None), (999, 1)], [(NOW - SCRAPE, None), (999, 1)]
HALF_AN_HOUR_AGO = [(NOW - HOUR / 2, 1), (999, None)]
LONG_AGO = [(NOW - 1.5 * HOUR, 1), (999, None)]
GREW_BY_3, COMES = [(NOW, 5), (999, 8)], [(NOW, None), (999, 8)]
AWAY = [(NOW - 1.5 * HOUR, 5), (NOW, None), (999, 8)]
# By cluster: what the worker counted, since when its bound is named, kept from before, and the page of
# names was read; and how much more is charged.
WORKERS = {
    "named": (GREW_BY_3, ALWAYS, None, ALWAYS, 3),
    "named_before": (GREW_BY_3, SINCE_BEFORE, None, ALWAYS, 3),
    "named_now": (GREW_BY_3, SINCE_NOW, None, ALWAYS, None),
    "comes": (COMES, SINCE_BEFORE, None, ALWAYS, 8),
    "comes_with_its_name": (COMES, SINCE_NOW, None, ALWAYS, None),
    "away": (AWAY, ALWAYS, None, ALWAYS, 8),
    # While the page is not read, the names of the hour before hold.
    "unread": (GREW_BY_3, SINCE_NOW, HALF_AN_HOUR_AGO, None, 3),
    "unread_for_long": (GREW_BY_3, SINCE_NOW, LONG_AGO, None, None),
    "read_before": (GREW_BY_3, SINCE_NOW, HALF_AN_HOUR_AGO, SINCE_BEFORE, None),
    "read_now": (GREW_BY_3, SINCE_NOW, HALF_AN_HOUR_AGO, SINCE_NOW, 3),
    "kept_before": (GREW_BY_3, SINCE_NOW, SINCE_BEFORE, None, 3),
    "kept_now": (GREW_BY_3, SINCE_NOW, SINCE_NOW, None, None),
    "comes_unread": (COMES, SINCE_NOW, HALF_AN_HOUR_AGO, None, 8),
    "comes_unread_for_long": (COMES, SINCE_NOW, LONG_AGO, None, None),
    "comes_read_before": (COMES, SINCE_NOW, HALF_AN_HOUR_AGO, SINCE_BEFORE, None),
    "comes_kept_before": (COMES, SINCE_NOW, SINCE_BEFORE, None, 8),
    "comes_kept_now": (COMES, SINCE_NOW, SINCE_NOW, None, None),
}
# What an engine counted; whether its bound is named, kept from before, and objectives are known.
ENGINES = {
    "named": (GREW_BY_3, True, None, True, 3),
    "away": (AWAY, True, None, True, 8),
    "unread": (GREW_BY_3, False, HALF_AN_HOUR_AGO, False, 3),
    "unread_for_long": (GREW_BY_3, False, LONG_AGO, False, None),
    "not_named_any_more": (GREW_BY_3, False, HALF_AN_HOUR_AGO, True, None),
}
SERIES = {
    "vllm:time_to_first_token_seconds": "first_token",
    "vllm:inter_token_latency_seconds": "output_token",
    "vllm:time_per_output_token_seconds": "output_token",
    "vllm:e2e_request_latency_seconds": "total",
}
OWN = {"model": "nms", "version": "1", "replica": "triton-1"}


def of_workers():
    """Every cluster with a worker."""
    world, rows = World(minutes=NOW), []
    for cluster, (counted, named, kept, read, more) in WORKERS.items():
        bound = {"cluster": cluster, "model": "nms", "stage": "decode", "le": "0.5"}
        own = {**bound, **OWN, "worker": "w"}
        world.gauge(COUNTED, counted, **own).gauge(COUNTED, named, **own, bound="named")
        world.gauge(KEPT, kept, **bound).gauge(READ, read, cluster=cluster, instance="serve")
        rows += [] if more is None else [(own, more)]
    return Case(
        says="a worker is charged since its bound is named, or was when that could be read",
        world=world,
        rules=(GREW,),
        given=(COUNTED, KEPT, READ, NEW, BOUND, BUDGET),
        checks=(reads(GREW, NOW, *rows),),
    )


def of_engines(series, stage):
    """Every cluster with an engine."""
    world, rows = World(minutes=NOW + 1), []
    for cluster, (counted, named, kept, known, more) in ENGINES.items():
        bound = {"cluster": cluster, "model": "nms", "stage": stage, "le": "0.5"}
        own = {**OWN, "cluster": cluster}
        world.gauge(f"{series}_bucket", counted, **own, le="0.5", job="triton")
        world.gauge(KEPT, kept, **bound).gauge(BOUND, 1 if named else None, **bound)
        world.gauge(BUDGET, 0.01 if known else None, cluster=cluster)
        rows += [] if more is None else [({**own, **bound}, more)]
    return Case(
        says=f"an engine is charged for an hour without the names of bounds: {series}",
        world=world,
        rules=(GREW,),
        given=(COUNTED, KEPT, READ, NEW, BOUND, BUDGET),
        checks=(reads(GREW, NOW + WRITTEN, *rows),),
    )


CASES = (of_workers(), *(of_engines(series, stage) for series, stage in SERIES.items()))
