"""Limits of tokens a second: of a model and of each version, inherited by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.plan.fleet import ALL_VERSIONS, TokenLimit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from tritonobs.spec.schema import Spec, TokensSpec


def token_limits(spec: Spec) -> Iterator[TokenLimit]:
    """What holds for every model and version; `unlimited` leaves no limit."""
    default = _merged({}, spec.defaults.tokens_per_second_limit)
    for name, model in spec.models.items():
        whole = _merged(default, model.tokens_per_second_limit)
        yield from _limits(name, ALL_VERSIONS, whole)
        for version, own in model.versions.items():
            yield from _limits(name, version, _merged(whole, own.tokens_per_second_limit))


def _merged(inherited: dict[str, Decimal], own: TokensSpec | None) -> dict[str, Decimal]:
    return inherited | own.model_dump(exclude_none=True) if own else inherited


def _limits(model: str, version: str, limits: dict[str, Decimal]) -> Iterator[TokenLimit]:
    for kind, per_second in limits.items():
        if per_second.is_finite():
            yield TokenLimit(model=model, version=version, kind=kind, per_second=per_second)
