"""Limits written on Kubernetes objects: `tritonobs.dev/max-qps`, `…/max-qps.<version>` for one version.

An object speaks for the model it is named after, or for the one that `tritonobs.dev/model` on it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from tritonobs.names import MAX_QPS_ANNOTATION, MODEL_ANNOTATION
from tritonobs.plan.fleet import ALL_VERSIONS, Model, QpsLimit
from tritonobs.spec.values import parse_qps
from tritonobs.spec.words import listed, nearest, quoted


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
    """What all annotations come to: limits, who wrote each, and what cannot be meant; by annotation."""

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
    """One limit for each subject: of several objects that speak for one, the lowest counts."""
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
            found[origin] = f"{other} speaks for the same model; the lower limit is in force"
    return found
