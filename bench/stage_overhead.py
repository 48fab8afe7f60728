"""What stage metrics cost a model: the same identity model bare and in other ways, in pairs.

Each way has servers of its own, with that model and the bare one: where memory happens to lie makes a
difference of some percent from one process to the next. There the two are measured in turn, bare first and
then bare last, many times for a short while, so that other work of the machine slows both alike. Figures
are medians over the pairs.

The client has one half of the cores, server and model instances the other. There the server is what is short
of time, so its CPU a request says the same as requests a second, and says it with less noise: both are shown.

`cells` is the record path of release 0.5.0, taken from the repository's history.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from perf import Reading, apart, measure
from results import publish, table

from tritonobs.extensions.lab.stack.native import lone_triton

if TYPE_CHECKING:
    from tritonobs.extensions.lab.stack.native import LoneTriton

ROOT = Path(__file__).parents[1]
RELEASE_0_5_0 = "e69def2"
WAYS = {
    "blocks": "blocks without timers",
    "compiled": "tritonobs, compiled",
    "request": "the same, with request()",
    "python": "tritonobs, lock and dictionary",
    "cells": "tritonobs 0.5.0",
    "prometheus": "prometheus_client",
    "direct": "pb_utils in execute",
}
_BARE, _HISTOGRAM = "bare", "histogram"
_WARM_SECONDS = 0.3
_DRAIN_SECONDS = 5.0
"""At most 20,000 values wait in a worker, and 5,000 are passed on at once (tritonobs/stage/flush.py)."""
CONFIG = """
backend: "python"
max_batch_size: 16
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 16 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 16 ] }} ]
instance_group [ {{ kind: KIND_CPU count: {instances} }} ]
parameters {{ key: "metrics_sink" value {{ string_value: "{sink}" }} }}
parameters {{ key: "package" value {{ string_value: "{package}" }} }}
parameters {{ key: "work" value {{ string_value: "{work}" }} }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model: KiB it hashes a request, its instances."""

    name: str
    work: int
    instances: int


# A core of the machine this was written on hashes a MiB in about 0.75 ms.
SHAPES = (
    Shape(name="no-op", work=0, instances=1),
    Shape(name="no-op", work=0, instances=4),
    Shape(name="2 ms", work=2700, instances=1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two readings of one server, one right after the other."""

    bare: Reading
    way: Reading


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--servers", type=int, default=2, help="for each way and shape")
    parser.add_argument("--pairs", type=int, default=8, help="on each server")
    parser.add_argument("--window", type=float, default=0.3, help="seconds; a run is three of them")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of {', '.join(WAYS)}")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="so many, the lightest models first")
    parser.add_argument("--histogram", action="store_true", help="the histogram sink instead of all others")
    parser.add_argument("--quick", action="store_true", help="one pair, one shape: does it work at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    ways, shapes = options.ways.split(","), SHAPES[: options.shapes]
    if options.quick:
        options.servers, options.pairs, shapes = 1, 2, SHAPES[:1]
    if options.histogram:
        ways = [_HISTOGRAM]
    rows, values = [], []
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as package:
        unpack(RELEASE_0_5_0, Path(package))
        for shape in shapes:
            for way in ways:
                row, value = _summary(_pairs(shape, way, Path(package), options))
                rows.append([shape.name, str(shape.instances), WAYS.get(way, way), *row])
                values.append({"shape": asdict(shape), "way": way, **value})
    text = (
        f"Five timers, items and an outcome a request; medians of {options.servers * options.pairs} pairs "
        f"with the bare model, on {options.servers} servers, concurrency {options.concurrency}; client and "
        "server on cores of their own. The CPU is that of server, model and flush; in brackets quartiles. "
        f"Load of the machine: {os.getloadavg()[0]:.1f}.\n\n"
        f"{table(['model', 'instances', 'way', 'req/s', 'of bare', 'of bare by CPU', 'CPU a request'], rows)}"
    )
    # Some ways alone, for which there is time for more pairs, do not replace the whole table.
    more = "histogram" if options.histogram else "" if len(ways) == len(WAYS) else " ".join(ways)
    section = f"stage_overhead {more}".rstrip()
    publish(section, text, values, as_json=options.json, write=options.write)


def unpack(commit: str, folder: Path) -> None:
    """`tritonobs.stage` as it was, if this checkout has its history."""
    archive = subprocess.run(
        [shutil.which("git") or "git", "archive", commit, "tritonobs/__init__.py", "tritonobs/stage"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    folder.mkdir(exist_ok=True)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def _pairs(shape: Shape, way: str, package: Path, options: argparse.Namespace) -> list[Pair]:
    pairs = []
    for _ in range(options.servers):
        with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
            repository = Path(scratch) / "repository"
            for model in (_BARE, way):
                _add_model(repository / model, shape, package)
            with lone_triton(repository, Path(scratch) / "triton") as server, apart(server):
                _load(server, (_BARE, way), options.concurrency, _WARM_SECONDS)
                for turn in range(options.pairs):
                    models = (_BARE, way) if turn % 2 else (way, _BARE)
                    found = _load(server, models, options.concurrency, options.window)
                    pairs.append(Pair(bare=found[_BARE], way=found[way]))
                    print(f"{shape} {turn=} {way}: {pairs[-1]}", file=sys.stderr)
    return pairs


def _load(
    server: LoneTriton, models: tuple[str, ...], concurrency: int, window_seconds: float
) -> dict[str, Reading]:
    """One reading of each model, one after the other."""
    found = {}
    for model in models:
        found[model] = measure(server, model, concurrency=concurrency, window_seconds=window_seconds)
        if model == _HISTOGRAM:
            time.sleep(_DRAIN_SECONDS)
    return found


def _add_model(folder: Path, shape: Shape, package: Path) -> None:
    (folder / "1").mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "overhead" / "model.py", folder / "1")
    config = CONFIG.format(
        instances=shape.instances,
        package=package,
        sink=folder.name if folder.name == _HISTOGRAM else "counters",
        work=shape.work,
    )
    (folder / "config.pbtxt").write_text(config, encoding="utf-8")


def _summary(pairs: list[Pair]) -> tuple[list[str], dict[str, object]]:
    served = [pair.way.throughput / pair.bare.throughput for pair in pairs]
    spent = [pair.bare.cpu_seconds_per_1000 / pair.way.cpu_seconds_per_1000 for pair in pairs]
    more = [1e3 * (pair.way.cpu_seconds_per_1000 - pair.bare.cpu_seconds_per_1000) for pair in pairs]
    row = [
        f"{statistics.median(pair.way.throughput for pair in pairs):,.0f}",
        _with_quartiles(served),
        _with_quartiles(spent),
        f"{statistics.median(more):.1f} µs",
    ]
    return row, {
        "of_bare": statistics.median(served),
        "of_bare_by_cpu": statistics.median(spent),
        "pairs": [asdict(pair) for pair in pairs],
    }


def _with_quartiles(ratios: list[float]) -> str:
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
