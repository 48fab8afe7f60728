"""Limits as people write them: in a fleet file, and in the annotations of Kubernetes objects.

Limits of requests are here before pipelines and schedules are applied. Those of tokens a second are inherited
by kind, from the defaults to a model to its versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from tritonobs.names import MAX_QPS_ANNOTATION, MODEL_ANNOTATION
from tritonobs.plan.fleet import ALL_VERSIONS, FLEET, Model, QpsLimit, TokenLimit
from tritonobs.spec.schema import DefaultsSpec, ModelSpec, Spec, VersionSpec
from tritonobs.spec.source import Step
from tritonobs.spec.values import parse_qps
from tritonobs.spec.words import dotted, listed, nearest, quoted

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


class AnnotatedObject(Protocol):
    """An object as far as limits go; `clients.kubernetes` reads them."""

    @property
    def key(self) -> str:
        """`Kind namespace/name`."""

    @property
    def name(self) -> str:
        """Its name in the namespace."""

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations; others than ours do not matter."""

    @property
    def writers(self) -> Mapping[str, str]:
        """Which program wrote which annotation last, as far as known."""


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
