"""Four shards and a global Prometheus beside one, over the same pages: records, alerts, a shard that is lost.

With --plants a right configuration is also made wrong, in one way after the other, and the same checks must
see it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from results import after, publish, table

from support.shards_planted import PLANTS
from support.shards_rig import SHARDS, Tiers
from support.shards_seen import live

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.beside import Configs
    from support.shards_seen import Seen

TOLERANCE = 0.001


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scrape", type=int, default=5, help="seconds between two scrapes and evaluations")
    parser.add_argument("--speed", type=float, default=5.0, help="how many times as fast waits are")
    parser.add_argument("--calm", type=float, default=130, help="seconds until records are compared")
    parser.add_argument("--patience", type=float, default=60, help="seconds in which they must be alike")
    parser.add_argument("--plants", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/RESULTS.md")
    options = parser.parse_args()
    seen = _lived(options, lambda _: None)
    planted = {name: _lived(options, plant) for name, plant in PLANTS.items() if options.plants}
    series = sum(len(rows) for rows in seen.different.values())
    one, tiers = seen.overflow
    later = None if one is None or tiers is None else tiers - one
    rows = [
        ["series of records compared", "", f"{seen.compared:,}"],
        ["of them not equal within 0.1 %", "0", f"{series}"],
        ["alerts in the calm: in one, in tiers", "the same", f"{len(seen.one)}, {len(seen.whole)}"],
        ["of them not in both", "0", f"{len(seen.one ^ seen.whole)}"],
        ["overflow told after: in one, in tiers", "", f"{after(one)}, {after(tiers)}"],
        ["later in tiers by", "at most 20 s", after(later)],
        ["alerts when a shard is stopped", "TritonobsShardMissing", ", ".join(_names(seen))],
        ["false alerts in all", "0", f"{len(seen.false)}"],
    ]
    said = f"{SHARDS} shards and a global Prometheus that asks them every {min(5, options.scrape)} s, beside "
    said += "one Prometheus with the same rules; both scrape the same 15 servers every "
    said += f"{options.scrape} s. Waits, and windows of two minutes and more, run {options.speed:g} times as "
    said += "fast as written."
    text = f"{said}\n\n{table(['', 'must be', 'was'], rows)}"
    if planted:
        told = [[name.replace("_", " "), *_told(one)] for name, one in planted.items()]
        text += f"\n\nWrong on purpose, and what the same checks say:\n\n{table(_HEADER, told)}"
    values = {row[0]: row[2] for row in rows} | {name: _told(one) for name, one in planted.items()}
    if seen.different:
        text += "\n\nNot equal: " + ", ".join(f"`{name}`" for name in seen.different) + "."
    publish("shards", text, values, as_json=options.json, write=options.write)


_HEADER = ["defect", "records that differ", "alerts not in both", "false alerts"]


def _lived(options: argparse.Namespace, plant: Callable[[Configs], None]) -> Seen:
    with (
        tempfile.TemporaryDirectory() as folder,
        Tiers(Path(folder), scrape_seconds=options.scrape, speed=options.speed, plant=plant) as tiers,
    ):
        return live(
            tiers, calm=options.calm, over=30, stopped=45, tolerance=TOLERANCE, patience=options.patience
        )


def _told(seen: Seen) -> list[str]:
    false = sorted({one.partition(" ")[0] for one in seen.false})
    return [
        f"{len(seen.different)}",
        f"{len(seen.one ^ seen.whole)}",
        f"{len(seen.false)}" + (f" ({', '.join(false)})" if false else ""),
    ]


def _names(seen: Seen) -> list[str]:
    return sorted({dict(row)["alertname"] for row in seen.told})


if __name__ == "__main__":
    main()
