"""What annotations of Deployments come to."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.kubernetes import Annotated
from tritonobs.plan.declared import annotated_limits, overrides
from tritonobs.plan.fleet import Model, QpsLimit

if TYPE_CHECKING:
    from tritonobs.plan.declared import Annotated as Judged

MODELS = (Model(name="inspect", versions=("1", "2")), Model(name="nms", versions=()))
QPS = "tritonobs.dev/max-qps"
RIVAL = "has a limit for the same model; the lower one is in force"
ALLOWED = "allowed is a number from 0.001 to 1000000 (requests a second), or unlimited"


def _deployment(name: str = "inspect", namespace: str = "shop", **annotations: str) -> Annotated:
    named = {key.replace("max_qps", QPS).replace("_", "."): text for key, text in annotations.items()}
    named = {key if "/" in key else f"tritonobs.dev/{key}": text for key, text in named.items()}
    return Annotated(namespace=namespace, name=name, annotations=named)


def _told(*deployments: Annotated, last: dict[str, QpsLimit] | None = None) -> dict[str, str]:
    limits = overrides(annotated_limits(deployments, MODELS, last or {}).limits.values())
    return {f"{model}@{version}": f"{limit.qps:f}" for (model, version), limit in limits.items()}


def _lines(found: Judged) -> list[str]:
    return [f"{origin}: {complaint}" for origin, complaint in found.complaints.items()]


def test_annotations_are_limits_of_the_model_and_its_versions() -> None:
    """The Deployment's own name is the model, unless an annotation names another."""
    assert _told(
        _deployment(max_qps="8.5", max_qps_2=" 3 "),
        _deployment("triton-nms", model="nms", max_qps="unlimited"),
    ) == {"inspect@": "8.5", "inspect@2": "3", "nms@": "Infinity"}


COMPLAINTS = [
    pytest.param(
        _deployment(max_qps="-1"),
        f'Deployment shop/inspect {QPS}: found "-1"; {ALLOWED}',
        id="a negative number",
    ),
    pytest.param(
        _deployment(max_qps_3="5"),
        f'Deployment shop/inspect {QPS}.3: "3" is not a version of inspect; there are 1 and 2',
        id="an unknown version",
    ),
    pytest.param(
        _deployment("inspct", max_qps="5"),
        f'Deployment shop/inspct {QPS}: "inspct" is not a model of this fleet (did you mean inspect?)',
        id="a name close to a model",
    ),
    pytest.param(
        _deployment("web", max_qps="5"),
        f'Deployment shop/web {QPS}: "web" is not a model of this fleet; '
        "name one in the annotation tritonobs.dev/model",
        id="a name like no model",
    ),
]


@pytest.mark.parametrize(("deployment", "complaint"), COMPLAINTS)
def test_what_cannot_be_meant_is_told_and_limits_nothing(deployment: Annotated, complaint: str) -> None:
    """Which Deployment, which annotation, what was found, what is allowed."""
    found = annotated_limits([deployment], MODELS, {})

    assert (dict(found.limits), _lines(found)) == ({}, [complaint])


def test_a_value_spoilt_later_leaves_the_last_good_one() -> None:
    """A typo does not lift a limit."""
    last = annotated_limits([_deployment(max_qps="8")], MODELS, {}).limits
    found = annotated_limits([_deployment(max_qps="8o")], MODELS, last)

    assert [limit.qps for limit in found.limits.values()] == [Decimal(8)]
    assert _lines(found) == [f'Deployment shop/inspect {QPS}: found "8o"; {ALLOWED}; 8 stays in force']


def test_an_annotation_taken_away_is_gone() -> None:
    """That is a decision, not a mistake."""
    last = annotated_limits([_deployment(max_qps="8")], MODELS, {}).limits

    assert _told(_deployment(), last=dict(last)) == {}


def test_of_two_deployments_for_one_model_the_lower_limit_counts_and_both_are_told() -> None:
    """Two clusters' worth of annotations must not let more through than either says."""
    deployments = [_deployment(max_qps="8"), _deployment("canary", model="inspect", max_qps="5")]

    assert _told(*deployments) == {"inspect@": "5"}
    assert _lines(annotated_limits(deployments, MODELS, {})) == [
        f"Deployment shop/inspect {QPS}: Deployment shop/canary {QPS} {RIVAL}"
    ]
