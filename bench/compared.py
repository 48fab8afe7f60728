"""The same incidents with the rules of others: the first page, how many alerts begin, and how long they last.

Sloth's and Pyrra's shapes are what these generate for the same two SLOs of each model, on Triton's own
counters and our stages' buckets. Both are about errors and latency alone; what has no SLO (servers, workers,
limits) they are not for.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import publish, table
from rules_compared import pyrra_shape, sloth_shape

from support.fleet_sim.engine import Engine
from support.fleet_sim.world import live, product_rules
from support.incidents.every import INCIDENTS
from support.incidents.incident import COUNTED
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.incidents.incident import Incident
    from support.incidents.shop import Shop
    from tritonobs.plan.fleet import Slo

CHOSEN = (
    "errors", "errors-two-versions", "errors-pipeline", "errors-few", "deploy-raises-all", "deploy-slower",
    "bad-client", "overload-full-queue", "server-killed", "worker-killed", "model-unloaded", "traffic-stops",
)  # fmt: skip
_INTERVAL = "30s"
"""How often Sloth's and Pyrra's groups are evaluated where nothing else is said."""


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="incidents of this name")
    parser.add_argument("--write", action="store_true", help="replace the section of RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    chosen = [one for one in INCIDENTS if one.name in (asked.only or CHOSEN)]
    values: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder, Engine(programs.find("prometheus"), Path(folder)) as engine:
        for incident in chosen:
            values[incident.name] = {name: _lived(engine, incident, rules) for name, rules in _SETS.items()}
            print(incident.name, values[incident.name], file=sys.stderr, flush=True)
    header = ["incident", "what happens"]
    header += [f"{name}: {what}" for name in _SETS for what in ("first page", "starts", "after the end")]
    rows = [
        [
            incident.name,
            incident.says,
            *(cell for seen in values[incident.name].values() for cell in _cells(seen)),
        ]
        for incident in chosen
    ]
    publish("compared", table(header, rows), values, as_json=asked.json, write=asked.write)
    return 0


def _lived(
    engine: Engine, incident: Incident, rules: Callable[[Shop], tuple[dict[str, Any], ...]]
) -> dict[str, Any]:
    shop = incident.world()
    world = live(engine, shop, groups=rules(shop))
    end = world.end if incident.ends is None else incident.ends
    fired = [
        one
        for alerts in world.all_fired().values()
        for one in alerts
        if one.labels.get("severity") in COUNTED and one.since >= incident.begins
    ]
    pages = [one.since - incident.begins for one in fired if one.labels["severity"] == "critical"]
    lasts = [(world.end if one.until is None else one.until) - end for one in fired]
    return {
        "first": min(pages, default=None),
        "starts": len(fired),
        "after": max((max(0.0, seconds) for seconds in lasts), default=None),
    }


def _cells(seen: dict[str, Any]) -> tuple[str, str, str]:
    first, after = seen["first"], seen["after"]
    return (
        "." if first is None else f"{first:.0f} s",
        str(seen["starts"]),
        "." if after is None else f"{after / 60:.0f} min",
    )


def _sloth(slo: Slo) -> list[dict[str, Any]]:
    made = sloth_shape.rules(slo.model, slo.name, float(slo.objective_ratio), **_counters(slo))
    return [
        # Sloth leaves the label that routes read to its users.
        {**rule, "labels": {**rule["labels"], "severity": rule["labels"]["sloth_severity"]}}
        if "alert" in rule
        else rule
        for rule in made
    ]


def _pyrra(slo: Slo) -> list[dict[str, Any]]:
    name = f"{slo.model}-{slo.name}"
    made = pyrra_shape.rules(name, float(slo.objective_ratio), **_counters(slo))
    return [{**rule, "alert": f"{rule['alert']}-{name}"} if "alert" in rule else rule for rule in made]


def _groups(of: Callable[[Slo], list[dict[str, Any]]], shop: Shop) -> tuple[dict[str, Any], ...]:
    """A group for each SLO about a model: so people write them who have no versions in their rules."""
    return tuple(
        {"name": f"{slo.model}-{slo.name}", "interval": _INTERVAL, "rules": of(slo)}
        for slo in shop.plan.slos
        if not slo.version
    )


def _counters(slo: Slo) -> dict[str, str]:
    """What an SLO counts: bad requests, or good ones where those have a counter, and all."""
    model = f'model="{slo.model}"'
    if slo.threshold_seconds is None:
        return {
            "bad": f'nv_inference_request_failure{{{model},reason!="CANCELED"}}',
            "valid": f'{{__name__=~"nv_inference_request_(success|failure)",{model}}}',
        }
    bucket = f'tritonobs_stage_duration_seconds_bucket{{{model},stage="{slo.stage}",le="%s"}}'
    return {"bad": "", "valid": bucket % "+Inf", "good": bucket % f"{slo.threshold_seconds:g}"}


_SETS = {
    "tritonobs": lambda shop: product_rules(shop.scrape_seconds),
    "Sloth": partial(_groups, _sloth),
    "Pyrra": partial(_groups, _pyrra),
}


if __name__ == "__main__":
    sys.exit(main())
