"""How steady the end-to-end tests are: all of them again and again, on busy cores.

    python bench/end_to_end.py [--runs N] [--hours H] [--json] [--write]

A test that fails once is named in the row of its run. Runs are kept in bench/end_to_end_kept.json beside
earlier ones, because twenty take hours; one that was interrupted is not. A run counts for the commit that was
checked out when it began.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import mean
from typing import Final

from perf import busy
from results import publish, table

ROOT: Final = Path(__file__).parents[1]
KEPT: Final = Path(__file__).parent / "end_to_end_kept.json"
WANTED_GREEN: Final = 20
_NICE: Final = 10
_LOOK_SECONDS: Final = 15.0
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_COUNTED: Final = re.compile(r"(\d+) (passed|skipped)\b(?=.* in [\d.]+s)")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of everything; `load` is the mean over it of the load average of a minute."""

    commit: str
    began: str
    minutes: float
    load: float
    passed: int
    skipped: int
    failed: tuple[str, ...]


def main() -> int:
    """Run them; 1 where the last runs are not green."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=1, help="0: the table of what was kept")
    options.add_argument("--hours", type=float, default=24.0, help="begin no other run after so many")
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    chosen = options.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    runs = [Run(**{**one, "failed": tuple(one["failed"])}) for one in kept]
    ends = time.monotonic() + 3600 * chosen.hours
    for _ in range(chosen.runs):
        if time.monotonic() > ends:
            break
        runs.append(run())
        print(*_row(runs[-1]), sep="  ", file=sys.stderr, flush=True)
        KEPT.write_text(json.dumps([asdict(one) for one in runs], indent=1) + "\n", encoding="utf-8")
    values = [asdict(one) for one in runs]
    publish("end_to_end", _text(runs), values, as_json=chosen.json, write=chosen.write)
    return 0 if green(runs) else 1


def run() -> Run:
    """One run, now."""
    git = shutil.which("git") or "git"
    commit = subprocess.run(
        [git, "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    began, start, loads = datetime.now(tz=timezone.utc), time.monotonic(), []
    with (
        busy(os.cpu_count() or 1, niceness=_NICE),
        subprocess.Popen(
            [ROOT / "tools" / "test_e2e.sh"],
            cwd=ROOT,
            env={**os.environ, "BIN": str(Path(sys.executable).parent)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as tests,
    ):
        while True:
            try:
                printed, _ = tests.communicate(timeout=_LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                loads.append(os.getloadavg()[0])
    if tests.returncode < 0:
        raise SystemExit(f"the tests were ended by signal {-tests.returncode}: this run does not count")
    counts: Counter[str] = Counter()
    for number, outcome in _COUNTED.findall(printed):
        counts[outcome] += int(number)
    failed = tuple(dict.fromkeys(_FAILED.findall(printed)))
    if tests.returncode and not failed:
        failed = (f"tools/test_e2e.sh ended with {tests.returncode}",)
    if failed:
        print(printed, file=sys.stderr)
    return Run(
        commit=commit.stdout.strip(),
        began=f"{began:%Y-%m-%d %H:%M}",
        minutes=round((time.monotonic() - start) / 60, 1),
        load=round(mean(loads), 1) if loads else 0.0,
        passed=counts["passed"],
        skipped=counts["skipped"],
        failed=failed,
    )


def green(runs: list[Run]) -> int:
    """How many of the last runs in a row had no failure."""
    failed = [at for at, one in enumerate(runs) if one.failed]
    return len(runs) - (failed[-1] + 1 if failed else 0)


def _row(one: Run) -> list[str]:
    failed = ", ".join(one.failed) or "."
    numbers = f"{one.minutes:.0f}", f"{one.load:.1f}", str(one.passed), str(one.skipped)
    return [one.began, one.commit, *numbers, failed]


def _text(runs: list[Run]) -> str:
    head = ["began", "commit", "minutes", "load", "passed", "skipped", "failed"]
    return (
        f"All end-to-end tests beside {os.cpu_count()} processes that compute all the time (nice {_NICE}). "
        f"**The last {green(runs)} runs in a row were green** (wanted: {WANTED_GREEN}). "
        "Skipped: their parts (a Kubernetes API server, Grafana, images) were not on this machine.\n\n"
        f"{table(head, [_row(one) for one in runs])}"
    )


if __name__ == "__main__":
    sys.exit(main())
