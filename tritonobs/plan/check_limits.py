"""Limits that contradict each other, or that Triton cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.findings import Severity
from tritonobs.plan.declared import declared_limits, limit_paths, written_limits
from tritonobs.plan.limits import resolve_limits
from tritonobs.spec.words import listed
from tritonobs.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritonobs.findings import Finding
    from tritonobs.plan.fleet import Model, QpsLimit
    from tritonobs.spec.schema import ModelSpec, ScheduledLimit, Spec


def limit_findings(spec: Spec, models: Sequence[Model]) -> Iterator[Finding]:
    """Every finding about the limits of a fleet whose pipelines are sound."""
    yield from _overlaps(spec, spec.scheduled_limits, ())
    for name, model in spec.models.items():
        path = ("models", name)
        yield from _overlaps(spec, model.scheduled_limits, path)
        for version, own in model.versions.items():
            yield from _overlaps(spec, own.scheduled_limits, (*path, "versions", version))
        yield from _out_of_reach(spec, model, path)
        yield from _indistinct(spec, model, path)
    yield from _capped(spec, models)


def _overlaps(spec: Spec, scheduled: Sequence[ScheduledLimit], path: tuple[str, ...]) -> Iterator[Finding]:
    for position, one in enumerate(scheduled):
        for earlier, other in enumerate(scheduled[:position]):
            begins_in = (
                other.valid_until is None or one.valid_from is None or one.valid_from < other.valid_until
            )
            ends_in = (
                one.valid_until is None or other.valid_from is None or other.valid_from < one.valid_until
            )
            if begins_in and ends_in:
                message = f"holds at the same time as scheduled_limits[{earlier}]; only one limit can hold"
                yield spec.source.finding((*path, "scheduled_limits", position), message)


def _out_of_reach(spec: Spec, model: ModelSpec, path: tuple[str, ...]) -> Iterator[Finding]:
    whole = model.qps_limit
    for version, own in model.versions.items():
        if (
            whole is not None
            and own.qps_limit is not None
            and whole < own.qps_limit
            and own.qps_limit.is_finite()
        ):
            message = (
                f"{format_number(own.qps_limit)} is above the limit of the whole model "
                f"({format_number(whole)}), which is reached first"
            )
            yield spec.source.finding(
                (*path, "versions", version, "qps_limit"), message, severity=Severity.WARNING
            )


def _indistinct(spec: Spec, model: ModelSpec, path: tuple[str, ...]) -> Iterator[Finding]:
    if model.pipeline != "ensemble" or len(model.versions) < 2:  # noqa: PLR2004 (two versions to tell apart)
        return
    for version, own in model.versions.items():
        for field in ("qps_limit", "scheduled_limits", "tokens_per_second_limit", "slos"):
            if getattr(own, field):
                message = (
                    f"Triton counts all versions of an ensemble under version 1, so {listed(model.versions)} "
                    "cannot be told apart; write it for the model"
                )
                yield spec.source.finding((*path, "versions", version, field), message, key=True)


def _capped(spec: Spec, models: Sequence[Model]) -> Iterator[Finding]:
    """Each field once, with the lowest limit that took its place."""
    written, paths = written_limits(spec), limit_paths(spec)
    caps: dict[str, QpsLimit] = {}
    for limit in resolve_limits(models, declared_limits(spec)):
        if limit.instead_of and limit.qps <= caps.get(limit.instead_of, limit).qps:
            caps[limit.instead_of] = limit
    for field, limit in caps.items():
        message = f"{format_number(written[field].qps)} is more than its members allow: {limit.origin}"
        hint = f"{format_number(limit.qps)} is in force"
        yield spec.source.finding(paths[field], message, hint=hint, severity=Severity.WARNING)
