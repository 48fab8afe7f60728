"""What the records of a request cost in a model that Triton has just woken, measured in one process.

Each request is served in another way than the one before, so other work of the machine is the same for
all, and the code of each way is as cold as it can be: medians of what `execute` took, less the bare one. `of
bare` adds that to the CPU that server and model spend on a bare request; the flush is in bench/bounds.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from perf import apart, measure
from results import publish, table
from stage_overhead import RELEASE_0_5_0, WAYS, unpack

from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.stage import cells

OVERHEAD = Path(__file__).parent / "overhead"
CONFIG = """
backend: "python"
max_batch_size: 0
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 16 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 16 ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
parameters {{ key: "package" value {{ string_value: "{package}" }} }}
parameters {{ key: "result" value {{ string_value: "{result}" }} }}
parameters {{ key: "work" value {{ string_value: "0" }} }}
"""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    if not cells.COMPILED:
        raise SystemExit(
            f"this compares the compiled record path, and here it is {cells.record_path()}; run: make setup"
        )
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        took, bare_seconds = _serve(Path(scratch), options.seconds)
    middle = {name: statistics.median(each) for name, each in took.items()}
    more = {name: seconds - middle["bare"] for name, seconds in middle.items() if name != "bare"}
    rows = [
        [
            WAYS[name],
            f"{1e6 * extra:.1f} µs",
            f"{bare_seconds / (bare_seconds + extra):.3f}",
            f"{0.002 / (0.002 + extra):.4f}",
        ]
        for name, extra in more.items()
    ]
    text = (
        f"Five timers, items and an outcome a request; medians of {len(took['bare']):,} requests each. A "
        f"bare no-op request takes {1e6 * bare_seconds:.0f} µs of CPU of server and model. "
        f"Load of the machine: {os.getloadavg()[0]:.0f}.\n\n"
        f"{table(['way', 'more in execute', 'of bare, no-op', 'of bare, 2 ms'], rows)}"
    )
    values = {"more_seconds": more, "bare_cpu_seconds": bare_seconds}
    publish("interleaved", text, values, as_json=options.json, write=options.write)


def _serve(scratch: Path, seconds: float) -> tuple[dict[str, list[float]], float]:
    """What each way took, request by request, and the CPU seconds of a bare request."""
    unpack(RELEASE_0_5_0, scratch / "package")
    result = scratch / "result.json"
    repository = scratch / "repository"
    for model in ("mixed", "bare"):
        (repository / model / "1").mkdir(parents=True)
        config = CONFIG.format(package=scratch / "package", result=result)
        (repository / model / "config.pbtxt").write_text(config, encoding="utf-8")
    shutil.copy(OVERHEAD / "interleaved.py", repository / "mixed" / "1" / "model.py")
    shutil.copy(OVERHEAD / "model.py", repository / "mixed" / "1" / "ways.py")
    shutil.copy(OVERHEAD / "model.py", repository / "bare" / "1" / "model.py")
    with lone_triton(repository, scratch / "triton") as server:
        with apart(server):
            measure(server, "bare", concurrency=8, window_seconds=0.5)
            bare = [
                measure(server, "bare", concurrency=8, window_seconds=1).cpu_seconds_per_1000 for _ in "123"
            ]
            measure(server, "mixed", concurrency=8, window_seconds=seconds / 3)
        from tritonobs.clients.triton import TritonClient  # noqa: PLC0415 (opens gevent's sockets)

        api = TritonClient(server.http_url, timeout_seconds=60)
        api.unload("mixed")
        while not result.exists():
            server.require_alive()
        api.close()
    took: dict[str, list[float]] = json.loads(result.read_text(encoding="utf-8"))
    return took, statistics.median(bare) / 1000


if __name__ == "__main__":
    main()
