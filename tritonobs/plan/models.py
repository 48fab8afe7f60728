"""The models of a fleet, everything inherited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.plan.fleet import Call, Model
from tritonobs.plan.objectives import bounds_of

if TYPE_CHECKING:
    from tritonobs.spec.schema import Spec


def build_models(spec: Spec) -> tuple[Model, ...]:
    """Every model, in the order of the file."""
    return tuple(
        Model(
            name=name,
            versions=tuple(model.versions),
            kind=model.pipeline or "model",
            calls=tuple(
                Call(stage=stage, model=call.model or stage, per_request=call.per_request)
                for stage, call in model.calls.items()
            ),
            team=_first(model.team, spec.defaults.team),
            tier=_first(model.tier, spec.defaults.tier),
            latency_bounds_seconds=bounds_of(model),
        )
        for name, model in spec.models.items()
    )


def _first(own: str | None, inherited: str | None) -> str:
    return own if own is not None else inherited or ""
