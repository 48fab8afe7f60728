"""What `tritonobs build` costs for 1, 100 and 1,000 models of two versions each, as a user runs it."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import publish, table

SIZES = (1, 100, 1000)
_HEAD = """\
fleet: bench
replicas: [{name: triton-1, url: "http://127.0.0.1:8000"}]
defaults:
  slos:
    availability: {objective: 99.9%}
    latency: {objective: 99%, stage: total, threshold: 500ms}
models:
"""
_MODEL = """\
  model_{number:04d}:
    qps_limit: {limit}
    versions: {{"1": {{}}, "2": {{qps_limit: {own}}}}}
"""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    values = {size: _measure(size, options.runs) for size in SIZES}
    rows = [
        [str(size), f"{seconds:.2f} s", str(rules), f"{size_bytes / 1024:.0f} KiB"]
        for size, (seconds, rules, size_bytes) in values.items()
    ]
    said = f"Median of {options.runs} runs of the whole command, its start and promtool's check included."
    publish(
        "build_cost",
        f"{said}\n\n{table(['models x 2 versions', 'time', 'rules', 'artifacts'], rows)}",
        {size: {"seconds": seconds, "rules": rules} for size, (seconds, rules, _) in values.items()},
        as_json=options.json,
        write=options.write,
    )


def _measure(size: int, runs: int) -> tuple[float, int, int]:
    """Seconds of a build, the number of rules it makes, and the bytes of all its artifacts."""
    with tempfile.TemporaryDirectory() as folder:
        fleet, built = Path(folder) / "fleet.yaml", Path(folder) / "built"
        models = (_MODEL.format(number=number, limit=number + 10, own=number + 5) for number in range(size))
        fleet.write_text(_HEAD + "".join(models), encoding="utf-8")
        command = [sys.executable, "-m", "tritonobs", "build", str(fleet), "-o", str(built)]
        times = []
        for _ in range(runs):
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - started)
        texts = [path.read_text(encoding="utf-8") for path in built.rglob("*") if path.is_file()]
        rules = sum(
            line.lstrip(" -").startswith(("record:", "alert:"))
            for path in (built / "prometheus" / "rules").glob("*.yml")
            for line in path.read_text(encoding="utf-8").splitlines()
        )
        return statistics.median(times), rules, sum(map(len, texts))


if __name__ == "__main__":
    main()
