"""What people choose on a board: always in the same order, always from records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_TRAFFIC: Final = "model_version:triton_requests:rate5m"
_STAGES: Final = "model_version_stage:tritonobs_stage_duration_seconds:p99_5m"
_DEVICES: Final = "device:accelerator_utilization:ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A choice filled by a query. `every` offers all values at once, and is what a board opens with."""

    name: str
    label: str
    query: str
    description: str
    multi: bool = True
    every: bool = True
    regex: str = ""
    ordered: bool = True
    hidden: bool = False


CLUSTER = Variable(
    name="cluster",
    label="Cluster",
    query=f"label_values({_TRAFFIC}, %(by_cluster)s)",
    description="Empty unless one Prometheus (or Thanos, Mimir) holds several clusters.",
    multi=False,
)
MODEL = Variable(
    name="model",
    label="Model",
    query=f"label_values({_TRAFFIC}{{%(cluster)s}}, model)",
    description="Models with traffic in the chosen time.",
)
LANGUAGE_MODEL = Variable(
    name="model",
    label="Model",
    query="label_values(model_version_kind:tritonobs_tokens:rate%(medium)s{%(cluster)s}, model)",
    description="Models that count tokens.",
)
ONE_MODEL = Variable(
    name="model",
    label="Model",
    query=f"label_values({_TRAFFIC}{{%(cluster)s}}, model)",
    description="The model this board is about.",
    multi=False,
    every=False,
)
# Pipelines first: the board opens with one.
PIPELINE = Variable(
    name="model",
    label="Pipeline",
    query=(
        "query_result(sort_desc("
        "count by (model) (label_replace(pipeline_stage_model:tritonobs_pipeline_calls:held{%(cluster)s}, "
        '"model", "$1", "pipeline", "(.*)")) '
        f"or group by (model) ({_TRAFFIC}{{%(cluster)s}}) * 0))"
    ),
    description="A pipeline, or any other model.",
    multi=False,
    every=False,
    regex='/model="((?:[^"\\\\\\\\]|\\\\\\\\.)*)"/',
    ordered=False,
)
VERSION = Variable(
    name="version",
    label="Version",
    query=f"label_values({_TRAFFIC}{{%(model)s}}, version)",
    description="Versions of the chosen models.",
)
STAGE = Variable(
    name="stage",
    label="Stage",
    query=f"label_values({_STAGES}{{%(subject)s}}, stage)",
    description="Stages of the chosen models.",
)
SLO = Variable(
    name="slo",
    label="SLO",
    query="label_values(slo:objective:ratio{%(model)s}, slo)",
    description="SLOs of the chosen models.",
)
PROMISED = Variable(
    name="model",
    label="Model",
    query="label_values(slo:objective:ratio{%(cluster)s}, model)",
    description="Models with an SLO.",
)
PROMISED_VERSION = Variable(
    name="version",
    label="Version",
    query="label_values(slo:objective:ratio{%(model)s}, version)",
    description="Versions with an SLO; SLOs of whole models are always shown.",
)
VENDOR = Variable(
    name="vendor",
    label="Vendor",
    query=f"label_values({_DEVICES}{{%(cluster)s}}, vendor)",
    description="The vendor of the accelerator.",
)
DEVICE = Variable(
    name="device",
    label="Device",
    query=f'label_values({_DEVICES}{{%(cluster)s, vendor=~"$vendor"}}, device)',
    description="One accelerator.",
)


def hidden(shown: Iterable[Variable]) -> tuple[Variable, ...]:
    """What a board carries for the others: the selected model, and every choice it has no use for.

    A board about one model gets it from `focus`. A board about many narrows `focus` to its own choice, so
    that the link to a board about one model never passes "All".
    """
    have = {variable.name: variable for variable in shown}
    model = have.get("model")
    one = model is not None and not model.every
    about = '%(cluster)s, model=~"$model"' if model else "%(cluster)s"
    carried = []
    if not one:
        carried.append(
            Variable(
                name="focus",
                label="Selected model",
                query=f"label_values({_TRAFFIC}{{{about}}}, model)",
                description="The model that is passed to linked boards.",
                multi=False,
                every=False,
                hidden=True,
            )
        )
    subject = "model" if one else "focus"
    of_model = f'%(cluster)s, model=~"${subject}"'
    for variable, query in (
        (VERSION, f"label_values({_TRAFFIC}{{{of_model}}}, version)"),
        (STAGE, f"label_values({_STAGES}{{{of_model}}}, stage)"),
        (SLO, f"label_values(slo:objective:ratio{{{of_model}}}, slo)"),
    ):
        if variable.name not in have:
            carried.append(replace(variable, query=query, hidden=True))
    return tuple(carried)
