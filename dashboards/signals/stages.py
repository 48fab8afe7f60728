"""Where the time of a request goes inside a model, and inside the models it calls."""

from __future__ import annotations

from dataclasses import replace

import palette
import thresholds

from signals import Signal, Step, few, or_none

_COLOURS = tuple(palette.STAGES.items())
_SUM = "model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s"
_CALLS = 'pipeline_stage_model:tritonobs_pipeline_calls:held{%(cluster)s, pipeline=~"$model"}'
_INNER = '%(cluster)s, stage!="total"'


def _of_family(operator: str, by: str, record: str, only: str = "") -> str:
    """The record of the chosen model and of the models it calls."""
    return (
        f"{operator} by ({by}) (\n"
        f'  {record}{{%(cluster)s, stage=~"$stage"{only}}}\n'
        "    and on (%(by_model)s)\n"
        "  (\n"
        f"    {_CALLS}\n"
        "      or\n"
        "    subject:tritonobs_owner:info{%(model)s}\n"
        "  )\n"
        ")"
    )


SHARE = Signal(
    title="Share of the request",
    unit="percentunit",
    expr=(
        f'sum by (%(by_model)s, stage) ({_SUM}{{stage!="total", %(stage)s}})\n'
        "  / on (%(by_model)s) group_left ()\n"
        f'(sum by (%(by_model)s) ({_SUM}{{stage="total", %(subject)s}}) > 0)'
    ),
    legend="{{stage}}",
    description=(
        "The share of a request's time in each stage; what is missing to 100 % is between stages. Good: the "
        "shares of last week; the one that grew is where to look. From `tritonobs_stage_duration_seconds`."
    ),
    maximum=1,
    colours=_COLOURS,
)

P99 = Signal(
    title="P99 by stage",
    unit="s",
    expr=f"max by (stage) (\n{few.told('p99', '%(stage)s')}\n)",
    legend="{{stage}}",
    description=(
        "99 % of the requests spent at most this long in the stage; `total` is the whole request. "
        f"{few.FEW}Good: flat lines. From `model_version_stage:tritonobs_stage_duration_seconds:p99_5m`."
    ),
    colours=_COLOURS,
)
P99_OF_FEW = few.of_few(P99, "stage", "%(stage)s", "{{stage}}")

MEAN = Signal(
    title="Mean time by stage",
    unit="s",
    expr=(
        f'sum by (stage) ({_SUM}{{stage!="total", %(stage)s}})\n'
        "  / ignoring (stage) group_left ()\n"
        "(\n"
        "  sum(\n"
        "    model_version_stage:tritonobs_stage_duration_seconds_count:rate%(medium)s"
        '{stage="total", %(subject)s}\n'
        "  ) > 0\n"
        ")"
    ),
    legend="{{stage}}",
    description=(
        "Seconds that a request spends in each stage on average, calls added up. Good: flat. From "
        "`tritonobs_stage_duration_seconds`."
    ),
    colours=_COLOURS,
)

BUDGET_USED = Signal(
    title="Latency budget by stage",
    unit="percentunit",
    expr=(
        "max by (model, stage) (\n"
        "  model_version_stage:tritonobs_stage_latency_budget_used:ratio5m{%(model)s}\n"
        ")"
    ),
    legend="{{model}} {{stage}}",
    description=(
        "The mean seconds of a stage as a share of the latency threshold for the whole request. Good: all "
        "together below 100 %, no single one above 80 %. From "
        "`model_version_stage:tritonobs_stage_latency_budget_used:ratio5m`."
    ),
    steps=(Step(value=None, colour=palette.GOOD), Step(value=thresholds.STAGE_BUDGET, colour=palette.BAD)),
    lines=True,
    colours=_COLOURS,
)


def _sizes(title: str, unit: str, kinds: str, legend: str) -> Signal:
    record = "model_version_stage_kind:tritonobs_stage_size:mean%(medium)s"
    return Signal(
        title=title,
        unit=unit,
        expr=_of_family("max", "stage, kind", record, f", kind{kinds}"),
        legend=legend,
        description=(
            "Mean size of the input of a stage, here and in the called models. Good: steady; larger "
            "images explain a slower decode. From `tritonobs_stage_size`."
        ),
        empty="no stage reports this size",
        colours=_COLOURS,
    )


MEGAPIXELS = _sizes("Input megapixels", "none", '="megapixels"', "{{stage}}")
BYTES = _sizes("Input bytes", "bytes", '="bytes"', "{{stage}}")
COUNTS = _sizes("Input boxes and other items", "short", '!~"megapixels|bytes"', "{{kind}} {{stage}}")

