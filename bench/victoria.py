"""vmagents, VictoriaMetrics and vmalert beside one Prometheus, over the same pages.

Records, alerts, an overflow, an agent that is killed and comes back, and a restart of vmalert. With --plants
a right setup is also made wrong, in one way after the other, and the same checks must see it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from results import after, publish, table

from support.shards_seen import live
from support.victoria_planted import PLANTS
from support.victoria_rig import AGENTS, Victoria
from support.victoria_seen import lived

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.victoria_rig import Setup
    from support.victoria_seen import Lived

TOLERANCE = 0.001
_HEADER = ["defect", "records that differ", "alerts not in both", "false alerts", "told again or forgotten"]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scrape", type=int, default=2, help="seconds between two scrapes and evaluations")
    parser.add_argument("--slower", type=int, default=5, help="the same where only an overflow is told")
    parser.add_argument("--speed", type=float, default=10.0, help="how many times as fast waits are")
    parser.add_argument("--calm", type=float, default=260, help="seconds until records are compared")
    parser.add_argument("--patience", type=float, default=60, help="seconds in which they must be alike")
    parser.add_argument("--plants", nargs="*", choices=PLANTS, default=(), help="what to make wrong")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/RESULTS.md")
    options = parser.parse_args()
    told = _lived(options, lambda _: None)
    planted = {name: _lived(options, PLANTS[name]) for name in options.plants}
    rows = [*_rows(told), *_overflows(options.scrape, told.seen.overflow)]
    if options.slower:
        rows += _overflows(options.slower, _overflow(options))
    said = f"{AGENTS} vmagents that share 15 servers, one VictoriaMetrics and one vmalert, all 1.79.5, with "
    said += "the flags of docs/scale.md, beside one Prometheus with the same rules; both scrape and evaluate "
    said += f"every {options.scrape} s. Waits, and windows of two minutes and more, run {options.speed:g} "
    said += "times as fast as written. Not compared: windows that were not full, and counters as they stand. "
    said += "What grew from one evaluation to the next is compared as a mean of a minute, within 10 %."
    text = f"{said}\n\n{table(['', 'must be', 'was'], rows)}"
    if planted:
        wrong = [[name.replace("_", " "), *_told(one)] for name, one in planted.items()]
        text += f"\n\nWrong on purpose, and what the same checks say:\n\n{table(_HEADER, wrong)}"
    if told.seen.different:
        text += "\n\nNot equal: " + ", ".join(f"`{name}`" for name in told.seen.different) + "."
    for what, found in (("Not in both", told.seen.apart), ("Told when it was back", told.back)):
        if found:
            text += (
                f"\n\n{what}: " + ", ".join(sorted({f"`{dict(row)['alertname']}`" for row in found})) + "."
            )
    values = {row[0]: row[2] for row in rows} | {name: _told(one) for name, one in planted.items()}
    publish("victoria", text, values, as_json=options.json, write=options.write)


def _lived(options: argparse.Namespace, plant: Callable[[Setup], None]) -> Lived:
    with (
        tempfile.TemporaryDirectory() as folder,
        Victoria(Path(folder), scrape_seconds=options.scrape, speed=options.speed, plant=plant) as rig,
    ):
        return lived(
            rig, calm=options.calm, restart=15, over=30, stopped=25, back=30,
            tolerance=TOLERANCE, patience=options.patience,
        )  # fmt: skip


def _rows(told: Lived) -> list[list[str]]:
    seen, later = told.seen, sorted(told.later.values())
    series = sum(len(rows) for rows in seen.different.values())
    burns = [wait for row, wait in told.later.items() if "Burn" in dict(row)["alertname"]]
    return [
        ["series of records compared", "", f"{seen.compared:,}"],
        ["of them not equal within 0.1 %", "0", f"{series}"],
        ["alerts in the calm: in one, in vmalert", "the same", f"{len(seen.one)}, {len(seen.whole)}"],
        ["of them not in both", "0", f"{len(seen.apart)}"],
        ["all of these later in vmalert by, median and most", "", _spread(later)],
        ["burn alerts of them", "", _spread(burns)],
        ["alerts when an agent is killed", "TritonobsAgentMissing", ", ".join(_names(told))],
        ["alerts when it is back", "none", f"{len(told.back) or 'none'}"],
        ["false alerts in all", "0", f"{len(seen.false)}"],
        ["firing when vmalert was killed and started", "", f"{told.restart.firing}"],
        ["of them told again, forgotten", "0, 0", _again(told)],
    ]


def _overflow(options: argparse.Namespace) -> tuple[float | None, float | None]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Victoria(Path(folder), scrape_seconds=options.slower, speed=options.speed) as rig,
    ):
        return live(
            rig, calm=rig.settles() + 30, over=70, stopped=0, tolerance=1, patience=0, ignored=".+"
        ).overflow


def _overflows(scrape: int, told: tuple[float | None, float | None]) -> list[list[str]]:
    one, whole = told
    later = None if one is None or whole is None else whole - one
    every = f"scrapes every {scrape} s: overflow told after, in one, in vmalert"
    return [
        [every, "", f"{after(one)}, {after(whole)}"],
        [f"scrapes every {scrape} s: later in vmalert by", "", after(later)],
    ]


def _told(told: Lived) -> list[str]:
    false = sorted({one.partition(" ")[0] for one in told.seen.false})
    return [
        f"{len(told.seen.different)}",
        f"{len(told.seen.apart)}",
        f"{len(told.seen.false)}" + (f" ({', '.join(false)})" if false else ""),
        _again(told),
    ]


def _again(told: Lived) -> str:
    return f"{len(told.restart.again)}, {len(told.restart.forgotten)}"


def _names(told: Lived) -> list[str]:
    return sorted({dict(row)["alertname"] for row in told.seen.told}) or ["none"]


def _spread(waits: list[float]) -> str:
    return f"{statistics.median(waits):.0f} s, {max(waits):.0f} s" if waits else "none"


if __name__ == "__main__":
    main()
