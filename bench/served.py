"""The whole of `inspect` on a running server, against one model that does the same the plain way.

Both with perf_analyzer, in rounds: each round measures either once, in turning order. `inspect` is four
models with stage metrics that call one another; the plain way (served_plainly/model.py) is one model without
metrics. Images a second and core are 1 / CPU seconds of server and workers per image.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import statistics
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from perf import Reading, measure
from results import publish, table

from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.load.images import jpeg
from tritonobs.extensions.lab.load.plates import draw_plate
from tritonobs.extensions.lab.stack.native import lone_triton

if TYPE_CHECKING:
    from tritonobs.extensions.lab.stack.native import LoneTriton

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
SIZES = ((640, 640), (1920, 1080), (4000, 3000))
WAYS = {"inspect": "inspect", "plain": "one plain model"}
CONFIG = """
backend: "python"
max_batch_size: 8
input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "RESULT" data_type: TYPE_STRING dims: [ 1 ] } ]
dynamic_batching { }
instance_group [ { kind: KIND_CPU count: 1 } ]
"""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=2.0, help="seconds; a run is three of them")
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one round of one size: does it work at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    sizes = SIZES
    if options.quick:
        options.rounds, options.window, sizes = 1, 1.0, SIZES[:1]
    rows, values = [], []
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        repository = _repository(Path(scratch) / "repository")
        with lone_triton(repository, Path(scratch) / "triton") as server:
            client = TritonClient(server.http_url)
            assert all(client.model_ready(way) for way in WAYS)
            client.close()
            for width, height in sizes:
                data = _image(Path(scratch) / f"{width}x{height}.json", width, height)
                readings = _rounds(server, data, options)
                for way, name in WAYS.items():
                    row, value = _summary(way, readings)
                    rows.append([f"{width}x{height}", name, *row])
                    values.append({"size": [width, height], "way": way, **value})
    header = ["JPEG", "way", "images/s", "p50", "p99", "images/s a core", "against plain"]
    text = f"Medians of {options.rounds} rounds, concurrency {options.concurrency}.\n\n{table(header, rows)}"
    publish("served", text, values, as_json=options.json, write=options.write)


def _repository(folder: Path) -> Path:
    """The project's models and the plain one."""
    shutil.copytree(MODELS, folder)
    version = folder / "plain" / "1"
    version.mkdir(parents=True)
    for source in (
        HERE / "served_plainly" / "model.py",
        HERE / "plain.py",
        MODELS / "detector" / "1" / "network.py",
        MODELS / "detector" / "1" / "model.onnx",
    ):
        shutil.copy(source, version)
    (folder / "plain" / "config.pbtxt").write_text(CONFIG, encoding="utf-8")
    return folder


def _image(path: Path, width: int, height: int) -> Path:
    """A drawn plate in the form perf_analyzer reads."""
    body = jpeg(draw_plate(np.random.default_rng(5), width=width, height=height).pixels)
    element = struct.pack("<I", len(body)) + body  # as on the wire: perf_analyzer passes it on untouched
    content = [{"IMAGE": {"content": {"b64": base64.b64encode(element).decode()}, "shape": [1]}}]
    path.write_text(json.dumps({"data": content}), encoding="utf-8")
    return path


def _rounds(server: LoneTriton, data: Path, options: argparse.Namespace) -> dict[str, list[Reading]]:
    readings: dict[str, list[Reading]] = {way: [] for way in WAYS}
    for turn in range(options.rounds):
        for way in list(WAYS) if turn % 2 else reversed(WAYS):
            reading = measure(
                server, way, concurrency=options.concurrency, window_seconds=options.window, data=data
            )
            readings[way].append(reading)
            print(f"{data.stem} {turn=} {way}: {reading}", file=sys.stderr)
    return readings


def _summary(way: str, readings: dict[str, list[Reading]]) -> tuple[list[str], dict[str, float]]:
    middle = {
        field: statistics.median(getattr(reading, field) for reading in readings[way])
        for field in ("throughput", "p50_seconds", "p99_seconds", "cpu_seconds_per_1000")
    }
    ratio = statistics.median(
        plain.cpu_seconds_per_1000 / mine.cpu_seconds_per_1000
        for mine, plain in zip(readings[way], readings["plain"], strict=True)
    )
    row = [
        f"{middle['throughput']:.1f}",
        f"{middle['p50_seconds'] * 1e3:.1f} ms",
        f"{middle['p99_seconds'] * 1e3:.1f} ms",
        f"{1000 / middle['cpu_seconds_per_1000']:.1f}",
        f"{ratio:.2f}",
    ]
    return row, {**middle, "images_per_core_ratio": ratio}


if __name__ == "__main__":
    main()
