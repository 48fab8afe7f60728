"""What one record costs on the request path in nanoseconds: the best of several runs, less the empty call."""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from results import publish, table

from tritonobs.stage import Stages
from tritonobs.testing.pb_utils import FakePbUtils

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    stages = Stages(FakePbUtils.ARGS, FakePbUtils())
    records = _records(stages)
    calls, runs = (20_000, 3) if options.quick else (200_000, 15)
    empty = _fastest(lambda: None, calls, runs)
    costs = {name: _fastest(record, calls, runs) - empty for name, record in records.items()}
    rows = [[f"`{name}`", f"{nanoseconds:.0f} ns"] for name, nanoseconds in costs.items()]
    said = f"Best of {runs} runs of {calls:,} calls, with a flusher running."
    publish(
        "record_cost",
        f"{said}\n\n{table(['record', 'cost'], rows)}",
        {name: round(nanoseconds) for name, nanoseconds in costs.items()},
        as_json=options.json,
        write=options.write,
    )


def _records(stages: Stages) -> dict[str, Callable[[], object]]:
    nothing = nullcontext()

    def bare_with() -> None:
        with nothing:
            time.perf_counter()
            time.perf_counter()

    def timed() -> None:
        with stages.time("decode"):
            pass

    def batch() -> None:
        with stages.batch("infer", 8):
            pass

    return {
        "(a with block and two clock readings)": bare_with,
        'observe("decode", seconds)': lambda: stages.observe("decode", 0.0123),
        'with time("decode")': timed,
        'with batch("infer", 8)': batch,
        'outcome("ok")': lambda: stages.outcome("ok"),
        'items("nms", "boxes", 12)': lambda: stages.items("nms", "boxes", 12),
        'error("decode", "too_large")': lambda: stages.error("decode", "too_large"),
        'size("decode", "bytes", 1e5)': lambda: stages.size("decode", "bytes", 1e5),
    }


def _fastest(record: Callable[[], object], calls: int, runs: int) -> float:
    record()
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        for _ in range(calls):
            record()
        best = min(best, time.perf_counter() - started)
    return best / calls * 1e9


if __name__ == "__main__":
    main()
