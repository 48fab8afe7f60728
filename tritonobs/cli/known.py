"""A model that nobody saw is wrong usage, and the answer says which there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.live.snapshot import Span


def refuse_unknown(prometheus: PrometheusClient, span: Span, model: str, version: str = "") -> None:
    """End with wrong usage unless Prometheus saw the model (and the version) in the span.

    Raises:
        BadParameter: it did not.
        ClientError: it did not answer.
    """
    from tritonobs.live.known import unknown_model  # noqa: PLC0415 (only an empty answer needs it)

    if model and (sentence := unknown_model(prometheus, span, model=model, version=version)):
        raise click.BadParameter(sentence, param_hint="--version" if " version " in sentence else "--model")
