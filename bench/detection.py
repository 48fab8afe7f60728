"""How soon burn alerts fire and how soon they are over: ours, theory, and the shapes of Sloth and Pyrra.

Every rule is computed over simulated counters at the interval of its group; nothing is scaled.
Sloth joins two tiers to one alert; here each of its conditions is an alert, so that they can be compared.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import publish, table
from rules_compared import pyrra_shape, sloth_shape

from support.fleet_sim.detection import IN_0_5_0, OBJECTIVE, TIERS, Incident, Seen, detect, theory
from support.fleet_sim.engine import Engine
from support.fleet_sim.world import product_rules
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR, DAY = 3600, 86_400
BEFORE = 4.4 * DAY
BAD = 'nv_inference_request_failure{model="nms",reason!="CANCELED"}'
VALID = '{__name__=~"nv_inference_request_(success|failure)",model="nms"}'
# Share of errors, and how long it lasts: until the slowest alert has fired that reports it.
INCIDENTS = {
    1.0: 5 * HOUR,
    0.1: 7 * HOUR,
    0.02: 11 * HOUR,
    0.01: 15 * HOUR,
    0.005: 17 * HOUR,
    0.002: 40 * HOUR,
}


def sloth() -> list[dict[str, Any]]:
    """Sloth's rules, each burn condition as an alert of its own."""
    made = sloth_shape.rules("nms", "availability", OBJECTIVE, BAD, VALID)
    ratios = [rule for rule in made if rule.get("record", "").startswith("slo:sli_error:ratio_rate")]
    conditions = [part for rule in made if "alert" in rule for part in rule["expr"].split(" or ")]
    alerts = [
        {"alert": f"sloth-{tier}", "expr": condition, "labels": {"burn_tier": tier}}
        for tier, condition in zip(TIERS, conditions, strict=True)
    ]
    raw = [rule for rule in ratios if not rule["record"].endswith("30d")]
    return [{"name": "sloth", "interval": "30s", "rules": [*raw, *alerts]}]


def pyrra() -> list[dict[str, Any]]:
    """Pyrra's rules."""
    made = pyrra_shape.rules("nms-availability", OBJECTIVE, BAD, VALID)
    return [{"name": "pyrra", "interval": "30s", "rules": made}]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the section of RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    groups: dict[str, Callable[[], Any]] = {
        "tritonobs": lambda: list(product_rules(15)),
        "Sloth": sloth,
        "Pyrra": pyrra,
    }
    measured: dict[float, dict[str, dict[str, Seen]]] = {}
    with tempfile.TemporaryDirectory() as folder, Engine(programs.find("prometheus"), Path(folder)) as engine:
        for share, seconds in INCIDENTS.items():
            incident = Incident(share=share, before=BEFORE, seconds=seconds)
            measured[share] = {
                name: detect(engine, incident, made(), since=0 if name == "tritonobs" else BEFORE - 600)
                for name, made in groups.items()
            }
    rows = [
        [
            f"{100 * share:g}%",
            tier,
            *_cells("detected", share, tier, seen),
            *_cells("reset", share, tier, seen),
        ]
        for share, seen in measured.items()
        for tier in TIERS
    ]
    header = [
        "errors",
        "tier",
        *(f"{what}: {who}" for what in ("fires", "over") for who in ("theory", "0.5.0", *groups)),
    ]
    text = (
        "Minutes from the first error to the alert, and from the last error to its end; a dot where it\n"
        f"rightly stays silent. Objective {OBJECTIVE:.1%} over 30 days, 10 requests/s, 15 s scrapes.\n\n"
        + table(header, rows)
    )
    values = {
        str(share): {
            who: {tier: [one.detected, one.reset] for tier, one in seen.items()} for who, seen in by.items()
        }
        for share, by in measured.items()
    }
    publish("Detection of burns", text, values, as_json=asked.json, write=asked.write)


def _cells(what: str, share: float, tier: str, seen: dict[str, dict[str, Seen]]) -> list[str]:
    every = [theory(TIERS[tier], share), *(one[tier] for one in seen.values())]
    times = [getattr(one, what) for one in every]
    before = IN_0_5_0.get(share)
    return [
        _minutes(times[0]),
        _minutes(getattr(before[tier], what)) if before else "",
        *map(_minutes, times[1:]),
    ]


def _minutes(seconds: float | None) -> str:
    return "." if seconds is None else f"{seconds / 60:.1f}"


if __name__ == "__main__":
    main()
