"""Reloads, unloads, kills and changing instance counts under full load: nothing dies, all is counted.

For each phase it compares, outcome by outcome, the answers of clients with what a Prometheus that scrapes
every second recorded, and it watches the memory of the server and its workers. `--bare` runs the same without
stages, to tell whose memory is whose. Exit status 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from results import publish, table
from soak_rig import SCRAPE_SECONDS, Phase, Soak, prometheus_on, write_config

from tritonobs.extensions.lab.stack.native import lone_triton

INSTANCES = 4
FLUSH_SECONDS = 1.0


def steady(_soak: Soak, seconds: int) -> None:
    """Load and nothing else."""
    time.sleep(seconds)


def reloads(soak: Soak, times: int) -> None:
    """Reload in place, one after the other."""
    for _ in range(times):
        soak.reload()


def instance_counts(soak: Soak, times: int) -> None:
    """Change the number of model instances, and back again."""
    for turn in range(times):
        for count in ((2, 6, 1)[turn % 3], INSTANCES):
            soak.set_instances(count)
            time.sleep(1)


def kills(soak: Soak, times: int) -> None:
    """Kill a worker, look at the errors for a second, and bring new ones by a reload.

    Triton never answers the request the worker had, and keeps the old model instances waiting for it.
    """
    for _ in range(times):
        time.sleep(4)
        soak.workers()[-1].kill()
        time.sleep(1)
        soak.reload()


def unloads(soak: Soak, times: int) -> Phase:
    """Serve for a second, stop the clients, unload, load, and so on; one phase out of many."""
    whole = Phase(name="unload, load", times=times)
    for turn in range(times):
        phase = soak.phase(f"unload, load {turn + 1}", 1, steady)
        soak.unload()
        soak.reload()
        whole.seconds += phase.seconds
        whole.began, whole.ended = whole.began or phase.began, phase.ended
        whole.answered = dict(Counter(whole.answered) + Counter(phase.answered))
        whole.recorded = dict(Counter(whole.recorded) + Counter(phase.recorded))
        whole.unexpected |= phase.unexpected
    return whole


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true", help="under a minute, for CI")
    parser.add_argument(
        "--bare", action="store_true", help="without stages and accounts, for the memory alone"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    model = "bare" if options.bare else "soaked"
    with tempfile.TemporaryDirectory(prefix="tritonobs-soak-") as scratch:
        root = Path(scratch)
        folder = root / "repository" / model
        (folder / "1").mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "soaked" / "model.py", folder / "1")
        write_config(folder, INSTANCES)
        variables = {"TRITONOBS_SCRAPE_INTERVAL_SECONDS": str(SCRAPE_SECONDS)}
        with lone_triton(root / "repository", root / "triton", variables=variables) as server:
            watched = nullcontext() if options.bare else prometheus_on(server, root / "prometheus")
            with watched as prometheus:
                soak = Soak(server, folder, model, prometheus)
                with soak.memory_watched():
                    phases = _run(soak, short=options.short)
    _report(phases, soak.memory, options)


def _run(soak: Soak, *, short: bool) -> list[Phase]:
    seconds, reloading, unloading, killing, counts = (2, 2, 1, 1, 1) if short else (180, 100, 20, 5, 6)
    # A killed worker loses what it did since its last flush; one comes every second and takes a moment.
    kill_share = killing * 1.2 * FLUSH_SECONDS / INSTANCES
    return [
        soak.phase("steady", seconds, steady),
        soak.phase("reload in place", reloading, reloads),
        unloads(soak, unloading),
        soak.phase("instance count", counts, instance_counts),
        soak.phase("worker killed", killing, kills, kill_share=kill_share),
        soak.phase("steady again", seconds, steady),
    ]


def _memory(memory: list[tuple[float, int, int]], phase: Phase, at: int) -> tuple[str, float]:
    """Of the server (1) or a worker (2) in a phase: MiB at its begin and end, and growth in its second half.

    Growth is the last tenth of the second half against its first tenth, medians, as a share.
    """
    sizes = [row[at] for row in memory if phase.began <= row[0] <= phase.ended]
    if not sizes:
        return "-", 0.0
    half = sizes[len(sizes) // 2 :]
    tenth = max(1, len(half) // 10)
    growth = statistics.median(half[-tenth:]) / statistics.median(half[:tenth]) - 1
    return f"{sizes[0] / 2**20:.0f} to {sizes[-1] / 2**20:.0f} MiB", growth


def _report(phases: list[Phase], memory: list[tuple[float, int, int]], options: argparse.Namespace) -> None:
    header = [
        "phase",
        "times, s",
        "took",
        "answered",
        "recorded",
        "lost",
        "explained errors",
        "others",
        "kept",
    ]
    header += ["server", "a worker"]
    rows = [
        [
            phase.name,
            str(phase.times),
            f"{phase.seconds:.0f} s",
            *(f"{sum(counts.values()):,}" for counts in (phase.answered, phase.recorded)),
            str(phase.lost) + (f" (may lose {phase.may_lose})" if phase.may_lose else ""),
            str(phase.explained),
            str(sum(phase.unexpected.values())),
            "yes" if phase.kept else "NO",
            *(_memory(memory, phase, at)[0] for at in (1, 2)),
        ]
        for phase in phases
    ]
    growth = {name: _memory(memory, phases[-1], at)[1] for name, at in (("server", 1), ("worker", 2))}
    text = (
        f"{INSTANCES} model instances, full load, 0 server crashes.\n\n{table(header, rows)}\n\n"
        f"Memory in the second half of the last phase: server {growth['server']:+.1%}, "
        f"a worker {growth['worker']:+.1%}."
    )
    values = {
        "phases": [{**asdict(phase), "lost": phase.lost, "kept": phase.kept} for phase in phases],
        "growth": growth,
        "memory": memory,
    }
    publish("soak_bare" if options.bare else "soak", text, values, as_json=options.json, write=options.write)
    sys.exit(0 if all(phase.kept for phase in phases) else 1)


if __name__ == "__main__":
    main()
