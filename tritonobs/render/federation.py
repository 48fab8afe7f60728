"""What the global Prometheus asks the shards for: the records that its rules read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from tritonobs import names
from tritonobs.plan.fleet import Plan, address_of
from tritonobs.render.rules import Given, given_by_shards, rules_config
from tritonobs.units import format_duration

JOB: Final = "tritonobs-shards"
COUNTED_JOB: Final = "tritonobs-shards-counted"
# What a shard recorded is seen so late at most.
_SLOWEST_SECONDS: Final = Decimal(5)


def shard_labels(plan: Plan, number: int) -> dict[str, str]:
    """What a shard adds to all that leaves it."""
    return {**plan.cluster_labels, names.SHARD: str(number)}


def shard_targets(plan: Plan, path: str) -> list[dict[str, Any]]:
    """A page of each shard, with the labels of what it gives."""
    return [
        {
            "targets": [address_of(url)],
            "labels": {
                "__scheme__": urlsplit(url).scheme,
                "__metrics_path__": f"{urlsplit(url).path}{path}",
                **shard_labels(plan, number),
            },
        }
        for number, url in enumerate(plan.prometheus.shards)
    ]


def federation(plan: Plan) -> list[dict[str, Any]]:
    """The jobs that read the records of shards, each under the name `shard:` and its own.

    Samples that count keep the time they were recorded at, so that each counts once. All others get the time
    of the scrape: Prometheus then ends a series that the shard ended, and all of a shard that is gone.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    given = given_by_shards(rules_config(plan))
    return [
        _job(plan, JOB, [one for one in given if not one.counts], own_times=False),
        _job(plan, COUNTED_JOB, [one for one in given if one.counts], own_times=True),
    ]


def _job(plan: Plan, name: str, given: list[Given], *, own_times: bool) -> dict[str, Any]:
    interval = format_duration(min(_SLOWEST_SECONDS, plan.prometheus.evaluation_interval_seconds))
    matched = "|".join(one.record for one in given)
    return {
        "job_name": name,
        "scrape_interval": interval,
        "scrape_timeout": interval,
        "honor_labels": True,
        "honor_timestamps": own_times,
        "params": {"match[]": [f'{{__name__=~"{matched}"}}']},
        "static_configs": shard_targets(plan, "/federate"),
        "metric_relabel_configs": [
            # A record that has no job would get that of this scrape.
            {"source_labels": ["job"], "regex": name, "target_label": "job", "replacement": ""},
            {"source_labels": ["__name__"], "target_label": "__name__", "replacement": f"{names.SHARD}:$1"},
        ],
    }
