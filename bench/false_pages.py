"""How often each alert fires in a fleet in which nothing is wrong, in a week of random traffic.

The fleet, what counts as false and what is allowed are in tests/support/fleet_sim/healthy.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import RESULTS, publish, table

from support.fleet_sim.budget_lines import measured_alerts, with_budget
from support.fleet_sim.engine import Engine
from support.fleet_sim.healthy import LOADS, LOST_SCRAPES, SERVERS, budget, false_pages, healthy_fleet
from support.fleet_sim.world import live, product_rules
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNBOOKS = Path(__file__).parent.parent / "docs" / "runbooks"
_ALWAYS = "Watchdog"


def main() -> int:
    """Run it; 1 when an alert is over its budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=7.0, help="days of each world")
    parser.add_argument("--seeds", type=int, default=1, help="how many worlds")
    parser.add_argument("--write", action="store_true", help="replace the section of RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runbooks", action="store_true", help="only write the budgets into the runbooks")
    asked = parser.parse_args()
    rules = {rule["alert"]: rule for group in product_rules(15) for rule in group["rules"] if "alert" in rule}
    del rules[_ALWAYS]
    if asked.runbooks:
        _write_runbooks(rules)
        return 0
    counted: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for seed in range(asked.seeds):
        with (
            tempfile.TemporaryDirectory() as folder,
            Engine(programs.find("prometheus"), Path(folder)) as engine,
        ):
            lived = live(engine, healthy_fleet(days=asked.days, seed=seed), *rules, phases=seed)
            counted.update(false_pages(lived.all_fired()))
            failures.update(lived.failures)
    days = asked.days * asked.seeds
    a_day = {name: counted[name] / days for name in rules}
    over = [name for name, rule in rules.items() if a_day[name] > budget(rule)]
    rows = [
        [
            name,
            rules[name]["labels"]["severity"],
            f"{often:.2f}",
            f"{budget(rules[name]):g}",
            "over" if name in over else "",
        ]
        for name, often in sorted(a_day.items(), key=lambda item: (-item[1], item[0]))
    ]
    text = (
        f"False pages a day over {days:g} days of {SERVERS} servers and {len(LOADS)} models; "
        f"{LOST_SCRAPES:.0%} of scrapes are lost.\n"
        f"Rules that failed instead of answering: {dict(failures) or 'none'}.\n\n"
        + table(["alert", "severity", "false pages a day", "allowed", ""], rows)
    )
    publish("False pages", text, {"days": days, "a_day": a_day}, as_json=asked.json, write=asked.write)
    return 1 if over else 0


def _write_runbooks(rules: Mapping[str, Any]) -> None:
    measured = measured_alerts(RESULTS.read_text(encoding="utf-8"))
    for name, rule in rules.items():
        page = RUNBOOKS / f"{name}.md"
        text = with_budget(page.read_text(encoding="utf-8"), budget(rule), measured=name in measured)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
