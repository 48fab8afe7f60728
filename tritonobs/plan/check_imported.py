"""OpenSLO documents that do not fit the fleet they are read for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.spec.words import listed, nearest, quoted
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.findings import Finding
    from tritonobs.spec.openslo import ImportedSlo
    from tritonobs.spec.schema import Spec


def imported_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about SLOs that the fleet file does not hold itself."""
    first: dict[tuple[str, str, str], ImportedSlo] = {}
    for one in spec.imported_slos:
        yield from _subject(spec, one)
        if one.period is not None and one.period != spec.slo_period:
            own, fleet = format_duration(one.period), format_duration(spec.slo_period)
            message = f"{own} is not the fleet's slo_period, {fleet}; all SLOs of a fleet have one period"
            yield one.source.finding(("spec", "timeWindow", 0, "duration"), message)
        same = first.setdefault((one.model, one.version, one.name), one)
        if same is not one:
            place = same.source.place(same.path)
            yield one.source.finding(one.path, f"{quoted(one.name)} is promised twice; first at {place}")
        elif one.model in spec.models and one.name in {**spec.defaults.slos, **spec.models[one.model].slos}:
            message = f"{quoted(one.name)} is promised in {spec.source.file} too; rename one of them"
            yield one.source.finding(one.path, message)


def _subject(spec: Spec, one: ImportedSlo) -> Iterator[Finding]:
    model = spec.models.get(one.model)
    if model is None:
        message = f"{quoted(one.model)} is no model of this fleet; models are {listed(spec.models)}"
        yield one.source.finding(one.model_path, message, hint=nearest(one.model, spec.models))
    elif one.version and one.version not in model.versions:
        message = f"{quoted(one.version)} is no version of {one.model}; there are {listed(model.versions)}"
        yield one.source.finding(one.version_path, message)
