"""Everything that is done to `tritonobs serve` in the tests: what is lost, shown, and over afterwards.

python bench/faults.py --write
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from results import publish, table

from support.serve_faults import FAULTS, Seen, ServeFault, play
from support.serve_rig import Rig


def seen_of(fault: ServeFault) -> Seen:
    """One fault on a daemon of its own."""
    with tempfile.TemporaryDirectory(prefix="tritonobs-faults-") as folder, Rig(folder=Path(folder)) as rig:
        seen = play(rig, fault)
    print(f"{fault}: {'good' if seen.good else seen}", file=sys.stderr)
    return seen


def main() -> None:
    """Play what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="as CI plays them")
    parser.add_argument("--at-once", type=int, default=3, help="daemons at once; they mostly wait")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    faults = [
        fault
        for fault in FAULTS
        if (fault.short or not options.short) and (not fault.root or os.geteuid() == 0)
    ]
    with ThreadPoolExecutor(max_workers=options.at_once) as pool:
        seen = list(pool.map(seen_of, faults))
    header = [
        "part",
        "fault",
        "alerts",
        "lost",
        "sent twice",
        "shown",
        "health answers",
        "recovers",
        "followed",
    ]
    rows = [
        [
            fault.part,
            fault.what,
            str(one.sent),
            str(len(one.lost)),
            str(len(one.twice)),
            *("yes" if good else "NO" for good in (one.shown, one.answers, one.recovers, one.follows)),
        ]
        for fault, one in zip(faults, seen, strict=True)
    ]
    text = (
        "Each fault on a `tritonobs serve` of its own that may open 1,024 files. Shown: by `/metrics` or "
        "`/readyz` while it lasts. Followed: a change of the fleet file afterwards is in force.\n\n"
        + table(header, rows)
    )
    publish("faults", text, [asdict(one) for one in seen], as_json=options.json, write=options.write)
    sys.exit(0 if all(one.good for one in seen) else 1)


if __name__ == "__main__":
    main()
