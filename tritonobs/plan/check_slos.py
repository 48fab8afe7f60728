"""SLOs that promise nothing, or promise what the fleet cannot measure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tritonobs.plan.objectives import (
    TRACED_REQUEST,
    TRACED_SECONDS,
    bounds_of,
    nearest_two,
    promises,
    shown,
)
from tritonobs.spec.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from tritonobs.findings import Finding
    from tritonobs.plan.objectives import Promise
    from tritonobs.spec.schema import Spec
    from tritonobs.spec.source import Step

    Path = tuple[Step, ...]


def slo_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about SLOs; what many models inherit is reported once."""
    yield from _bounds(spec)
    reported: set[tuple[str, Path, str]] = set()
    off_bounds: dict[tuple[str, Path, str, str], list[Promise]] = {}
    for promise in promises(spec):
        for path, message in _incomplete(spec, promise):
            if (promise.source.file, path, message) not in reported:
                reported.add((promise.source.file, path, message))
                yield promise.source.finding(path, message, key=path == promise.written)
        bounds = bounds_of(spec.models[promise.model], promise.version)
        # Prometheus counts exactly only at bounds; a threshold between two would be a guess.
        if promise.threshold is not None and not promise.traced and promise.threshold not in bounds:
            beside = " and ".join(shown(bound) for bound in nearest_two(promise.threshold, bounds))
            key = (promise.source.file, promise.threshold_written, shown(promise.threshold), beside)
            off_bounds.setdefault(key, []).append(promise)
    for (_, path, threshold, beside), off in off_bounds.items():
        models = listed(dict.fromkeys(promise.model for promise in off))
        message = f"{threshold} is not a latency bound of {models}; the nearest are {beside}"
        yield off[0].source.finding(path, message)


def _incomplete(spec: Spec, promise: Promise) -> Iterator[tuple[Path, str]]:
    if promise.objective is None and not _wrote(promise, "objective"):
        yield promise.written, "has no objective, neither here nor inherited; write one like 99.9%"
    if promise.threshold is None and promise.stage and not _wrote(promise, "threshold"):
        yield promise.stage_written, "times a stage but has no threshold; write one like 250ms"
    allowed = spec.rules.latency_thresholds
    if allowed and promise.threshold is not None and not promise.traced and promise.threshold not in allowed:
        message = f"{shown(promise.threshold)} is none of rules.latency_thresholds"
        yield promise.threshold_written, f"{message}; allowed are {listed([*map(shown, allowed)])}"
    if promise.threshold is not None and promise.charges_invalid:
        yield (
            promise.invalid_written,
            "latency never counts invalid requests; only availability can charge them",
        )
    if promise.traced:
        yield from _untraceable(promise)
    elif promise.threshold is not None and spec.models[promise.model].pipeline == "ensemble":
        yield (
            # A threshold of the defaults is right for other models: the ensemble's own lines are wrong.
            promise.threshold_written if promise.threshold_written[0] != "defaults" else promise.written,
            (
                "an ensemble has no code that times its requests; "
                "write source: traces, or promise latency for members or a BLS pipeline"
            ),
        )


def _wrote(promise: Promise, field: str) -> bool:
    """Whether the file has it, here or inherited: a value that was refused has its finding already."""
    model = ("models", promise.model)
    places = (("defaults",), model, (*model, "versions", promise.version))
    return any(promise.source.has((*place, "slos", promise.name, field)) for place in places)


def _untraceable(promise: Promise) -> Iterator[tuple[Path, str]]:
    if promise.threshold is None:
        if not _wrote(promise, "threshold"):
            yield promise.written, "has source: traces but no threshold; write one like 250ms"
    elif not TRACED_SECONDS[0] <= promise.threshold <= TRACED_SECONDS[1]:
        low, high = map(shown, TRACED_SECONDS)
        yield (
            promise.threshold_written,
            f"{shown(promise.threshold)} is not traced; allowed is {low} to {high}",
        )
    if promise.stage not in {"", TRACED_REQUEST}:
        message = f"traces know the whole request, not stage {promise.stage}; leave out stage or source"
        yield promise.stage_written or promise.written, message


def _bounds(spec: Spec) -> Iterator[Finding]:
    for name, model in spec.models.items():
        path = ("models", name)
        yield from _unsorted(spec, model.latency_buckets, path)
        for version, own in model.versions.items():
            yield from _unsorted(spec, own.latency_buckets, (*path, "versions", version))


def _unsorted(spec: Spec, bounds: tuple[Decimal, ...], path: Path) -> Iterator[Finding]:
    for position, (low, high) in enumerate(pairwise(bounds), start=1):
        if low >= high:
            message = f"{shown(high)} is not above the bound before it, {shown(low)}"
            yield spec.source.finding((*path, "latency_buckets", position), message)
