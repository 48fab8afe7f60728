"""What stage metrics cost a model: the same identity model bare and in four ways, side by side.

Runs in rounds: each round measures every way once, in turning order, and is compared with the bare run of its
own round, so that a machine that gets slower in between slows all alike. Figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from perf import Reading, measure
from results import publish, table

from tritonobs.clients.triton import TritonClient
from tritonobs.stack.alone import LoneTriton, lone_triton

WAYS = ("bare", "counters", "histogram", "direct", "prometheus")
NAMES = {
    "bare": "bare",
    "counters": "tritonobs counters",
    "histogram": "tritonobs histogram",
    "direct": "pb_utils in execute",
    "prometheus": "prometheus_client",
}
CONFIG = """
backend: "python"
max_batch_size: 16
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 16 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 16 ] }} ]
instance_group [ {{ kind: KIND_CPU count: {instances} }} ]
{batching}
parameters {{ key: "metrics_sink" value {{ string_value: "{sink}" }} }}
"""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=2.0, help="seconds; a run is three of them")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="one round, one instance: does it work at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    shapes = [(instances, batching) for instances in (1, 4) for batching in (False, True)]
    if options.quick:
        options.rounds, options.window, shapes = 1, 1.0, [(1, False)]
    rows = []
    values = []
    for instances, batching in shapes:
        readings = _run(instances, batching, options)
        for way in WAYS:
            row, value = _summary(way, readings)
            rows.append([str(instances), "yes" if batching else "no", NAMES[way], *row])
            values.append({"instances": instances, "batching": batching, "way": way, **value})
    header = [
        "instances",
        "batching",
        "way",
        "req/s",
        "of bare",
        "p50",
        "p99",
        "p99 of bare",
        "CPU s / 1,000",
    ]
    text = (
        f"Three stages and one outcome a request; medians of {options.rounds} rounds, "
        f"concurrency {options.concurrency}.\n\n{table(header, rows)}"
    )
    publish("stage_overhead", text, values, as_json=options.json, write=options.write)


def _run(instances: int, batching: bool, options: argparse.Namespace) -> dict[str, list[Reading]]:  # noqa: FBT001 (one of two shapes)
    readings: dict[str, list[Reading]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        repository = Path(scratch) / "repository"
        for way in WAYS:
            _add_model(repository / way, way, instances, batching=batching)
        with lone_triton(repository, Path(scratch) / "triton") as server:
            _warm(server, options)
            for turn in range(options.rounds):
                for at in range(len(WAYS)):
                    way = WAYS[(turn + at) % len(WAYS)]
                    reading = measure(
                        server, way, concurrency=options.concurrency, window_seconds=options.window
                    )
                    readings[way].append(reading)
                    print(f"{instances=} {batching=} {turn=} {way}: {reading}", file=sys.stderr)
    return readings


def _add_model(folder: Path, way: str, instances: int, *, batching: bool) -> None:
    (folder / "1").mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "overhead" / "model.py", folder / "1")
    config = CONFIG.format(
        instances=instances,
        batching="dynamic_batching { }" if batching else "",
        sink=way if way == "histogram" else "counters",
    )
    (folder / "config.pbtxt").write_text(config, encoding="utf-8")


def _warm(server: LoneTriton, options: argparse.Namespace) -> None:
    client = TritonClient(server.http_url)
    assert all(client.model_ready(way) for way in WAYS)
    client.close()
    for way in WAYS:
        measure(server, way, concurrency=options.concurrency, window_seconds=1.0)


def _summary(way: str, readings: dict[str, list[Reading]]) -> tuple[list[str], dict[str, object]]:
    pairs = list(zip(readings[way], readings["bare"], strict=True))
    middle = {
        field: statistics.median(getattr(reading, field) for reading in readings[way])
        for field in ("throughput", "p50_seconds", "p99_seconds", "cpu_seconds_per_1000")
    }
    throughput_ratio = statistics.median(one.throughput / bare.throughput for one, bare in pairs)
    p99_ratio = statistics.median(one.p99_seconds / bare.p99_seconds for one, bare in pairs)
    row = [
        f"{middle['throughput']:,.0f}",
        f"{throughput_ratio:.3f}",
        f"{middle['p50_seconds'] * 1000:.2f} ms",
        f"{middle['p99_seconds'] * 1000:.2f} ms",
        f"{p99_ratio:.3f}",
        f"{middle['cpu_seconds_per_1000']:.3f}",
    ]
    runs = [asdict(reading) for reading in readings[way]]
    return row, {**middle, "throughput_ratio": throughput_ratio, "p99_ratio": p99_ratio, "runs": runs}


if __name__ == "__main__":
    main()
