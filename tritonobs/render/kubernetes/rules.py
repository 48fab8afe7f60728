"""Rules files as PrometheusRule objects, in as many objects as their size asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from tritonobs.errors import RenderFailed
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.artifact import Artifact
from tritonobs.render.kubernetes.objects import LARGEST_BYTES, Object, metadata, weight

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROOM_BYTES = 2_000
"""For names, labels and what wraps the groups."""


def rule_objects(name: str, artifact: Artifact, objects: Objects) -> Iterator[Object]:
    """The groups of a rules file, none twice, none lost.

    Raises:
        RenderFailed: one group alone is too large for an object.
    """
    groups = yaml.load(artifact.text, Loader=_LOADER)["groups"]  # noqa: S506 (a safe loader, in C where there is one)
    parts = tuple(_parts(groups))
    for number, part in enumerate(parts, start=1):
        yield {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": metadata(name if len(parts) == 1 else f"{name}-{number:03d}", objects),
            "spec": {"groups": part},
        }


def _parts(groups: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    most = LARGEST_BYTES - _ROOM_BYTES
    part: list[dict[str, Any]] = []
    size = 0
    for group in groups:
        # Each line stands four spaces further right inside the object.
        own = weight([group]) + 4 * (group_lines(group))
        if own > most:
            raise RenderFailed(f"group {group['name']} has {own} bytes; an object takes {most}")
        if part and size + own > most:
            yield part
            part, size = [], 0
        part.append(group)
        size += own
    yield part


def group_lines(group: dict[str, Any]) -> int:
    """At least as many lines as the group has as YAML."""
    return 3 + sum(
        2
        + len(rule)
        + str(rule).count("\\n")
        + len(rule.get("labels", ()))
        + len(rule.get("annotations", ()))
        for rule in group["rules"]
    )
