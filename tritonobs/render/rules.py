"""The rules: the jsonnet mixin evaluated with what the plan decides. The only caller of jsonnet."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import _jsonnet

from tritonobs import assets, names
from tritonobs.errors import RenderFailed
from tritonobs.plan.slo import BURN_TIERS, burn_factor
from tritonobs.plan.windows import rule_windows
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.bundle import bundled
from tritonobs.units import format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.windows import RuleWindows

_FACTOR_STEP = Decimal("0.0001")
_RULE_KEYS = ("record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations")
_COMMENT = "Made by tritonobs build; generic over models and versions, so no change of the fleet changes it."


def rules_config(plan: Plan) -> dict[str, object]:
    """The mixin's knobs that the fleet file decides."""
    settings = plan.prometheus
    windows = rule_windows(settings.scrape_interval_seconds, settings.evaluation_interval_seconds)
    return {
        **window_knobs(windows),
        **period_knobs(plan.slo_period_days),
        "replicaLabel": names.REPLICA,
        "grafanaUrl": plan.addresses.grafana_url,
        "prometheusUrl": plan.addresses.prometheus_link,
    }


def window_knobs(windows: RuleWindows) -> dict[str, object]:
    """Windows and intervals as `rules/config/windows.libsonnet` names them."""
    return {
        "scrapeSeconds": _number(windows.scrape_seconds),
        "shortWindow": windows.short,
        "shortSeconds": _number(windows.short_seconds),
        "mediumWindow": windows.medium,
        "mediumSeconds": _number(windows.medium_seconds),
        "evaluationInterval": windows.evaluation,
        "stageInterval": windows.stage_evaluation,
        "sloInterval": format_duration(windows.slo_evaluation_seconds),
        "sloSeconds": _number(windows.slo_evaluation_seconds),
        "longInterval": format_duration(windows.long_evaluation_seconds),
        "longSeconds": _number(windows.long_evaluation_seconds),
    }


def period_knobs(period_days: int) -> dict[str, object]:
    """What follows from the SLO period: its length, and the factors of the burn tiers.

    Raises:
        ValueError: the period is not one that `plan.slo` knows factors for.
    """
    return {
        "sloPeriod": f"{period_days}d",
        "sloPeriodDays": period_days,
        "sloPeriodSeconds": period_days * 86_400,
        "burnTiers": [
            {
                "name": tier.name,
                "severity": tier.severity,
                "long": format_duration(tier.long_seconds),
                "short": format_duration(tier.short_seconds),
                "factor": format_number(burn_factor(tier, period_days).quantize(_FACTOR_STEP)),
                "wait": format_duration(tier.for_seconds),
            }
            for tier in BURN_TIERS
        ],
    }


def evaluate_mixin(config: Mapping[str, object]) -> dict[str, Any]:
    """`records` and `alerts` as Prometheus reads rules files, with `config` over the mixin's own defaults.

    Raises:
        RenderFailed: the mixin refuses the config; the text is jsonnet's.
    """
    source = assets.folder("rules") / "with_config.jsonnet"
    try:
        text = _jsonnet.evaluate_snippet(
            str(source), bundled(source), tla_codes={"config": json.dumps(config)}
        )
    except RuntimeError as error:
        raise RenderFailed(f"the rules could not be made: {error}") from error
    return {
        name: {"groups": [_group(group) for group in file["groups"]]}
        for name, file in json.loads(text).items()
    }


def render_rules(plan: Plan) -> tuple[Artifact, ...]:
    """`records.rules.yml` and `alerts.rules.yml`; the same plan gives the same bytes.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    rules = evaluate_mixin(rules_config(plan))
    return tuple(
        Artifact(path=f"prometheus/rules/{name}.rules.yml", text=yaml_text(rules[name], comment=_COMMENT))
        for name in ("records", "alerts")
    )


def _group(group: dict[str, Any]) -> dict[str, Any]:
    """The group with its keys in the order people write them; jsonnet sorts them by name."""
    rules = [{key: rule[key] for key in _RULE_KEYS if key in rule} for rule in group["rules"]]
    return {"name": group["name"], "interval": group["interval"], "rules": rules}


def _number(seconds: Decimal) -> int | float:
    """A whole number where it is one, so that jsonnet prints no `.0`."""
    return int(seconds) if seconds == seconds.to_integral_value() else float(seconds)
