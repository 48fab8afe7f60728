"""SLOs after inheritance: fleet defaults, then the model, then the version, field by field."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from tritonobs.plan.fleet import ALL_VERSIONS, Slo
from tritonobs.stage.series import DEFAULT_BOUNDS_SECONDS, TOTAL
from tritonobs.units import format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tritonobs.spec.openslo import ImportedSlo
    from tritonobs.spec.schema import ModelSpec, SloSpec, Spec
    from tritonobs.spec.source import Source, Step

    Path = tuple[Step, ...]

DEFAULT_BOUNDS = tuple(Decimal(str(bound)) for bound in DEFAULT_BOUNDS_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """An SLO of one model or version after inheritance; what decided it stands in `source` at these paths."""

    name: str
    model: str
    version: str
    source: Source
    written: Path = ()
    objective: Decimal | None = None
    target: Decimal | None = None
    target_written: Path = ()
    stage: str = ""
    stage_written: Path = ()


def promises(spec: Spec) -> Iterator[Promise]:
    """Every SLO of every model and version, complete or not; those taken back with `none` are left out."""
    imported: dict[tuple[str, str], list[ImportedSlo]] = {}
    for one in spec.imported_slos:
        imported.setdefault((one.model, one.version), []).append(one)
    for name, model in spec.models.items():
        nobody = Promise(name="", model=name, version=ALL_VERSIONS, source=spec.source)
        whole = _merge({}, spec.defaults.slos, nobody, ("defaults", "slos"))
        if model.pipeline == "ensemble":
            # An ensemble has no code of ours that could time a request: latency must be asked for by name.
            whole = {slo: promise for slo, promise in whole.items() if promise.target is None}
        whole = _merge(whole, model.slos, nobody, ("models", name, "slos"))
        whole |= _imported(imported.get((name, ALL_VERSIONS), ()))
        yield from whole.values()
        for version, own in model.versions.items():
            path = ("models", name, "versions", version, "slos")
            merged = _merge(whole, own.slos, replace(nobody, version=version), path)
            yield from (merged | _imported(imported.get((name, version), ()))).values()


def slo(promise: Promise) -> Slo:
    """The plan's value of a promise that was found complete."""
    return Slo(
        name=promise.name,
        model=promise.model,
        version=promise.version,
        objective_ratio=promise.objective or Decimal(0),
        stage=promise.stage,
        target_seconds=promise.target,
    )


def bounds_of(model: ModelSpec) -> tuple[Decimal, ...]:
    """The upper bounds of the model's latency buckets, in seconds."""
    return model.latency_bounds or DEFAULT_BOUNDS


def nearest_two(target: Decimal, bounds: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """The bounds on either side of the target, or the last two on the side it is outside of."""
    ordered = sorted(bounds)
    after = min(max(bisect(ordered, target), 1), len(ordered) - 1)
    return tuple(ordered[max(after - 1, 0) : after + 1])


def shown(seconds: Decimal) -> str:
    """A duration as the fleet file would have it: `250ms`, `1m30s`, and `0.5ms` below a millisecond."""
    milliseconds = seconds * 1000
    whole = milliseconds == milliseconds.to_integral_value()
    return format_duration(seconds) if whole else f"{format_number(milliseconds)}ms"


def _merge(
    inherited: Mapping[str, Promise], own: Mapping[str, SloSpec], subject: Promise, path: Path
) -> dict[str, Promise]:
    """What a section makes of the promises it inherits; `subject` is a promise of nothing."""
    model, version = subject.model, subject.version
    merged = {name: replace(promise, model=model, version=version) for name, promise in inherited.items()}
    for name, written in own.items():
        promise = merged.pop(name, None) or replace(subject, name=name)
        if not written.promised:
            continue
        here = (*path, name)
        promise = replace(promise, written=here, objective=written.objective or promise.objective)
        if written.target is not None:
            promise = replace(promise, target=written.target, target_written=(*here, "target"))
        if written.stage is not None:
            promise = replace(promise, stage=written.stage, stage_written=(*here, "stage"))
        if promise.target is not None and not promise.stage:
            promise = replace(promise, stage=TOTAL)
        merged[name] = promise
    return merged


def _imported(slos: Iterable[ImportedSlo]) -> dict[str, Promise]:
    return {
        one.name: Promise(
            name=one.name,
            model=one.model,
            version=one.version,
            source=one.source,
            written=one.path,
            objective=one.objective,
            target=one.target,
            target_written=(*one.path, "value"),
            stage=one.stage or (TOTAL if one.target is not None else ""),
        )
        for one in slos
    }
