"""An unknown model or cluster is wrong usage; the error lists the known ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.timings.span import Span


def refuse_unknown(prometheus: PrometheusClient, span: Span, model: str, version: str = "") -> None:
    """End with wrong usage unless Prometheus saw the cluster and the model (and the version) in the span.

    Raises:
        BadParameter: it did not.
        ClientError: it did not answer.
    """
    from tritonobs.timings.known import (  # noqa: PLC0415 (only an empty answer needs it)
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
