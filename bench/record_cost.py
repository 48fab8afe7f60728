"""What a record costs on the request path: compiled, in Python, and as it was in release 0.5.0.

Hot is the best of several runs of one call, less the empty call. Cold is the median of a whole request's
records (five timers, items and an outcome) right after memory of the size of a core's cache was copied, which
is what a model's process finds when Triton has just woken it. Each way has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = {
    "compiled": "compiled",
    "python": "lock and dictionary",
    "cells": "0.5.0",
    "blocks": "blocks that do nothing",
}
CACHE = bytearray(3 << 20)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    calls, runs, cold_runs = (5_000, 3, 300) if options.quick else (50_000, 15, 3_000)
    if options.measure:
        print(json.dumps(_measure(options.measure, calls, runs, cold_runs)))
        return
    _publish({way: _apart(way, quick=options.quick) for way in WAYS}, calls, runs, options)


def _publish(costs: dict[str, dict[str, float]], calls: int, runs: int, options: argparse.Namespace) -> None:
    from results import publish, table  # noqa: PLC0415 (the measured processes import what they measure only)

    records = dict.fromkeys(name for cost in costs.values() for name in cost)
    rows = [
        [
            name if name.startswith(("a ", "the ")) else f"`{name}`",
            *(_shown(cost.get(name)) for cost in costs.values()),
        ]
        for name in records
    ]
    said = f"Hot: best of {runs} runs of {calls:,} calls. Cold: medians of whole requests."
    publish(
        "record_cost",
        f"{said}\n\n{table(['record', *WAYS.values()], rows)}",
        costs,
        as_json=options.json,
        write=options.write,
    )


def _shown(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return ""
    return f"{nanoseconds / 1000:.1f} µs" if nanoseconds >= 1000 else f"{nanoseconds:.0f} ns"


def _apart(way: str, *, quick: bool) -> dict[str, float]:
    """Costs in nanoseconds, measured in a process that imports this way."""
    variables = {**os.environ, "TRITONOBS_PURE_PYTHON": "1" if way == "python" else ""}
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as package:
        if way == "cells":
            from stage_overhead import RELEASE_0_5_0, unpack  # noqa: PLC0415 (as above)

            unpack(RELEASE_0_5_0, Path(package))
            variables["PYTHONPATH"] = package
        command = [sys.executable, __file__, "--measure", way, *(("--quick",) if quick else ())]
        done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    costs: dict[str, float] = json.loads(done.stdout)
    return costs


class _Blocks:
    """What a model would call if nothing was behind it."""

    def __init__(self) -> None:
        self._nothing = nullcontext()

    def time(self, _stage: str) -> nullcontext:
        """A block."""
        return self._nothing

    def items(self, _stage: str, _kind: str, _n: int) -> None:
        """A call."""

    def outcome(self, _outcome: str) -> None:
        """Another."""


class _WithRequest:
    """`total` and the outcome by `request`."""

    def __init__(self, stages: Any) -> None:  # noqa: ANN401 (of more than one release)
        self.time, self.items = stages.time, stages.items

    def outcome(self, _outcome: str) -> None:
        """Called by the block."""


def _measure(way: str, calls: int, runs: int, cold_runs: int) -> dict[str, float]:
    if way == "blocks":
        blocks = _Blocks()
        return {"a request, cold": _cold(blocks, cold_runs, blocks.time, "total")}
    from tritonobs.stage import Stages, cells  # noqa: PLC0415 (as above)

    found = "cells" if not hasattr(cells, "COMPILED") else "compiled" if cells.COMPILED else "python"
    if found != way:
        raise SystemExit(f"{way} was asked for, {found} is here; run: python tools/compile_record.py")
    stages = Stages({"model_name": "m", "model_version": "1"}, None)
    empty = _fastest(lambda: None, calls, runs)
    costs = {name: _fastest(record, calls, runs) - empty for name, record in _records(stages).items()}
    costs["a request, cold"] = _cold(stages, cold_runs, stages.time, "total")
    if hasattr(stages, "request"):
        costs["the same with request()"] = _cold(_WithRequest(stages), cold_runs, stages.request, 1)
    return costs


def _records(stages: Any) -> dict[str, Callable[[], object]]:  # noqa: ANN401 (of more than one release)
    def timed() -> None:
        with stages.time("decode"):
            pass

    def batch() -> None:
        with stages.batch("infer", 8):
            pass

    def request() -> None:
        with stages.request(8):
            pass

    requests = {"with request(8)": request} if hasattr(stages, "request") else {}
    return {
        'observe("decode", seconds)': lambda: stages.observe("decode", 0.0123),
        'with time("decode")': timed,
        'with batch("infer", 8)': batch,
        **requests,
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


def _cold(stages: Any, runs: int, whole: Callable[..., Any], of: object) -> float:  # noqa: ANN401 (as above)
    """All records of one request, with caches full of something else; `whole(of)` is the block around it."""
    took = []
    for _ in range(runs):
        bytes(CACHE)
        started = time.perf_counter()
        with whole(of):
            for stage in ("read", "decode", "infer", "encode"):
                with stages.time(stage):
                    pass
            stages.items("infer", "images", 1)
            stages.outcome("ok")
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1e9


if __name__ == "__main__":
    main()
