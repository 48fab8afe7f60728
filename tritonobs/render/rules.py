"""The rules: the jsonnet mixin evaluated with what the plan decides.

Limits and objectives are a rules file for fleets whose changes go through Git and a reload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import groupby
from typing import Any

import yaml

from tritonobs import assets, names
from tritonobs.errors import RenderFailed
from tritonobs.plan.fleet import Plan, QpsLimit
from tritonobs.plan.rules import json_number
from tritonobs.plan.series import constant_series, limit_series
from tritonobs.render import jsonnet
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.units import format_duration, format_number

_RULE_KEYS = ("record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations")
_COMMENT = "Made by tritonobs build; generic over models and versions, so no change of the fleet changes it."

PATH = "prometheus/rules/objectives.rules.yml"
RULES_PER_GROUP = 20
"""Safe on every ruler, also on those that cap the rules of a group."""
_INTERVAL = "15s"
_PLAIN = re.compile(r"[A-Za-z0-9_.:/ -]+")
_OBJECTIVES_COMMENT = (
    "# Made by tritonobs build: the limits and objectives of the fleet file, one series each."
)


def rules_config(plan: Plan) -> dict[str, object]:
    """The mixin's knobs that the fleet file decides."""
    settings, rules = plan.prometheus, plan.rules
    return {
        **clock_knobs(settings.scrape_interval_seconds, settings.evaluation_interval_seconds),
        "sloPeriod": f"{plan.slo_period_days}d",
        "speed": rules.speed,
        "tritonSelector": rules.selector,
        "serveSelector": rules.serve_selector,
        "tracesSelector": rules.traces_selector,
        "replicaLabel": rules.replica_label,
        "clusterLabel": rules.cluster_label,
        "latencyBounds": list(rules.latency_bounds),
        "poolNames": rules.pool_names,
        "tier": rules.tier,
        "agentsSelector": f'job="{names.AGENTS_JOB}"' if settings.agents else "",
        "keepFiring": rules.keep_firing,
        "recordsAtOnce": rules.records_at_once,
        "severities": dict(rules.severities),
        **rules.thresholds,
        "grafanaUrl": plan.addresses.grafana_url,
        "prometheusUrl": plan.addresses.prometheus_link,
        "runbookUrl": f"{plan.addresses.runbooks_link}/%s",
        # A second text makes every alert longer, so it is there only where a robot speaks Chinese.
        "chinese": any(robot.language == "zh" for robot in plan.notify.robots),
    }


def clock_knobs(scrape_seconds: Decimal, evaluation_seconds: Decimal) -> dict[str, object]:
    """What the mixin's windows and intervals follow from."""
    return {
        "scrapeSeconds": json_number(scrape_seconds),
        "evaluationInterval": format_duration(evaluation_seconds),
    }


def mixin_knobs(config: Mapping[str, object]) -> dict[str, Any]:
    """Every knob of the mixin with its value, `config` over the mixin's own.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    return _evaluated("knobs.jsonnet", config)


def evaluate_mixin(config: Mapping[str, object]) -> dict[str, Any]:
    """`records` and `alerts` as Prometheus reads rules files, with `config` over the mixin's own defaults.

    Raises:
        RenderFailed: the mixin refuses the config; the text is jsonnet's.
    """
    return {
        name: {"groups": [_group(group) for group in file["groups"]]}
        for name, file in _evaluated("with_config.jsonnet", config).items()
    }


def render_rules(plan: Plan) -> tuple[Artifact, ...]:
    """`records.rules.yml` and `alerts.rules.yml` (shards have no alerts); the same plan gives the same bytes.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    rules = evaluate_mixin(rules_config(plan))
    return tuple(
        Artifact(path=f"prometheus/rules/{name}.rules.yml", text=yaml_text(rules[name], comment=_COMMENT))
        for name in ("records", "alerts")
        if rules[name]["groups"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A record that shards give to the global Prometheus. Where samples count, each must count once."""

    record: str
    counts: bool


def given_by_shards(config: Mapping[str, object]) -> tuple[Given, ...]:
    """What the rules of the global tier read of shards, in the order of the shards' rules.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    return tuple(Given(**one) for one in _evaluated("shards.jsonnet", config)["given"])


def _evaluated(file: str, config: Mapping[str, object]) -> dict[str, Any]:
    source = assets.folder("rules") / file
    try:
        text = jsonnet.evaluate(source, {"config": json.dumps(config)})
    except ValueError as error:
        raise RenderFailed(f"the rules could not be made: {error}") from error
    found: dict[str, Any] = json.loads(text)
    return found


def _group(group: dict[str, Any]) -> dict[str, Any]:
    """The group with its keys in the order people write them; jsonnet sorts them by name."""
    rules = [{key: rule[key] for key in _RULE_KEYS if key in rule} for rule in group["rules"]]
    return {"name": group["name"], "interval": group["interval"], "rules": rules}


def render_objectives(plan: Plan) -> tuple[Artifact, ...]:
    """`objectives.rules.yml`, or nothing when Prometheus scrapes the limits from `tritonobs serve`."""
    if plan.limits_source != "rules":
        return ()
    rules = [*_limits(plan), *_constants(plan)]
    groups = (rules[start : start + RULES_PER_GROUP] for start in range(0, len(rules), RULES_PER_GROUP))
    lines = [_OBJECTIVES_COMMENT, "groups:"]
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
