"""All artifacts of a fleet, in one call; of several Prometheus that share the servers, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from tritonobs.plan.fleet import Plan
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.grafana import PROVISIONING, render_grafana
from tritonobs.render.prometheus import clock, render_prometheus, shard_labels, shard_relabellings, triton_job
from tritonobs.render.rules import render_objectives, render_rules

_RENDERERS = (render_prometheus, render_rules, render_objectives, render_alertmanager)

FOLDER: Final = "prometheus/shards"
_COMMENT: Final = """\
Made by tritonobs build from the fleet {fleet}.
Shard {number} of {shards}. Its rules look back for an hour: what lasts is in the global Prometheus."""


def render_fleet(plan: Plan, provisioning: PurePosixPath = PROVISIONING) -> tuple[Artifact, ...]:
    """Every file that Prometheus, Alertmanager and Grafana need; the same plan gives the same bytes.

    `provisioning` is the folder that Grafana will read its files from.

    Raises:
        RenderFailed: the rules could not be made.
    """
    if plan.rules.tier == "shard":
        return tuple(render_shards(plan))
    return (
        *chain.from_iterable(render(plan) for render in _RENDERERS),
        *(render_shards(plan) if plan.rules.tier == "global" else ()),
        *render_grafana(plan, provisioning),
    )


def render_shards(plan: Plan) -> Iterator[Artifact]:
    """`shards/shard-N.yml` for each shard, and the rules that all of them load.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    own = replace(plan, rules=replace(plan.rules, tier="shard"))
    shards = len(plan.prometheus.shards)
    rules = [replace(one, path=f"{FOLDER}/rules/{PurePosixPath(one.path).name}") for one in render_rules(own)]
    for number in range(shards):
        job = triton_job(plan)
        job["relabel_configs"] = [
            *job.get("relabel_configs", ()),
            *shard_relabellings(plan.replica_source, number, shards),
        ]
        config = {
            "global": {**clock(plan), "external_labels": shard_labels(plan, number)},
            "rule_files": [f"rules/{PurePosixPath(one.path).name}" for one in rules],
            "scrape_configs": [job],
        }
        comment = _COMMENT.format(fleet=" ".join(plan.fleet.split()), number=number, shards=shards)
        yield Artifact(path=f"{FOLDER}/shard-{number}.yml", text=yaml_text(config, comment=comment))
    yield from rules
