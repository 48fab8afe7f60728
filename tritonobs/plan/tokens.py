"""Limits of tokens a second: of a model and of each version, inherited by kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tritonobs.plan.fleet import ALL_VERSIONS, FLEET, TokenLimit
from tritonobs.spec.words import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.spec.schema import DefaultsSpec, ModelSpec, Spec, VersionSpec
    from tritonobs.spec.source import Step

    ByKind = dict[str, TokenLimit]

FIELD = "tokens_per_second_limit"


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
            origin=dotted((*path, FIELD, kind)),
        )
        for kind, per_second in said.items()
    }


def _finite(limits: ByKind, model: str, version: str) -> Iterator[TokenLimit]:
    for limit in limits.values():
        if limit.per_second.is_finite():
            yield replace(limit, model=model, version=version)
