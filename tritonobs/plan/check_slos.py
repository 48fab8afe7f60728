"""SLOs that promise nothing, or promise what the fleet cannot measure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tritonobs.plan.check_imported import imported_findings
from tritonobs.plan.objectives import bounds_of, nearest_two, promises, shown
from tritonobs.spec.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.findings import Finding
    from tritonobs.plan.objectives import Promise
    from tritonobs.spec.schema import Spec
    from tritonobs.spec.source import Step

    Path = tuple[Step, ...]


def slo_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about SLOs; what many models inherit is told once."""
    yield from _bounds(spec)
    yield from imported_findings(spec)
    told: set[tuple[str, Path, str]] = set()
    off_bounds: dict[tuple[str, Path, str, str], list[Promise]] = {}
    for promise in promises(spec):
        for path, message in _incomplete(spec, promise):
            if (promise.source.file, path, message) not in told:
                told.add((promise.source.file, path, message))
                yield promise.source.finding(path, message, key=path == promise.written)
        bounds = bounds_of(spec.models[promise.model])
        if promise.target is not None and promise.target not in bounds:
            beside = " and ".join(shown(bound) for bound in nearest_two(promise.target, bounds))
            key = (promise.source.file, promise.target_written, shown(promise.target), beside)
            off_bounds.setdefault(key, []).append(promise)
    for (_, path, target, beside), off in off_bounds.items():
        models = listed(dict.fromkeys(promise.model for promise in off))
        message = f"{target} is no latency bound of {models}; the nearest are {beside}"
        yield off[0].source.finding(path, message)


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
