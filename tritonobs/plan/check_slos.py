"""SLOs that promise nothing, or promise what the fleet cannot measure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tritonobs.plan.objectives import bounds_of, nearest_two, promises, shown
from tritonobs.spec.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.findings import Finding
    from tritonobs.plan.objectives import Promise
    from tritonobs.spec.schema import Spec

    Path = tuple[str, ...]


def slo_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about SLOs; what many models inherit is told once."""
    yield from _bounds(spec)
    told: set[tuple[Path, str]] = set()
    off_bounds: dict[tuple[Path, str], list[str]] = {}
    for promise in promises(spec):
        for path, message in _incomplete(spec, promise):
            if (path, message) not in told:
                told.add((path, message))
                yield spec.source.finding(path, message, key=path == promise.written)
        bounds = bounds_of(spec.models[promise.model])
        if promise.target is not None and promise.target not in bounds:
            beside = " and ".join(shown(bound) for bound in nearest_two(promise.target, bounds))
            models = off_bounds.setdefault((promise.target_written, f"{shown(promise.target)} {beside}"), [])
            if promise.model not in models[-1:]:
                models.append(promise.model)
    for (path, numbers), models in off_bounds.items():
        target, beside = numbers.split(" ", 1)
        message = f"{target} is no latency bound of {listed(models)}; the nearest are {beside}"
        yield spec.source.finding(path, message)


def _incomplete(spec: Spec, promise: Promise) -> Iterator[tuple[Path, str]]:
    if promise.objective is None:
        yield promise.written, "has no objective, neither here nor inherited; write one like 99.9%"
    if promise.target is None and promise.stage:
        yield promise.stage_written, "times a stage but has no target; write one like 250ms"
    if promise.target is not None and spec.models[promise.model].pipeline == "ensemble":
        yield (
            promise.target_written if promise.target_written[0] != "defaults" else promise.written,
            "an ensemble has no code that times its requests; promise latency for members or a BLS pipeline",
        )


def _bounds(spec: Spec) -> Iterator[Finding]:
    for name, model in spec.models.items():
        bounds = model.latency_bounds
        for position, (low, high) in enumerate(pairwise(bounds), start=1):
            if low >= high:
                message = f"{shown(high)} is not above the bound before it, {shown(low)}"
                yield spec.source.finding(("models", name, "latency_bounds", position), message)
