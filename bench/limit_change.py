"""How soon a changed limit is in force: by hand in the file, by command, by annotation, on a running stack.

In force is what the rules compare with: `subject:tritonobs_qps_limit:held` in Prometheus.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from results import publish, table

from support.kubernetes import KubernetesDouble
from tritonobs import assets, names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from collections.abc import Callable

ALLOWED_SECONDS = 10
_GIVE_UP_SECONDS = 60
_LOOK_SECONDS = 0.1
_PAUSE_SECONDS = 1.3  # so that changes do not keep step with scrapes every 5 s


def main() -> int:
    """Run what the command line asks for; 1 when a change took longer than is allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, KubernetesDouble() as cluster:
        seconds = _measure(Path(folder), cluster, options.rounds)
    rows = [[way, f"{statistics.median(took):.1f} s", f"{max(took):.1f} s"] for way, took in seconds.items()]
    publish(
        "limit_change",
        f"From the change to the value the rules compare with; scraped and evaluated every 5 s, "
        f"{options.rounds} changes each way.\n\n{table(['changed by', 'median', 'longest'], rows)}",
        seconds,
        as_json=options.json,
        write=options.write,
    )
    return int(max(map(max, seconds.values())) > ALLOWED_SECONDS)


def _measure(folder: Path, cluster: KubernetesDouble, rounds: int) -> dict[str, list[float]]:
    (folder / "token").write_text(cluster.token, encoding="utf-8")
    fleet = folder / "fleet.yaml"
    example = (assets.folder("examples") / "fleet.yaml").read_text(encoding="utf-8")
    watched = f"\nkubernetes: {{api: '{cluster.url}', token_file: '{folder / 'token'}'}}\n"
    fleet.write_text(example + watched, encoding="utf-8")
    running = local.start(fleet, Folders(root=folder / "state"), print, robot_double=True, move_ports=True)
    try:
        prometheus = PrometheusClient(running.address("prometheus"))
        ways: dict[str, tuple[str, Callable[[int], None]]] = {
            "hand": ("inspect", lambda qps: _edit(running.fleet_file, qps)),
            "command": ("preprocess", lambda qps: _set(running.fleet_file, qps)),
            "annotation": (
                "nms",
                lambda qps: cluster.annotate("shop", "nms", {names.MAX_QPS_ANNOTATION: str(qps)}),
            ),
        }
        _until(prometheus, "inspect", 8)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds):
            for place, (way, (model, change)) in enumerate(ways.items()):
                # Apart from what the pipelines make of the other two.
                qps = 7 * (place + 1) ** 2 + number
                time.sleep(_PAUSE_SECONDS)
                started = time.monotonic()
                change(qps)
                _until(prometheus, model, qps)
                seconds[way].append(time.monotonic() - started)
    finally:
        local.stop(running)
    return seconds


def _edit(fleet: Path, qps: int) -> None:
    text = fleet.read_text(encoding="utf-8")
    changed = re.sub(r"(\n  inspect:.*?qps_limit: )\d+", rf"\g<1>{qps}", text, count=1, flags=re.DOTALL)
    fleet.write_text(changed, encoding="utf-8")


def _set(fleet: Path, qps: int) -> None:
    command = [sys.executable, "-m", "tritonobs", "limits", "set", str(fleet), str(qps)]
    subprocess.run([*command, "--model", "preprocess", "--reason", "bench"], check=True, capture_output=True)


def _until(prometheus: PrometheusClient, model: str, qps: int) -> None:
    """Wait until the limit of the model is this; the end of the program when it never is."""
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    question = f'{names.LIMIT_HELD}{{model="{model}",version=""}} == {qps}'
    while not prometheus.query(question):
        if time.monotonic() > deadline:
            sys.exit(f"{model} has no limit of {qps} after {_GIVE_UP_SECONDS} s")
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
