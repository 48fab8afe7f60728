"""A fleet's alerts as Nightingale's (n9e) own JSON, and the records that Prometheus goes on making for them.

Facts are from its source of August 2026. Its importer of Prometheus' files drops records and
`keep_firing_for`, and makes 60 s of a `for` that is missing or written in days; the importer of its own JSON
takes what stands there.

Texts of alerts are templates of Prometheus. Nightingale's functions have the names of Prometheus' and
differ: `printf` takes one value and leaves a text with digits in it as it is, values of alerts are texts,
and `humanize…` take nothing but text. One wrong call, and the whole text becomes an error. `pkg/tplx` has
them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tritonobs import names
from tritonobs.errors import RenderFailed
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Nightingale
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.rules import evaluate_mixin, render_objectives, rules_config
from tritonobs.units import parse_duration

PATH: Final = "n9e/alerts.json"
_FOLDER: Final = "n9e"
RECORDS_PATH: Final = f"{_FOLDER}/prometheus/rules/records.rules.yml"
_COMMENT: Final = (
    "Made by tritonobs build for the Prometheus that Nightingale asks; alerts are Nightingale's."
)
_SEVERITIES: Final = {"critical": 1, "warning": 2, "info": 3}
_NO_NOTICE: Final = 3
_REPEAT_MINUTES: Final = 60
_LINKS: Final = ("runbook_url", "dashboard_url")

_TEXT = r'"(?:[^"\\]|\\.)*"'
_ACTION = re.compile(rf"\{{\{{((?:{_TEXT}|[^\"}}]|\}}(?!\}}))*)\}}\}}")
_FILLED = re.compile(rf"printf ({_TEXT})((?: \(print \$labels\.\w+\))+)")
_LABEL = re.compile(r"\$labels\.\w+")
_OF_NUMBER = re.compile(r"(?<![\w.\"$])(\d+(?:\.\d+)?) \| (humanize\w*)")
_OF_VALUE = re.compile(r"(?<![$\w])value \| (humanize\w*)")
_MOMENT = re.compile(r"\bhumanizeTimestamp\b")


def artifacts(plan: Plan, _: Path) -> tuple[Artifact, ...]:
    """Alerts to import, and the rules files without alerts for the Prometheus that Nightingale asks.

    It is what `build --target n9e` writes.

    Raises:
        RenderFailed: the mixin refuses the config, or Nightingale has no word for a text's.
    """
    chinese = plan.notify.language == "zh"
    files = evaluate_mixin({**rules_config(plan), "chinese": chinese})
    groups = [group for name in ("records", "alerts") for group in files[name]["groups"]]
    own = _chosen(plan.notify.nightingale)
    alerts = [{**alert, **own} for group in groups for alert in _alerts(group, "_zh" if chinese else "")]
    records = [made for group in groups if (made := _records(group))]
    return (
        Artifact(path=PATH, text=json.dumps(alerts, ensure_ascii=False, indent=2) + "\n"),
        Artifact(path=RECORDS_PATH, text=yaml_text({"groups": records}, comment=_COMMENT)),
        *(replace(one, path=f"{_FOLDER}/{one.path}") for one in render_objectives(plan)),
    )


def _chosen(nightingale: Nightingale) -> dict[str, Any]:
    """The data sources of each rule, by name, and its notification rules."""
    names_like = {"match_type": 1, "op": "in", "values": list(nightingale.data_sources)}
    # Nightingale asks all its data sources where `match_type` is 2.
    every = {"match_type": 2, "op": "in", "values": [0]}
    return {
        "datasource_queries": [names_like if nightingale.data_sources else every],
        "notify_rule_ids": list(nightingale.notify_rules),
    }


def _records(group: dict[str, Any]) -> dict[str, Any] | None:
    """The group without alerts, which Prometheus would fire besides Nightingale."""
    rules = [rule for rule in group["rules"] if "record" in rule]
    return {**group, "rules": rules} if rules else None


def _alerts(group: dict[str, Any], language: str) -> Iterator[dict[str, Any]]:
    interval = _seconds(group["interval"])
    for rule in group["rules"]:
        if "alert" not in rule:
            continue
        written = rule["annotations"]
        texts = {name: written[f"{name}{language}"] for name in ("summary", "description")}
        annotations = {**texts, **{name: written[name] for name in _LINKS}}
        labels = dict(rule["labels"])
        severity = labels.pop("severity")
        yield {
            "name": rule["alert"],
            "note": translated(texts["summary"]),
            "prod": "metric",
            "cate": "prometheus",
            # No one is notified of these. Watchdog would be an event without an end.
            "disabled": int(severity not in _SEVERITIES or rule["alert"] == names.WATCHDOG),
            "severity": _SEVERITIES.get(severity, _NO_NOTICE),
            "prom_eval_interval": interval,
            "cron_pattern": f"@every {interval}s",
            "prom_for_duration": _seconds(rule.get("for", "0s")),
            "recover_duration": _seconds(rule.get("keep_firing_for", "0s")),
            "rule_config": {
                "queries": [{"prom_ql": rule["expr"], "severity": _SEVERITIES.get(severity, _NO_NOTICE)}]
            },
            "notify_recovered": 1,
            "notify_repeat_step": _REPEAT_MINUTES,
            "notify_max_number": 0,
            # Without it Nightingale ignores `notify_rule_ids`.
            "notify_version": 1,
            "runbook_url": written["runbook_url"],
            "append_tags": [f"{name}={value}" for name, value in labels.items()],
            "annotations": {name: translated(text) for name, text in annotations.items()},
        }


def _seconds(duration: str) -> int:
    """Whole seconds, at least as long."""
    return math.ceil(parse_duration(duration))


def translated(text: str) -> str:
    """The text with every action in Nightingale's words; what is shown is the same.

    Raises:
        RenderFailed: a format that no label can be put into.
    """
    return _ACTION.sub(lambda found: f"{{{{{_action(found[1])}}}}}", text)


def _action(action: str) -> str:
    action = _FILLED.sub(lambda found: _filled(found[1], _LABEL.findall(found[2])), action)
    action = _OF_NUMBER.sub(r'"\1" | \2', action)
    action = _MOMENT.sub("toTime", action)
    return _OF_VALUE.sub(r"value | toString | \1", action)


def _filled(form: str, labels: list[str]) -> str:
    """A text with labels in it, each in quotes: JSON quotes a text as PromQL reads it."""
    parts = form[1:-1].split("%q")
    if len(parts) != len(labels) + 1 or "%" in "".join(parts):
        raise RenderFailed(f"Nightingale cannot fill {form} with {len(labels)} labels")
    words = [f'"{parts[0]}"']
    for label, part in zip(labels, parts[1:], strict=True):
        words += [f"(jsonMarshal {label})", f'"{part}"']
    return f"print {' '.join(words)}"
