"""Errors: how many, and why."""

from __future__ import annotations

import palette

from signals import Signal, Step, or_none

_RATIO_STEPS = (
    Step(value=None, colour=palette.GOOD),
    Step(value=0.001, colour=palette.BAD),
    Step(value=0.01, colour=palette.CRITICAL),
)

RATIO = Signal(
    title="Error ratio",
    short="errors",
    unit="percentunit",
    expr="model_version:triton_requests_bad_per_requests:ratio_rate5m{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Share of requests that failed over five minutes, error replies and dead workers included. "
        "Good: below the error budget of the SLO. From "
        "`model_version:triton_requests_bad_per_requests:ratio_rate5m`."
    ),
    steps=_RATIO_STEPS,
)

OVERALL = Signal(
    title="Error ratio",
    unit="percentunit",
    expr=(
        "sum(sum_over_time(model_version:triton_requests_bad:increase{%(subject)s}[5m]))\n"
        "  /\n"
        "(sum(sum_over_time(model_version:triton_requests:increase{%(subject)s}[5m])) > 0)"
    ),
    legend="bad",
    description=(
        "Share of all requests to the chosen models that failed over five minutes. Good: below 0.1 %. "
        "From `model_version:triton_requests_bad:increase`."
    ),
    steps=_RATIO_STEPS,
    decimals=2,
)

BY_REASON = Signal(
    title="Errors by reason",
    unit="reqps",
    expr=or_none(
        "sum by (model, reason) (\n"
        "  model_version_stage_reason:tritonobs_stage_errors:rate%(medium)s{%(subject)s}\n"
        ")"
    ),
    legend="{{model}} {{reason}}",
    description=(
        "Errors per second as the models name them; a pipeline names those of the models it calls, too, so "
        "lines of several models do not add up. Good: none, or the few bad images that clients always "
        "send; invalid input is in no error ratio. From `tritonobs_stage_errors_total`."
    ),
    colours=(("no errors", palette.GREY),),
)

OF_TRITON = Signal(
    title="Failures as Triton counts them",
    unit="reqps",
    expr=("sum by (reason) (model_version_reason:triton_requests_failed:rate%(short)s{%(subject)s})"),
    legend="{{reason}}",
    description=(
        "Failures per second that Triton itself counts: `REJECTED` timed out in the queue, `CANCELED` was "
        "cancelled by the client, `BACKEND` raised or died. Good: all at 0. From "
        "`nv_inference_request_failure`."
    ),
    colours=tuple(palette.FAILURES.items()),
)
