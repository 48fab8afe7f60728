"""Ways in which an autoscaler would take missing data for no load, found in its object.

A HorizontalPodAutoscaler holds still while a metric of it errors or has no row, and shrinks the pool at 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAKES_A_ROW = re.compile(r"\b(?:vector|scalar|absent|absent_over_time|time)\s*\(")
_FILL = re.compile(r"\bor\b(?!\s+group by)|\bfill(?:_left|_right)?\s*\(|\bdefault\b")
_OF_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def open_paths(made: Mapping[str, Any], rules: Mapping[str, str]) -> list[str]:
    """What would make the pool smaller without data; `rules` are prometheus-adapter's, query by metric."""
    spec = made["spec"]
    return list(_hpa(spec, rules) if made["kind"] == "HorizontalPodAutoscaler" else _keda(spec))


def _hpa(spec: Mapping[str, Any], rules: Mapping[str, str]) -> Iterator[str]:
    if spec["minReplicas"] < 1:
        yield "may have no server at all"
    for metric in spec["metrics"]:
        external = metric["external"]
        name = external["metric"]["name"]
        if external["target"] != {"type": "AverageValue", "averageValue": "1"}:
            yield f"{name}: is not a number of servers"
        if name not in rules:
            yield f"{name}: no rule serves it"
        else:
            yield from _query(name, rules[name])


def _keda(spec: Mapping[str, Any]) -> Iterator[str]:
    if spec["minReplicaCount"] < 1 or "idleReplicaCount" in spec:
        yield "may have no server at all"
    fallback = spec.get("fallback", {})
    if fallback.get("behavior") != "currentReplicasIfHigher":
        yield "falls back to a fixed number of servers"
    for trigger in spec["triggers"]:
        said, name = trigger["metadata"], trigger["name"]
        if said.get("ignoreNullValues") != "false":
            yield f"{name}: takes an empty answer for 0"
        if trigger.get("metricType") != "AverageValue" or said["threshold"] != "1":
            yield f"{name}: has no fallback"
        yield from _query(name, said["query"])


def _query(name: str, query: str) -> Iterator[str]:
    bare = _OF_TEXT.sub('""', query)
    if _MAKES_A_ROW.search(bare) or _FILL.search(bare):
        yield f"{name}: makes a row without data"
    if not re.fullmatch(r"\(\(.*\) >= 0\) < Inf", bare, re.DOTALL):
        yield f"{name}: lets through what is no number"
