"""The QPS limits as a fleet file writes them, before pipelines and time have their say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.plan.fleet import ALL_VERSIONS, QpsLimit
from tritonobs.plan.limits import FLEET
from tritonobs.spec.words import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.spec.schema import ModelSpec, Spec, VersionSpec


def declared_limits(spec: Spec) -> Iterator[QpsLimit]:
    """Every limit in the file, and the default for each model without one; `unlimited` is infinite."""
    yield from _of(spec, FLEET, ALL_VERSIONS, ())
    for name, model in spec.models.items():
        path = ("models", name)
        if model.qps_limit is None and spec.defaults.qps_limit is not None:
            origin = "defaults.qps_limit"
            yield QpsLimit(model=name, version=ALL_VERSIONS, qps=spec.defaults.qps_limit, origin=origin)
        yield from _of(model, name, ALL_VERSIONS, path)
        for version, own in model.versions.items():
            yield from _of(own, name, version, (*path, "versions", version))


def _of(
    section: Spec | ModelSpec | VersionSpec, model: str, version: str, path: tuple[str, ...]
) -> Iterator[QpsLimit]:
    if section.qps_limit is not None:
        origin = dotted((*path, "qps_limit"))
        yield QpsLimit(model=model, version=version, qps=section.qps_limit, origin=origin)
    for position, scheduled in enumerate(section.scheduled_limits):
        yield QpsLimit(
            model=model,
            version=version,
            qps=scheduled.qps_limit,
            valid_from=scheduled.valid_from,
            valid_until=scheduled.valid_until,
            origin=dotted((*path, "scheduled_limits", position)),
            reason=scheduled.reason,
        )
