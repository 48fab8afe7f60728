"""Limits as a fleet file writes them: of requests, before pipelines and time have their say, and of tokens.

Limits of tokens a second are inherited by kind, from the defaults to a model to its versions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tritonobs.plan.fleet import ALL_VERSIONS, FLEET, QpsLimit, TokenLimit
from tritonobs.spec.words import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.spec.schema import DefaultsSpec, ModelSpec, Spec, VersionSpec
    from tritonobs.spec.source import Step

    Path = tuple[Step, ...]
    ByKind = dict[str, TokenLimit]

DEFAULT_FIELD = "defaults.qps_limit"

TOKENS_FIELD = "tokens_per_second_limit"


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


def token_limits(spec: Spec) -> Iterator[TokenLimit]:
    """What holds for every model and version; `unlimited` leaves no limit."""
    default: ByKind = {}
    whole: ByKind = {}
    # `_written` has each model before its versions, so `whole` is that of the version's own model.
    for model, version, own in _written(spec):
        if model == FLEET:
            default = own
        elif version == ALL_VERSIONS:
            whole = default | own
            yield from _finite(whole, model, version)
        else:
            yield from _finite(whole | own, model, version)


def written_token_limits(spec: Spec) -> dict[str, TokenLimit]:
    """Every limit by the field that holds it; the default is not of any model. `unlimited` is infinite."""
    return {limit.origin: limit for _, _, limits in _written(spec) for limit in limits.values()}


def _written(spec: Spec) -> Iterator[tuple[str, str, ByKind]]:
    """Model, version and what is written for them: the default, then each model before its versions."""
    yield FLEET, ALL_VERSIONS, _own(spec.defaults, FLEET, ALL_VERSIONS, ("defaults",))
    for name, model in spec.models.items():
        path = ("models", name)
        yield name, ALL_VERSIONS, _own(model, name, ALL_VERSIONS, path)
        for version, section in model.versions.items():
            yield name, version, _own(section, name, version, (*path, "versions", version))


def _own(
    section: DefaultsSpec | ModelSpec | VersionSpec, model: str, version: str, path: tuple[Step, ...]
) -> ByKind:
    """What a section says itself."""
    tokens = section.tokens_per_second_limit
    said = tokens.model_dump(exclude_none=True) if tokens else {}
    return {
        kind: TokenLimit(
            model=model,
            version=version,
            kind=kind,
            per_second=per_second,
            origin=dotted((*path, TOKENS_FIELD, kind)),
        )
        for kind, per_second in said.items()
    }


def _finite(limits: ByKind, model: str, version: str) -> Iterator[TokenLimit]:
    for limit in limits.values():
        if limit.per_second.is_finite():
            yield replace(limit, model=model, version=version)
