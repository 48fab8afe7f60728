"""Limits and objectives as a rules file, for fleets whose changes go through Git and a reload."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from tritonobs.plan.series import constant_series, limit_series
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tritonobs.plan.fleet import Plan, QpsLimit

PATH = "prometheus/rules/objectives.rules.yml"
RULES_PER_GROUP = 20
"""Safe on every ruler, also on those that cap the rules of a group."""
_INTERVAL = "15s"
_COMMENT = "Made by tritonobs build: the limits and objectives of the fleet file, one series each."


def render_objectives(plan: Plan) -> tuple[Artifact, ...]:
    """`objectives.rules.yml`, or nothing when Prometheus scrapes the limits from `tritonobs serve`."""
    if plan.limits_source != "rules":
        return ()
    rules = [*_limits(plan), *_constants(plan)]
    chunks = [rules[start : start + RULES_PER_GROUP] for start in range(0, len(rules), RULES_PER_GROUP)]
    groups = [
        {"name": f"tritonobs-objectives-{number:04d}", "interval": _INTERVAL, "rules": chunk}
        for number, chunk in enumerate(chunks, start=1)
    ]
    return (Artifact(path=PATH, text=yaml_text({"groups": groups}, comment=_COMMENT)),)


def _limits(plan: Plan) -> Iterator[dict[str, Any]]:
    """One rule for each subject; its limits of different times exclude each other."""
    limits = sorted(plan.limits, key=lambda limit: (limit.model, limit.version))
    for _, group in groupby(limits, key=lambda limit: (limit.model, limit.version)):
        pieces = list(group)
        sample = next(limit_series(pieces[:1]))
        yield _rule(sample.name, sample.labels, "\nor on ()\n".join(_expression(piece) for piece in pieces))


def _constants(plan: Plan) -> Iterator[dict[str, Any]]:
    for sample in constant_series(plan):
        yield _rule(sample.name, sample.labels, f"vector({format_number(sample.value)})")


def _expression(limit: QpsLimit) -> str:
    """The limit while it holds, nothing at other times."""
    conditions = [
        f"and on () (vector(time()) {operator} {format_number(moment.timestamp())})"
        for operator, moment in ((">=", limit.valid_from), ("<", limit.valid_until))
        if moment
    ]
    if not conditions:
        return f"vector({format_number(limit.qps)})"
    return f"(vector({format_number(limit.qps)}) {' '.join(conditions)})"


def _rule(name: str, labels: Mapping[str, str], expr: str) -> dict[str, Any]:
    return {
        "record": name,
        "expr": expr,
        "labels": {label: value for label, value in labels.items() if value},
    }