ITEMS = Signal(
    title="Items by stage",
    unit="eps",
    expr=_of_family("sum", "stage, kind", "model_version_stage_kind:tritonobs_stage_items:rate%(medium)s"),
    legend="{{stage}} {{kind}}",
    description=(
        "Images and boxes per second, before and after NMS, here and in the called models. Good: they follow "
        "the traffic; many more boxes before NMS make it slow and are false detections. "
        "From `tritonobs_stage_items_total`."
    ),
)

ERRORS = Signal(
    title="Errors by stage and reason",
    unit="reqps",
    expr=or_none(
        _of_family(
            "sum", "model, stage, reason", "model_version_stage_reason:tritonobs_stage_errors:rate%(medium)s"
        )
    ),
    legend="{{model}} {{stage}} {{reason}}",
    description=(
        "Errors per second by the stage they happened in, here and in the called models; one bad image shows "
        "in both, so the lines do not add up. Good: none; a new "
        "reason after a rollout points to the rollout. From `tritonobs_stage_errors_total`."
    ),
    colours=(("no errors", palette.GREY),),
)

CALLED_TIME = Signal(
    title="Time in the called models",
    unit="s",
    expr=(
        f"sum by (stage) (\n"
        f"  {_CALLS}\n"
        "    * on (%(by_model)s) group_left ()\n"
        "  (\n"
        "    sum by (%(by_model)s) (model_version:triton_request_duration_seconds:rate%(short)s)\n"
        "      /\n"
        "    (sum by (%(by_model)s) (model_version:triton_requests_timed:rate%(short)s) > 0)\n"
        "  )\n"
        ")"
    ),
    legend="{{stage}}",
    description=(
        "Mean seconds that a request of this pipeline spends in the models it calls, their queues included; "
        "also true of ensembles, which have no stages of their own. Good: flat. From "
        "`nv_inference_request_duration_us`."
    ),
    colours=_COLOURS,
)

CALLED_QUEUE = Signal(
    title="Queues of the called models",
    unit="s",
    expr=(
        "max by (model) (\n"
        "  model_version:triton_queue_duration_seconds:mean5m{%(cluster)s}\n"
        "    and on (%(by_model)s)\n"
        f"  {_CALLS}\n"
        ")"
    ),
    legend="{{model}}",
    description=(
        "Mean time a call waits for an instance of the called model, all callers together. Good: a "
        "few milliseconds; the model with the longest queue is the one to give instances. From "
        "`model_version:triton_queue_duration_seconds:mean5m`."
    ),
    steps=(
        Step(value=None, colour=palette.GOOD),
        Step(value=thresholds.QUEUE_SECONDS, colour=palette.BAD),
    ),
    lines=True,
    colours=_COLOURS,
)

CALLED_BUSY = Signal(
    title="Called models busy",
    unit="percentunit",
    expr=(
        "max by (model) (\n"
        "  model_version:tritonobs_workers_busy:ratio5m{%(cluster)s}\n"
        "    and on (%(by_model)s)\n"
        f"  {_CALLS}\n"
        ")"
    ),
    legend="{{model}}",
    description=(
        "Share of the time that the instances of the called models work. Good: below 70 %; the busiest is "
        "the bottleneck. From `model_version:tritonobs_workers_busy:ratio5m`."
    ),
    maximum=1,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=thresholds.BUSY, colour=palette.BAD)),
    lines=True,
    colours=_COLOURS,
)

CALLED_STAGES = Signal(
    title="P99 by stage of the called models",
    unit="s",
    expr=f"max by (model, stage) (\n{few.told('p99', _INNER)}\n    and on (%(by_model)s)\n  {_CALLS}\n)",
    legend="{{model}} {{stage}}",
    description=(
        f"One level deeper: the stages of the models that this pipeline calls. {few.FEW}Good: flat; the line "
        "that rose with the pipeline's P99 is the cause. From "
        "`model_version_stage:tritonobs_stage_duration_seconds:p99_5m`."
    ),
    colours=_COLOURS,
)

CALLED_STAGES_OF_FEW = replace(
    CALLED_STAGES,
    expr=f"max by (model, stage, of) (\n(\n{few.fewer(_INNER)}\n)\n    and on (%(by_model)s)\n  {_CALLS}\n)",
    legend="{{of}} {{model}} {{stage}}",
)
