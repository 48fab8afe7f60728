"""What stage metrics cost a model: the same identity model bare and in other ways, side by side.

Each way and round has a server of its own, with that model and the bare one: where memory happens to lie
makes a difference of some percent from one process to the next. There the two are measured in turn, bare
first and then bare last, so that a machine that gets slower in between slows both alike. Figures are medians.

The client has one half of the cores, server and model instances the other: where they share all, the same run
differs by a fifth from one time to the next, and nobody can see two percent.

The histogram sink is measured apart (--histogram): what it has not passed on yet would slow the next reading
of the bare model, so a pause follows each of its own.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perf import Reading, apart, measure
from results import publish, table

from tritonobs.stack.alone import lone_triton

if TYPE_CHECKING:
    from tritonobs.stack.alone import LoneTriton

WAYS = ("clock", "counters", "direct", "prometheus")
NAMES = {
    "clock": "clock readings only",
    "counters": "tritonobs counters",
    "histogram": "tritonobs histogram",
    "direct": "pb_utils in execute",
    "prometheus": "prometheus_client",
}
_BARE, _HISTOGRAM = "bare", "histogram"
_WARM_SECONDS = 0.5
_DRAIN_SECONDS = 5.0
"""At most 20,000 values wait in a worker, and 5,000 a second are passed on (tritonobs/stage/flush.py)."""
_FLOOR = " No timer written in Python costs less than the clock readings."
CONFIG = """
backend: "python"
max_batch_size: 16
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 16 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 16 ] }} ]
instance_group [ {{ kind: KIND_CPU count: {instances} }} ]
{batching}
parameters {{ key: "metrics_sink" value {{ string_value: "{sink}" }} }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two readings of one server, one right after the other."""

    bare: Reading
    way: Reading


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--window", type=float, default=0.6, help="seconds; a run is three of them")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--histogram", action="store_true", help="the histogram sink instead of all others")
    parser.add_argument("--quick", action="store_true", help="one round, one instance: does it work at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    shapes = [(instances, batching) for instances in (1, 4) for batching in (False, True)]
    if options.quick:
        options.rounds, shapes = 1, [(1, False)]
    rows = []
    values = []
    for instances, batching in shapes:
        for way, pairs in _run(instances, batching, options).items():
            row, value = _summary(pairs)
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
        "CPU a request",
    ]
    text = (
        f"Three stages and one outcome a request; medians of {2 * options.rounds} pairs with the bare "
        f"model, on {options.rounds} servers, concurrency {options.concurrency}; client and server on "
        "cores of their own. The CPU is what server and model spend more than with the bare model."
        f"{'' if options.histogram else _FLOOR}\n\n{table(header, rows)}"
    )
    section = "stage_overhead histogram" if options.histogram else "stage_overhead"
    publish(section, text, values, as_json=options.json, write=options.write)


def _run(instances: int, batching: bool, options: argparse.Namespace) -> dict[str, list[Pair]]:  # noqa: FBT001 (one of two shapes)
    ways = (_HISTOGRAM,) if options.histogram else WAYS
    pairs: dict[str, list[Pair]] = {way: [] for way in ways}
    for turn in range(options.rounds):
        for way in ways:
            with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
                repository = Path(scratch) / "repository"
                for model in (_BARE, way):
                    _add_model(repository / model, model, instances, batching=batching)
                with lone_triton(repository, Path(scratch) / "triton") as server, apart(server):
                    _load(server, (_BARE, way), options.concurrency, _WARM_SECONDS)
                    for models in ((_BARE, way), (way, _BARE)):
                        found = _load(server, models, options.concurrency, options.window)
                        pairs[way].append(Pair(bare=found[_BARE], way=found[way]))
                        print(f"{instances=} {batching=} {turn=} {way}: {pairs[way][-1]}", file=sys.stderr)
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


def _add_model(folder: Path, way: str, instances: int, *, batching: bool) -> None:
    (folder / "1").mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "overhead" / "model.py", folder / "1")
    config = CONFIG.format(
        instances=instances,
        batching="dynamic_batching { }" if batching else "",
        sink=way if way == _HISTOGRAM else "counters",
    )
    (folder / "config.pbtxt").write_text(config, encoding="utf-8")


def _summary(pairs: list[Pair]) -> tuple[list[str], dict[str, object]]:
    middle = {
        field: statistics.median(getattr(pair.way, field) for pair in pairs)
        for field in ("throughput", "p50_seconds", "p99_seconds", "cpu_seconds_per_1000")
    }
    ratios = {
        field: statistics.median(getattr(pair.way, field) / getattr(pair.bare, field) for pair in pairs)
        for field in ("throughput", "p99_seconds", "cpu_seconds_per_1000")
    }
    extra_seconds = statistics.median(
        pair.way.cpu_seconds_per_1000 - pair.bare.cpu_seconds_per_1000 for pair in pairs
    )
    row = [
        f"{middle['throughput']:,.0f}",
        f"{ratios['throughput']:.3f}",
        f"{middle['p50_seconds'] * 1000:.2f} ms",
        f"{middle['p99_seconds'] * 1000:.2f} ms",
        f"{ratios['p99_seconds']:.3f}",
        f"{extra_seconds * 1000:.1f} µs",
    ]
    return row, {**middle, "ratios": ratios, "pairs": [asdict(pair) for pair in pairs]}


if __name__ == "__main__":
    main()
