"""SLOs after inheritance: fleet defaults, then the model, then the version, field by field.

Below them are the bounds of the traced times' histograms, and the value that represents a bucket. 24
bounds a decade from 0.1 ms to 60 s. The geometric middle of a bucket is at most 4.92 % away from any time in
it, so a quantile that is read as the middle of its bucket is that near to the true one, however the times
are spread. Prometheus' own reading, a straight line through the bucket, may be 10 % away where all take
equally long.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from tritonobs.findings import Step
from tritonobs.plan.fleet import ALL_VERSIONS, Slo
from tritonobs.spec.schema import ModelSpec, SloSpec, Spec
from tritonobs.stage.series import DEFAULT_BOUNDS_SECONDS, TOTAL
from tritonobs.units import format_duration, format_number

Path = tuple[Step, ...]

TRACED_REQUEST = "traces:request"
"""The stage of an SLO about the whole request; no stage can have this name."""
TRACED_SECONDS = (Decimal("0.0001"), Decimal(60))
"""The shortest and the longest threshold of a traced request."""
DEFAULT_BOUNDS = tuple(Decimal(str(bound)) for bound in DEFAULT_BOUNDS_SECONDS)

SHORTEST_PERIOD_DAYS: Final = 7
LONGEST_PERIOD_DAYS: Final = 90

LOWEST_SECONDS, HIGHEST_SECONDS = map(float, TRACED_SECONDS)
A_DECADE: Final = 24
_DIGITS = 6
_ROUNDING = 1e-4
"""Of a step: how far a bound of this many digits may be from its place."""
BOUNDS: Final = tuple(
    float(f"{LOWEST_SECONDS * 10 ** (step / A_DECADE):.{_DIGITS}g}")
    for step in range(math.ceil(math.log10(HIGHEST_SECONDS / LOWEST_SECONDS) * A_DECADE) + 1)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """An SLO of one model or version after inheritance, and what decided it.

    `written` is the last place that names it; `places` are those of its fields.
    """

    name: str
    model: str
    version: str
    said: SloSpec
    written: Path = ()
    places: Mapping[str, Path] = field(default_factory=dict)

    @property
    def traced(self) -> bool:
        """Whether Triton's traces measure it, not the stages."""
        return self.said.source == "traces"

    @property
    def stage(self) -> str:
        """The stage that is timed; "" for availability."""
        whole = TRACED_REQUEST if self.traced else TOTAL
        return self.said.stage or (whole if self.said.threshold is not None else "")


def promises(spec: Spec) -> Iterator[Promise]:
    """Every SLO of every model and version, complete or not; those disabled with `none` are left out."""
    for name, model in spec.models.items():
        none = Promise(name="", model=name, version=ALL_VERSIONS, said=SloSpec())
        whole = _merge({}, spec.defaults.slos, none, ("defaults", "slos"))
        if model.pipeline == "ensemble":
            # An ensemble has no code of ours that could time a request: latency must be asked for by name.
            whole = {slo: kept for slo, kept in whole.items() if kept.traced or kept.said.threshold is None}
        whole = _merge(whole, model.slos, none, ("models", name, "slos"))
        yield from whole.values()
        for version, own in model.versions.items():
            path = ("models", name, "versions", version, "slos")
            yield from _merge(whole, own.slos, replace(none, version=version), path).values()


def slo(promise: Promise) -> Slo:
    """The plan's value of an SLO that was found complete."""
    said = promise.said
    return Slo(
        name=promise.name,
        model=promise.model,
        version=promise.version,
        objective_ratio=said.objective or Decimal(0),
        stage=promise.stage,
        threshold_seconds=said.threshold,
        source=said.source or "stages",
        charges_invalid=said.invalid == "bad",
    )


def bounds_of(model: ModelSpec, version: str = ALL_VERSIONS) -> tuple[Decimal, ...]:
    """The upper bounds of the latency buckets of a version, in seconds."""
    own = model.versions[version].latency_buckets if version in model.versions else ()
    return own or model.latency_buckets or DEFAULT_BOUNDS


def nearest_two(threshold: Decimal, bounds: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """The bounds on either side of the threshold, or the last two on the side it is outside of."""
    ordered = sorted(bounds)
    after = min(max(bisect(ordered, threshold), 1), len(ordered) - 1)
    return tuple(ordered[max(after - 1, 0) : after + 1])


def shown(seconds: Decimal) -> str:
    """A duration as the fleet file would have it: `250ms`, `1m30s`, and `0.5ms` below a millisecond."""
    milliseconds = seconds * 1000
    whole = milliseconds == milliseconds.to_integral_value()
    return format_duration(seconds) if whole else f"{format_number(milliseconds)}ms"


def _merge(
    inherited: Mapping[str, Promise], own: Mapping[str, SloSpec], subject: Promise, path: Path
) -> dict[str, Promise]:
    """The inherited SLOs with the fields of a section; `subject` is an SLO without any field."""
    model, version = subject.model, subject.version
    merged = {name: replace(promise, model=model, version=version) for name, promise in inherited.items()}
    for name, written in own.items():
        # An SLO that is disabled with `none` is popped here and not put back.
        promise = merged.pop(name, None) or replace(subject, name=name)
        if not written.promised:
            continue
        here = (*path, name)
        own_fields = written.model_dump(exclude_none=True)
        places = {**promise.places, **{field: (*here, field) for field in own_fields}}
        # The whole request of the other source must not stay with this one.
        if written.source is not None and promise.said.stage in {TOTAL, TRACED_REQUEST}:
            own_fields.setdefault("stage", None)
        said = promise.said.model_copy(update=own_fields)
        merged[name] = replace(promise, written=here, said=said, places=places)
    return merged


def with_thresholds(thresholds: Iterable[float]) -> tuple[float, ...]:
    """The bounds, and those that latency objectives name: each is counted exactly."""
    return tuple(sorted({*BOUNDS, *thresholds}))


def middle(seconds: float) -> float:
    """The value that represents the bucket of this time; the rules compute the same."""
    step = math.ceil(math.log10(max(seconds, LOWEST_SECONDS) / LOWEST_SECONDS) * A_DECADE - _ROUNDING)
    return LOWEST_SECONDS * math.pow(10.0, (step - 0.5) / A_DECADE)
