"""What commands ask: the Prometheus of an option and one cluster in it, or a file that `triage --save` wrote.

An unknown model or cluster is wrong usage; the error lists the known ones.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs import names

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.plan.fleet import Plan
    from tritonobs.timings.promql import Span

_DAY_SECONDS = 86_400.0

LOAD = click.option(
    "--load",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read a file of triage --save instead of servers.",
)


def asked_prometheus(url: str, cluster: str, *, timeout_seconds: float = 15.0) -> PrometheusClient:
    """A client that asks about this cluster, or about the only one there is.

    `cluster` is its name, or `LABEL=NAME` where series carry another label than `cluster`.

    Raises:
        BadParameter: none was named, and Prometheus has several.
        ClientError: it did not answer.
    """
    from tritonobs.clients.prometheus import PrometheusClient  # noqa: PLC0415 (brings requests)
    from tritonobs.spec.words import listed  # noqa: PLC0415
    from tritonobs.timings.ask import known_clusters  # noqa: PLC0415
    from tritonobs.timings.promql import Span  # noqa: PLC0415

    label, named, name = cluster.rpartition("=")
    client = PrometheusClient(
        url,
        cluster=name,
        cluster_label=label if named else names.CLUSTER,
        timeout_seconds=timeout_seconds,
    )
    # Without a name, models of the same name in two clusters would be added up as one.
    if not cluster:
        now = time.time()
        there = known_clusters(client, Span(start=now - _DAY_SECONDS, end=now))
        if len(there) > 1:
            raise click.BadParameter(
                f"{client.address} has the clusters {listed(there)}; name one", param_hint="--cluster"
            )
    return client


def fleet_cluster(fleet: Path | None) -> str:
    """The cluster of a fleet file, as `asked_prometheus` takes it; "" without one."""
    if fleet is None:
        return ""
    from tritonobs.cli.fleet_file import asked_plan  # noqa: PLC0415 (needs pydantic)

    return plan_cluster(asked_plan(fleet))


def plan_cluster(plan: Plan) -> str:
    """The cluster of a fleet, as `asked_prometheus` takes it; "" where series carry no label for it."""
    label = plan.rules.cluster_label
    return plan.cluster if label == names.CLUSTER else f"{label}={plan.cluster}" if label else ""


def refuse_unknown(prometheus: PrometheusClient, span: Span, model: str, version: str = "") -> None:
    """End with wrong usage unless Prometheus saw the cluster and the model (and the version) in the span.

    Raises:
        BadParameter: it did not.
        ClientError: it did not answer.
    """
    from tritonobs.timings.ask import (  # noqa: PLC0415 (only an empty answer needs it)
        known_clusters,
        unknown_model,
        unknown_word,
    )

    there = known_clusters(prometheus, span) if prometheus.cluster else ()
    if there and prometheus.cluster not in there:
        raise click.BadParameter(
            unknown_word(prometheus.cluster, there, "cluster was seen"), param_hint="--cluster"
        )
    if model and (sentence := unknown_model(prometheus, span, model=model, version=version)):
        raise click.BadParameter(sentence, param_hint="--version" if " version " in sentence else "--model")
