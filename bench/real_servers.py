"""A bad night on two real Triton servers: what clients counted, and what the rules made of it.

One server stands still for 75 s under failing load; a version lives for two minutes and fails all it gets;
every request to a model fails; a server loses a model while the other one is out of sight; more comes than is
answered; service discovery answers with nothing. tests/e2e/fleet lives through the same night, shortened.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from results import publish, table

from support.night import Night, live
from support.real_fleet import LIMITS, A, B, Servers

CALM_SECONDS, GAP_SECONDS, LIFE_SECONDS = 150.0, 75.0, 120.0


def main() -> None:
    """Live through it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into bench/RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Servers(Path(folder)) as servers:
        night = live(
            servers, calm=CALM_SECONDS, gap=GAP_SECONDS, life=LIFE_SECONDS,
            say=lambda what: print(what, file=sys.stderr, flush=True),
        )  # fmt: skip
    charges, alerts = _charges(night), _alerts(night)
    text = (
        "Scrapes and evaluations every 5 s. Requests that clients saw fail, and what the SLI charged:\n\n"
        + table(["what happened", "failed", "charged", "off by"], charges)
        + "\n\nSeconds from what happened to the alert:\n\n"
        + table(["what happened", "alert", "seconds", "must be"], alerts)
    )
    publish(
        "real_servers", text, {"charges": charges, "alerts": alerts}, as_json=asked.json, write=asked.write
    )


def _charges(night: Night) -> list[list[str]]:
    rows = []
    for model, what in (
        ("gapped", f"a server stands still for {GAP_SECONDS:g} s under failing load"),
        ("short", f"a version lives {LIFE_SECONDS:g} s and fails all it gets"),
        ("outage", "every request to a model fails"),
    ):
        failed = night.loads[f"{model} failing"].failed.total()
        charged = night.charged[model]
        rows.append([what, f"{failed}", f"{charged:.0f}", f"{charged / failed - 1:+.1%}"])
    return rows


def _alerts(night: Night) -> list[list[str]]:
    above, outage = "TritonQpsAboveLimit", "TritonErrorBudgetBurnFast"
    near = f"at random 90 % of the limit {LIMITS['near']:g}, all night"
    blind = f"{B} loses its model while {A} is out of sight"
    asked: tuple[tuple[str, str, str, dict[str, str], str], ...] = (
        ("every request to a model fails", "outage", outage, {"model": "outage"}, "≤ 120"),
        ("24/s come, 10/s are answered, the limit is 12/s", "over", above, {"model": "over"}, "≤ 30"),
        (f"{B} loses a model that {A} has", "shared unloaded", "TritonModelMissing", {"replica": B}, "≤ 250"),
        (blind, "lonely unloaded", "TritonModelUnloaded", {"model": "lonely"}, "≤ 120"),
        ("discovery answers with nothing", "discovery empty", "TritonServersLost", {}, "≤ 60"),
        (near, "calm", above, {"model": "near"}, "never"),
        (near, "calm", "TritonQpsSpike", {"model": "near"}, "never"),
    )
    rows = []
    for what, since, alert, labels, must in asked:
        seconds = night.after(since, alert, **labels)
        rows.append([what, alert, "never" if seconds is None else f"{seconds:.0f}", must])
    return rows


if __name__ == "__main__":
    main()
