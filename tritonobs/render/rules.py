"""The rules: the jsonnet mixin evaluated with what the plan decides. The only caller of jsonnet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import _jsonnet

from tritonobs import assets
from tritonobs.errors import RenderFailed
from tritonobs.plan.windows import rule_windows
from tritonobs.render.artifact import Artifact, yaml_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.plan.fleet import Plan

_RULE_KEYS = ("record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations")
_COMMENT = "Made by tritonobs build; generic over models and versions, so no change of the fleet changes it."


def rules_config(plan: Plan) -> dict[str, object]:
    """The mixin's knobs that the fleet file decides."""
    settings = plan.prometheus
    windows = rule_windows(settings.scrape_interval_seconds, settings.evaluation_interval_seconds)
    return {
        "shortWindow": windows.short,
        "mediumWindow": windows.medium,
        "evaluationInterval": windows.evaluation,
        "stageInterval": windows.stage_evaluation,
        "grafanaUrl": plan.addresses.grafana_url,
        "prometheusUrl": plan.addresses.prometheus_url,
    }


def evaluate_mixin(config: Mapping[str, object]) -> dict[str, Any]:
    """`records` and `alerts`, each as Prometheus reads a rules file, with `config` over the mixin's own defaults.

    Raises:
        RenderFailed: the mixin refuses the config; the text is jsonnet's.
    """
    source = assets.folder("rules") / "with_config.jsonnet"
    try:
        text = _jsonnet.evaluate_file(str(source), tla_codes={"config": json.dumps(config)})
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
