"""The QPS limits as a fleet file writes them, before pipelines and time have their say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tritonobs.plan.fleet import ALL_VERSIONS, FLEET, QpsLimit
from tritonobs.spec.words import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.spec.schema import ModelSpec, Spec, VersionSpec
    from tritonobs.spec.source import Step

    Path = tuple[Step, ...]

DEFAULT_FIELD = "defaults.qps_limit"


def written_limits(spec: Spec) -> dict[str, QpsLimit]:
    """Every limit by the field that holds it; the default is not of any model. `unlimited` is infinite."""
    return {limit.origin: limit for _, limit in _all(spec)}


def limit_paths(spec: Spec) -> dict[str, Path]:
    """The same fields, as the steps that lead to them."""
    return {limit.origin: path for path, limit in _all(spec)}


def declared_limits(spec: Spec) -> Iterator[QpsLimit]:
    """What is written for the fleet, models and versions, and the default for each model without a limit."""
    written = written_limits(spec)
    default = written.pop(DEFAULT_FIELD, None)
    yield from written.values()
    if default:
        # `unlimited` is infinite and not None, so such a model does not get the default back.
        yield from (
            replace(default, model=name) for name, model in spec.models.items() if model.qps_limit is None
        )


def _all(spec: Spec) -> Iterator[tuple[Path, QpsLimit]]:
    yield from _of(spec, FLEET, ALL_VERSIONS, ())
    if spec.defaults.qps_limit is not None:
        limit = QpsLimit(model=FLEET, version=ALL_VERSIONS, qps=spec.defaults.qps_limit, origin=DEFAULT_FIELD)
        yield ("defaults", "qps_limit"), limit
    for name, model in spec.models.items():
        path = ("models", name)
        yield from _of(model, name, ALL_VERSIONS, path)
        for version, own in model.versions.items():
            yield from _of(own, name, version, (*path, "versions", version))


def _of(
    section: Spec | ModelSpec | VersionSpec, model: str, version: str, above: Path
) -> Iterator[tuple[Path, QpsLimit]]:
    if section.qps_limit is not None:
        path = (*above, "qps_limit")
        yield path, QpsLimit(model=model, version=version, qps=section.qps_limit, origin=dotted(path))
    for position, scheduled in enumerate(section.scheduled_limits):
        path = (*above, "scheduled_limits", position)
        yield (
            path,
            QpsLimit(
                model=model,
                version=version,
                qps=scheduled.qps_limit,
                valid_from=scheduled.valid_from,
                valid_until=scheduled.valid_until,
                origin=dotted(path),
                reason=scheduled.reason,
            ),
        )
