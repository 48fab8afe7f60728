"""QPS limits: as people write them, inherited and carried along the pipelines, piece by piece of time.

People write limits in a fleet file, and in the annotations of Kubernetes objects. A limit holds for a model,
for each of its versions, or for the fleet. Along the pipelines it works both ways: a member caps the
pipelines that call it (40 a second at 2 calls per request is 20 a second), and a member without a limit of
its own gets what all its callers together may cause. `unlimited` ends both. Limits of tokens a second are
inherited by kind, from the defaults to a model to its versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_FLOOR, Context, Decimal

from tritonobs.findings import Step, dotted, listed, nearest, quoted
from tritonobs.names import MAX_QPS_ANNOTATION, MODEL_ANNOTATION
from tritonobs.plan import graph
from tritonobs.plan.fleet import ALL_VERSIONS, FLEET, Model, Plan, QpsLimit, TokenLimit, sections
from tritonobs.plan.kubernetes import AnnotatedObject
from tritonobs.spec.schema import DefaultsSpec, ModelSpec, Spec, VersionSpec
from tritonobs.spec.values import parse_qps
from tritonobs.units import format_number

Path = tuple[Step, ...]
ByKind = dict[str, TokenLimit]

DEFAULT_FIELD = "defaults.qps_limit"
TOKENS_FIELD = "tokens_per_second_limit"


def written_limits(spec: Spec) -> dict[str, QpsLimit]:
    """Every limit by the field that holds it; the default is not of any model. `unlimited` is infinite."""
    return {limit.origin: limit for _, limit in limits_with_paths(spec)}


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


def limits_with_paths(spec: Spec) -> Iterator[tuple[Path, QpsLimit]]:
    """Every limit as written, and the steps that lead to its field."""
    yield from _of(spec, FLEET, ALL_VERSIONS, ())
    if spec.defaults.qps_limit is not None:
        limit = QpsLimit(model=FLEET, version=ALL_VERSIONS, qps=spec.defaults.qps_limit, origin=DEFAULT_FIELD)
        yield ("defaults", "qps_limit"), limit
    for path, name, version, section in sections(spec):
        yield from _of(section, name, version, path)


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
    for path, name, version, section in sections(spec):
        yield name, version, _own(section, name, version, path)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """The result of all annotations: limits, who wrote each, and what is not valid; by annotation."""

    limits: Mapping[str, QpsLimit]
    writers: Mapping[str, str]
    complaints: Mapping[str, str]


def annotated_limits(
    objects: Iterable[AnnotatedObject],
    models: Iterable[Model],
    last: Mapping[str, QpsLimit],
    annotation: str = MAX_QPS_ANNOTATION,
) -> Annotated:
    """Every limit by its annotation; a value that is not valid leaves the `last` one in force."""
    known = {model.name: model for model in models}
    limits: dict[str, QpsLimit] = {}
    writers: dict[str, str] = {}
    complaints: dict[str, str] = {}
    # Sorted, so that the same one of two rivals is named, however the API server lists them.
    for one in sorted(objects, key=lambda one: one.key):
        for key, version in _limit_annotations(one, annotation):
            origin = f"{one.key} {key}"
            writers[origin] = one.writers.get(key, "")
            try:
                limits[origin] = _limit(one, key, version, known, origin)
            except ValueError as error:
                kept = f"; {last[origin].qps:f} stays in force" if origin in last else ""
                complaints[origin] = f"{error}{kept}"
                # A typo must not lift a limit.
                if origin in last:
                    limits[origin] = last[origin]
    return Annotated(limits=limits, writers=writers, complaints={**_rivals(limits), **complaints})


def overrides(limits: Iterable[QpsLimit]) -> dict[tuple[str, str], QpsLimit]:
    """One limit for each subject: of several objects with a limit for one, the lowest counts."""
    lowest: dict[tuple[str, str], QpsLimit] = {}
    for limit in limits:
        subject = (limit.model, limit.version)
        if subject not in lowest or limit.qps < lowest[subject].qps:
            lowest[subject] = limit
    return lowest


def _limit_annotations(one: AnnotatedObject, annotation: str) -> Iterator[tuple[str, str]]:
    for key in sorted(one.annotations):
        if key == annotation:
            yield key, ALL_VERSIONS
        elif key.startswith(f"{annotation}."):
            yield key, key.removeprefix(f"{annotation}.")


def _limit(one: AnnotatedObject, key: str, version: str, known: Mapping[str, Model], origin: str) -> QpsLimit:
    name = one.annotations.get(MODEL_ANNOTATION, one.name)
    if name not in known:
        hint = nearest(name, known)
        instead = f" ({hint})" if hint else f"; name one in the annotation {MODEL_ANNOTATION}"
        raise ValueError(f"{quoted(name)} is not a model of this fleet{instead}")
    versions = known[name].versions
    if version and version not in versions:
        raise ValueError(f"{quoted(version)} is not a version of {name}; there are {listed(versions)}")
    qps = parse_qps(one.annotations[key].strip())
    return QpsLimit(model=name, version=version, qps=qps, origin=origin)


def _rivals(limits: Mapping[str, QpsLimit]) -> dict[str, str]:
    first: dict[tuple[str, str], str] = {}
    found = {}
    for origin, limit in limits.items():
        other = first.setdefault((limit.model, limit.version), origin)
        if other != origin and limits[other].qps != limit.qps:
            found[origin] = f"{other} has a limit for the same model; the lower one is in force"
    return found


Active = Mapping[tuple[str, str], QpsLimit]

# A cap that is rounded up would let more calls through than the member's limit allows.
_DOWN = Context(prec=9, rounding=ROUND_FLOOR)


def resolve_limits(models: Sequence[Model], declared: Iterable[QpsLimit]) -> tuple[QpsLimit, ...]:
    """Every limit in force, each with the time it holds; the pieces of one subject never overlap.

    `declared` may hold several limits for one subject; one with a time wins over one without while it holds.
    """
    declared = tuple(declared)
    known = {model.name: model for model in models}
    edges = graph.direct_calls(models)
    resolved = _pieces([], {}, [limit for limit in declared if limit.model == FLEET])
    # Each group has its own pieces of time: a schedule of one model must not cut all other limits.
    for group, own in _groups(edges, declared):
        names = [name for name in group if name in known]
        if own:
            resolved += _pieces([known[name] for name in names], {name: edges[name] for name in names}, own)
    subjects = [
        (model.name, graph.series_version(model, version))
        for model in models
        for version in (ALL_VERSIONS, *model.versions)
    ]
    place = {subject: number for number, subject in enumerate([(FLEET, ALL_VERSIONS), *subjects])}
    return tuple(sorted(resolved, key=lambda limit: place[limit.model, limit.version]))


def limited_models(limits: Iterable[QpsLimit]) -> frozenset[str]:
    """The models whose requests are limited over all versions."""
    return frozenset(
        limit.model for limit in limits if limit.version == ALL_VERSIONS and limit.qps.is_finite()
    )


def pieces(models: Sequence[Model], declared: Iterable[QpsLimit]) -> Iterator[tuple[int, str]]:
    """How much work each group of models makes in `resolve_limits`, and one of its models."""
    for group, own in _groups(graph.direct_calls(models), declared):
        yield (len(_moments(own)) + 1) * (len(own) + len(group)), group[0]


def _groups(
    edges: graph.Edges, declared: Iterable[QpsLimit]
) -> Iterator[tuple[tuple[str, ...], list[QpsLimit]]]:
    """Each group of models that have to do with each other, and the limits declared for them."""
    by_model: dict[str, list[QpsLimit]] = {}
    for limit in declared:
        by_model.setdefault(limit.model, []).append(limit)
    for group in graph.connected(edges):
        yield group, [limit for name in group for limit in by_model.get(name, [])]


def with_overrides(plan: Plan, overrides: Mapping[tuple[str, str], QpsLimit]) -> Plan:
    """The plan with limits by (model, version) in place of what the fleet file says for them at any time.

    Limits of models that are not in the plan are left out.
    """
    known = {model.name for model in plan.models}
    kept = [limit for limit in plan.declared_limits if (limit.model, limit.version) not in overrides]
    put = [limit for limit in overrides.values() if limit.model in known]
    return replace(plan, limits=resolve_limits(plan.models, [*kept, *put])) if put else plan


def limits_at(limits: Iterable[QpsLimit], now: datetime) -> Iterator[QpsLimit]:
    """The limits that hold at `now`."""
    for limit in limits:
        begun = limit.valid_from is None or limit.valid_from <= now
        if begun and (limit.valid_until is None or now < limit.valid_until):
            yield limit


def _pieces(models: Sequence[Model], edges: graph.Edges, own: Sequence[QpsLimit]) -> list[QpsLimit]:
    """Resolve a group once for every span of time in which nothing changes; join what stayed the same."""
    moments = _moments(own)
    spans = list(zip([None, *moments], [*moments, None], strict=True))
    done: list[QpsLimit] = []
    running: dict[tuple[str, str], QpsLimit] = {}
    for start, end in spans:
        now = _in_force(models, edges, _active(own, start, end))
        done += [running.pop(subject) for subject in tuple(running) if subject not in now]
        for subject, limit in now.items():
            before = running.get(subject)
            if before and (before.qps, before.origin) == (limit.qps, limit.origin):
                running[subject] = replace(before, valid_until=end)
            else:
                done += [before] if before else []
                running[subject] = replace(limit, valid_from=start, valid_until=end)
    return done + list(running.values())


def _moments(own: Sequence[QpsLimit]) -> list[datetime]:
    return sorted({moment for limit in own for moment in (limit.valid_from, limit.valid_until) if moment})


def _active(own: Sequence[QpsLimit], start: datetime | None, end: datetime | None) -> Active:
    """What is declared for each subject in a span; a limit with a time wins over one without."""
    active: dict[tuple[str, str], QpsLimit] = {}
    for limit in own:
        begun = limit.valid_from is None or (start is not None and limit.valid_from <= start)
        lasts = limit.valid_until is None or (end is not None and end <= limit.valid_until)
        subject = (limit.model, limit.version)
        timed = limit.valid_from is not None or limit.valid_until is not None
        # Two limits with a time never meet in a span: `check` refuses those that overlap.
        if begun and lasts and (timed or subject not in active):
            active[subject] = limit
    return active


def _in_force(models: Sequence[Model], edges: graph.Edges, active: Active) -> Active:
    """The effective limit of each subject of one group, at one time; callers are decided first."""
    totals, above = graph.calls_per_request(edges), graph.callers(edges)
    known = {model.name: model for model in models}
    capacities = {model.name: _capacity(model, active) for model in models}
    effective: dict[str, QpsLimit | None] = {}
    limits = [limit for (model, _), limit in active.items() if model == FLEET]
    for name in reversed(graph.called_first(edges)):
        cap = _cap(name, totals[name], capacities)
        own = active.get((name, ALL_VERSIONS))
        if own is None and not _version_limits(known[name], active):
            own = _caused(name, above[name], effective)
        limit = effective[name] = _lower(own, cap)
        limits += [limit] if limit else []
        limits += _of_versions(known[name], limit, cap, active)
    return {(limit.model, limit.version): limit for limit in limits if limit.qps.is_finite()}


def _of_versions(
    model: Model, inherited: QpsLimit | None, cap: QpsLimit | None, active: Active
) -> Iterator[QpsLimit]:
    for version in model.versions:
        own = active.get((model.name, version))
        limit = _lower(own, cap) if own else inherited
        if limit:
            yield replace(limit, version=graph.series_version(model, version))


def _version_limits(model: Model, active: Active) -> list[QpsLimit]:
    """The limits declared for versions of the model."""
    limits = [active.get((model.name, version)) for version in model.versions]
    return [limit for limit in limits if limit and limit.qps.is_finite()]


def _capacity(model: Model, active: Active) -> Decimal | None:
    """What the model may get over all its versions, as far as declared."""
    own = active.get((model.name, ALL_VERSIONS))
    if own:
        return own.qps if own.qps.is_finite() else None
    # A version without a limit may take any load, so the sum of the others is not a capacity.
    versions = _version_limits(model, active)
    return (
        sum((limit.qps for limit in versions), Decimal(0))
        if len(versions) == len(model.versions) > 0
        else None
    )


def _cap(
    name: str, calls: Mapping[str, Decimal], capacities: Mapping[str, Decimal | None]
) -> QpsLimit | None:
    """The most that the members of a pipeline leave room for, named after the tightest of them."""
    caps = [(_DOWN.divide(qps, calls[member]), member) for member in calls if (qps := capacities.get(member))]
    if not caps:
        return None
    qps, member = min(caps)
    share = f"{format_number(capacities[member] or 0)} / {format_number(calls[member])}"
    return QpsLimit(model=name, version=ALL_VERSIONS, qps=qps, origin=f"capped by {member} ({share})")


def _caused(
    name: str, callers: Mapping[str, Decimal], effective: Mapping[str, QpsLimit | None]
) -> QpsLimit | None:
    """What all callers together may cause, or None when one of them has no limit."""
    limits = [(effective[caller], times) for caller, times in callers.items()]
    if not limits or any(limit is None or not limit.qps.is_finite() for limit, _ in limits):
        return None
    qps = sum((limit.qps * times for limit, times in limits if limit), Decimal(0))
    parts = " + ".join(
        f"{limit.model} ({format_number(limit.qps)} * {format_number(times)})"
        for limit, times in limits
        if limit
    )
    return QpsLimit(model=name, version=ALL_VERSIONS, qps=qps, origin=f"caused by {parts}")


def _lower(own: QpsLimit | None, cap: QpsLimit | None) -> QpsLimit | None:
    """The tighter of two limits; `unlimited` of one's own is not capped."""
    if own is None or cap is None or not own.qps.is_finite():
        return own or cap
    return replace(cap, version=own.version, instead_of=own.origin) if cap.qps < own.qps else own
