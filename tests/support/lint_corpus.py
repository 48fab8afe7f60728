"""Expressions of public repositories with an expert's judgement, as the files in which people have them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tritonobs.extensions.lint.linter import Linter, Options

FOLDER: Final = Path(__file__).parent.parent / "lint" / "corpus"
_SAME: Final = {
    "wrong-unit": {
        "wrong-unit",
        "time-per-second",
        "ratio-and-percent",
        "threshold-unit",
        "rate-over-increase",
    },
    "guarded-division": {"guarded-denominator"},
    "counter-without-rate": {"raw-counter"},
    "unknown-series": {"unknown-series"},
    "removed-series": {"unknown-series", "other-release"},
    "mixes-models": {"mixed-models", "ensemble-counted-twice"},
    "mixes-kinds": {"summed-kinds"},
    "average-of-averages": {"average-of-averages"},
    "average-of-quantiles": {"aggregated-quantile"},
    "wrong-denominator": {"wrong-denominator", "inferences-as-requests"},
    "does-not-parse": {"unparsed"},
    # What never is there never fires, and the finding says so.
    "never-fires": {
        "never-true",
        "ratio-and-percent",
        "unknown-series",
        "unknown-label-value",
        "unmatched-join",
    },
    "always-fires": {"never-true", "raw-counter"},
    "delta-on-counter": {"delta-of-counter"},
    "rate-on-gauge": {"rate-of-gauge"},
    "rate-over-sum": {"rate-of-sum"},
    # A `_bucket` that is not there is said to be none.
    "quantile-without-buckets": {"quantile-without-buckets", "unknown-series"},
    "unknown-label": {"unknown-label", "unknown-label-value"},
    "missing-label": {"quantile-without-buckets"},
    "failing-join": {"unmatched-join"},
    "errors-as-successes": {"errors-counted-as-successes"},
    "ensemble-twice": {"ensemble-counted-twice"},
    "limit-on-completions": {"limit-on-completions"},
    "silent-without-traffic": {"silent-when-gone", "nan-fires"},
    "irate-in-alert": {"irate-in-alert"},
    "window-too-short": {"short-window"},
    "absent-without-labels": {"absent-of-everything"},
    "scaler-opens-when-blind": {"blind-scaler"},
}
"""The words of the judgements, and the ids of checks that say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An entry: its id, the expert's classes, what is let pass, and the ids that the linter gave."""

    id: str
    wrong: tuple[str, ...]
    tolerated: frozenset[str]
    found: frozenset[str]

    @property
    def gravest(self) -> bool:
        """Whether the gravest fault was found with the right reason."""
        return bool(_SAME.get(self.wrong[0], set()) & self.found)

    @property
    def missed(self) -> tuple[str, ...]:
        """The classes that were not found."""
        return tuple(one for one in self.wrong if not _SAME.get(one, set()) & self.found)

    @property
    def more(self) -> frozenset[str]:
        """What was found and the expert neither wrote nor lets pass."""
        right: set[str] = set()
        for one in (*self.wrong, *self.tolerated):
            right |= _SAME.get(one, set())
        return self.found - right


def judged(half: str) -> list[Judged]:
    """Every entry of a part of the corpus (`seen`, `unseen`, `fresh`), linted alone."""
    entries = yaml.safe_load((FOLDER / f"{half}.yaml").read_text(encoding="utf-8"))
    return [
        Judged(
            id=one["id"],
            wrong=() if one["class"] == ["right"] else tuple(one["class"]),
            tolerated=frozenset(one.get("tolerates", ())),
            found=frozenset(_found(one)),
        )
        for one in entries
    ]


def _found(entry: dict[str, Any]) -> set[str]:
    linter = Linter(Options())
    suffix, text = _file(entry)
    linter.read_text(text, f"{entry['id']}{suffix}")
    return {one.id for one in linter.result().problems}


def _file(entry: dict[str, Any]) -> tuple[str, str]:
    kind, expr, context = entry["kind"], entry["expr"], entry["context"]
    if kind in ("markdown", "promql"):
        return (
            ".md" if kind == "markdown" else ".promql",
            f"# {context}\n\n```promql\n{expr}\n```\n" if kind == "markdown" else expr,
        )
    if kind == "panel":
        panel: dict[str, Any] = {"title": context, "type": "timeseries", "targets": [{"expr": expr}]}
        panel["fieldConfig"] = {"defaults": {"unit": entry["unit"]} if "unit" in entry else {}}
        return ".json", json.dumps({"title": "board", "schemaVersion": 39, "panels": [panel]}, indent=1)
    return ".yaml", yaml.safe_dump(_object(entry), allow_unicode=True)


def _object(entry: dict[str, Any]) -> dict[str, Any]:
    kind, expr, context = entry["kind"], entry["expr"], entry["context"]
    if kind in ("alert", "rule"):
        rule = {"alert" if kind == "alert" else "record": context.split()[-1], "expr": expr}
        rule |= {"for": entry["for"]} if "for" in entry else {}
        return {"groups": [{"name": "g", "rules": [rule]}]}
    if kind == "adapter":
        # The adapter puts the series' name where the placeholder is; these queries name their series.
        rule = {"seriesQuery": "up", "name": {"as": context.split()[2].rstrip(",")}, "metricsQuery": expr}
        return {"rules": [rule]}
    if kind == "keda":
        data = {"query": expr, "threshold": context.rpartition(" ")[2], "ignoreNullValues": "false"}
        return {"kind": "ScaledObject", "spec": {"triggers": [{"type": "prometheus", "metadata": data}]}}
    target = dict([entry["target"].split(" ")])
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": expr}, "target": {k[0].lower() + k[1:]: v for k, v in target.items()}},
    }
    return {"kind": "HorizontalPodAutoscaler", "spec": {"metrics": [metric]}}
