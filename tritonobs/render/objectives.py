"""Limits and objectives as a rules file, for fleets whose changes go through Git and a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby

import yaml

from tritonobs.plan.fleet import Plan, QpsLimit
from tritonobs.plan.series import constant_series, limit_series
from tritonobs.render.artifact import Artifact
from tritonobs.units import format_number

PATH = "prometheus/rules/objectives.rules.yml"
RULES_PER_GROUP = 20
"""Safe on every ruler, also on those that cap the rules of a group."""
_INTERVAL = "15s"
_PLAIN = re.compile(r"[A-Za-z0-9_.:/ -]+")
_COMMENT = "# Made by tritonobs build: the limits and objectives of the fleet file, one series each."


def render_objectives(plan: Plan) -> tuple[Artifact, ...]:
    """`objectives.rules.yml`, or nothing when Prometheus scrapes the limits from `tritonobs serve`."""
    if plan.limits_source != "rules":
        return ()
    rules = [*_limits(plan), *_constants(plan)]
    groups = (rules[start : start + RULES_PER_GROUP] for start in range(0, len(rules), RULES_PER_GROUP))
    lines = [_COMMENT, "groups:"]
    for number, group in enumerate(groups, start=1):
        lines.append(f"- name: tritonobs-objectives-{number:04d}\n  interval: {_INTERVAL}\n  rules:")
        lines += group
    return (Artifact(path=PATH, text="\n".join(lines) + "\n"),)


def _limits(plan: Plan) -> Iterator[str]:
    """One rule for each subject; its limits of different times exclude each other."""
    limits = sorted(plan.limits, key=lambda limit: (limit.model, limit.version))
    for _, group in groupby(limits, key=lambda limit: (limit.model, limit.version)):
        pieces = list(group)
        sample = next(limit_series(pieces[:1]))
        labels = {**plan.cluster_labels, **sample.labels}
        yield _rule(sample.name, labels, [_expression(piece) for piece in pieces])


def _constants(plan: Plan) -> Iterator[str]:
    for sample in constant_series(plan):
        labels = {**plan.cluster_labels, **sample.labels}
        yield _rule(sample.name, labels, [f"vector({format_number(sample.value)})"])


def _expression(limit: QpsLimit) -> str:
    """The limit while it holds, nothing at other times."""
    conditions = [
        f"and (vector(time()) {operator} {format_number(moment.timestamp())})"
        for operator, moment in ((">=", limit.valid_from), ("<", limit.valid_until))
        if moment
    ]
    if not conditions:
        return f"vector({format_number(limit.qps)})"
    return f"(vector({format_number(limit.qps)}) {' '.join(conditions)})"


def _rule(name: str, labels: Mapping[str, str], alternatives: list[str]) -> str:
    """One rule as YAML, written out by hand: a fleet of thousands has tens of thousands of them."""
    expr = (
        alternatives[0] if len(alternatives) == 1 else "|-\n      " + "\n      or\n      ".join(alternatives)
    )
    written = "".join(f"\n      {label}: {_scalar(value)}" for label, value in labels.items() if value)
    return f"  - record: {name}\n    expr: {expr}" + (f"\n    labels:{written}" if written else "")


@cache
def _scalar(text: str) -> str:
    """A label's value as YAML; what is not plain is left to the library."""
    if _PLAIN.fullmatch(text):
        # In quotes, because a version is a number to YAML and the value of a label must be a text.
        return f'"{text}"'
    return str(yaml.dump(text, default_style='"', allow_unicode=True, width=float("inf"))).rstrip("\n")
