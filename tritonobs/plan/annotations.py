"""Limits written on Kubernetes Deployments: `tritonobs.dev/max-qps`, `…/max-qps.<version>` for one version.

A Deployment speaks for the model it is named after, or for the one that `tritonobs.dev/model` on it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tritonobs.names import MAX_QPS_ANNOTATION, MODEL_ANNOTATION
from tritonobs.plan.fleet import ALL_VERSIONS, QpsLimit
from tritonobs.spec.values import parse_qps
from tritonobs.spec.words import listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tritonobs.plan.fleet import Model


class Deployment(Protocol):
    """A Deployment as far as limits go; `clients.kubernetes` reads them."""

    @property
    def key(self) -> str:
        """`namespace/name`."""

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
    """What the annotations of all Deployments come to: limits, who wrote each, and what cannot be meant."""

    limits: Mapping[str, QpsLimit]
    writers: Mapping[str, str]
    complaints: tuple[str, ...]


def annotated_limits(
    deployments: Iterable[Deployment], models: Iterable[Model], last: Mapping[str, QpsLimit]
) -> Annotated:
    """Every limit by its annotation; a value that cannot be meant leaves the `last` one in force."""
    known = {model.name: model for model in models}
    limits: dict[str, QpsLimit] = {}
    writers: dict[str, str] = {}
    complaints: list[str] = []
    for deployment in sorted(deployments, key=lambda one: one.key):
        for annotation, version in _limit_annotations(deployment):
            origin = f"Deployment {deployment.key} {annotation}"
            writers[origin] = deployment.writers.get(annotation, "")
            try:
                limits[origin] = _limit(deployment, annotation, version, known, origin)
            except ValueError as error:
                kept = f"; {last[origin].qps:f} stays in force" if origin in last else ""
                complaints.append(f"{origin}: {error}{kept}")
                if origin in last:
                    limits[origin] = last[origin]
    return Annotated(limits=limits, writers=writers, complaints=(*complaints, *_rivals(limits)))


def overrides(limits: Iterable[QpsLimit]) -> dict[tuple[str, str], QpsLimit]:
    """One limit for each subject: of several Deployments that speak for one, the lowest counts."""
    lowest: dict[tuple[str, str], QpsLimit] = {}
    for limit in limits:
        subject = (limit.model, limit.version)
        if subject not in lowest or limit.qps < lowest[subject].qps:
            lowest[subject] = limit
    return lowest


def _limit_annotations(deployment: Deployment) -> Iterator[tuple[str, str]]:
    for annotation in sorted(deployment.annotations):
        if annotation == MAX_QPS_ANNOTATION:
            yield annotation, ALL_VERSIONS
        elif annotation.startswith(f"{MAX_QPS_ANNOTATION}."):
            yield annotation, annotation.removeprefix(f"{MAX_QPS_ANNOTATION}.")


def _limit(
    deployment: Deployment, annotation: str, version: str, known: Mapping[str, Model], origin: str
) -> QpsLimit:
    name = deployment.annotations.get(MODEL_ANNOTATION, deployment.name)
    if name not in known:
        hint = nearest(name, known)
        instead = f" ({hint})" if hint else f"; name one in the annotation {MODEL_ANNOTATION}"
        raise ValueError(f"{quoted(name)} is no model of this fleet{instead}")
    versions = known[name].versions
    if version and version not in versions:
        raise ValueError(f"{quoted(version)} is no version of {name}; there are {listed(versions)}")
    qps = parse_qps(deployment.annotations[annotation].strip())
    return QpsLimit(model=name, version=version, qps=qps, origin=origin)


def _rivals(limits: Mapping[str, QpsLimit]) -> Iterator[str]:
    first: dict[tuple[str, str], str] = {}
    for origin, limit in limits.items():
        other = first.setdefault((limit.model, limit.version), origin)
        if other != origin and limits[other].qps != limit.qps:
            yield f"{origin}: {other} speaks for the same model; the lower limit is in force"
