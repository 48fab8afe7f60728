"""Faults on the real stack: edited models, signals, client mixes, the repository and its configuration.

python -m planted.real STATE KEPT (in bench/; STATE is the folder of a stack for rehearsals that runs, KEPT
a folder)
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import requests
from perf import busy

from planted.fault import Truth
from tritonobs.extensions.lab.drill.rig import Rig, steady
from tritonobs.extensions.lab.stack.processes import Folders
from tritonobs.extensions.triage.saved import save_snapshot
from tritonobs.extensions.triage.snapshot import take_snapshot
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CALM_SECONDS, FAULT_SECONDS, SETTLE_SECONDS = 75.0, 75.0, 25.0
USUAL = (steady(2.0),)
BATCHING = "dynamic_batching { }"


def _worker(rig: Rig, model: str) -> psutil.Process:
    server = rig.part("triton").process()
    assert server
    for child in server.children(recursive=True):
        with suppress(psutil.Error):
            if any(f"/{model}/" in word for word in child.cmdline()):
                return child
    raise SystemExit(f"{model} has no worker")


@contextmanager
def edited(rig: Rig, model: str, old: str, new: str, file: str = "1/sample.py") -> Iterator[None]:
    """Code that is other, loaded in place."""
    path = rig.folders.models / model / file
    with rig.edited(path, lambda text: text.replace(old, new, 1)):
        rig.load(model)
        yield
    rig.load(model)


@contextmanager
def signalled(rig: Rig, model: str, number: int) -> Iterator[None]:
    """A worker that gets a signal."""
    worker = _worker(rig, model)
    os.kill(worker.pid, number)
    try:
        yield
    finally:
        with suppress(psutil.Error):
            worker.kill()
        rig.load(model)


@contextmanager
def _sent(rig: Rig, *streams: object) -> Iterator[None]:
    rig.traffic.switch(streams)  # type: ignore[arg-type] # streams of several kinds
    yield


@contextmanager
def _silent(rig: Rig) -> Iterator[None]:
    rig.traffic.stop()
    yield


@contextmanager
def _missing(rig: Rig) -> Iterator[None]:
    """Rolled out without what it imports: unloaded, and the load fails."""
    path = rig.folders.models / "nms" / "1" / "model.py"
    with rig.edited(path, lambda text: "import shapely_not_here\n" + text):
        rig.triton.unload("nms")
        time.sleep(2)
        with suppress(Exception):
            rig.triton.load("nms")
        yield
    rig.load("nms")
    rig.load("inspect_ensemble")


@contextmanager
def neighbour(_: Rig) -> Iterator[None]:
    """Five processes that take the processors."""
    with busy(5):
        yield


@contextmanager
def _version_two(rig: Rig) -> Iterator[None]:
    nms = rig.folders.models / "nms"
    shutil.copytree(nms / "1", nms / "2")
    model = nms / "2" / "sample.py"
    model.write_text(
        model.read_text().replace(
            "            responses = []",
            "            import time; time.sleep(0.08)\n            responses = []",
        )
    )
    try:
        rig.triton.load("nms")
        yield
    finally:
        shutil.rmtree(nms / "2")
        rig.load("nms")


_TOTAL = "        with self.stages.request(len(requests)) as counted:"
_FAILING = """        import random
        if random.random() < 0.25:
            raise RuntimeError("new code path")
"""
_RAISE = (_TOTAL, _FAILING + _TOTAL)
_SLOW = (
    "            responses = []",
    "            import time; time.sleep(0.06)\n            responses = []",
)

FAULTS: dict[str, tuple[Callable[[Rig], object], Truth]] = {
    "deploy-raises": (
        lambda rig: edited(rig, "nms", *_RAISE),
        Truth(
            checks=("reload", "bad_deploy"), places=(("nms", "1"),), advice="roll back", sentence="error|fail"
        ),
    ),
    "deploy-slower": (
        lambda rig: edited(rig, "nms", *_SLOW),
        Truth(
            checks=("reload", "bad_deploy"),
            places=(("nms", "1"),),
            advice="roll back",
            sentence="slower|longer|takes",
        ),
    ),
    "worker-stopped": (
        lambda rig: signalled(rig, "detector", signal.SIGSTOP),
        Truth(checks=("dead_worker",), places=(("detector", "1"),), advice="load"),
    ),
    "worker-killed": (
        lambda rig: signalled(rig, "preprocess", signal.SIGKILL),
        Truth(checks=("dead_worker",), places=(("preprocess", "1"),), advice="load"),
    ),
    "missing-dependency": (
        _missing,
        Truth(
            checks=("model_gone",), places=(("nms",),), advice="roll back|load", sentence="shapely_not_here"
        ),
    ),
    "png-instead-of-jpeg": (
        lambda rig: _sent(rig, steady(2.0, mix="png:4000x3000=1,1280x720=2")),
        Truth(checks=("larger_inputs",), places=(("preprocess", "1"),), advice="client"),
    ),
    "too-many": (
        lambda rig: _sent(rig, steady(9.5, mix="640x480")),
        Truth(checks=("qps_limit",), places=(("inspect",),), advice="client"),
    ),
    "nobody-asks": (
        _silent,
        Truth(checks=("upstream_drop",), places=(("inspect", "1"),), advice="upstream"),
    ),
    "batcher-waits": (
        lambda rig: rig.reconfigured(
            "nms",
            lambda text: text.replace(
                BATCHING,
                "dynamic_batching { max_queue_delay_microseconds: 150000 preferred_batch_size: [ 8 ] }",
            ),
        ),
        Truth(checks=("batch_delay",), places=(("nms", "1"),), advice="max_queue_delay"),
    ),
    "damaged-images": (
        lambda rig: _sent(rig, steady(2.0, mix="1280x720=2,empty=1")),
        Truth(checks=("error_surge",), places=(("preprocess", "1"),), advice="client"),
    ),
    "version-two-slower": (
        _version_two,
        Truth(checks=("slow_version",), places=(("nms", "2"),), advice="version 1|roll back"),
    ),
    "noisy-neighbour": (
        neighbour,
        Truth(checks=("slow_machine", "cpu_starved"), places=(("", ""),), advice="what else runs"),
    ),
}


SENT = frozenset({"png-instead-of-jpeg", "too-many", "damaged-images"})
"""What begins with the first request of another kind."""


def main() -> None:
    """Each fault once, the stack calm before each; what Prometheus scraped is kept to be judged again."""
    state, kept = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    wanted = sys.argv[3:] or list(FAULTS)
    kept.mkdir(parents=True, exist_ok=True)
    rig = Rig(Folders(root=state), str(state))
    try:
        settle(rig)
        for name in wanted:
            keep(rig, name, FAULTS[name][0], kept)
    finally:
        rig.traffic.stop()


def settle(rig: Rig) -> None:
    """Usual traffic until it is usual."""
    rig.traffic.switch(USUAL)
    time.sleep(SETTLE_SECONDS)


def keep(rig: Rig, name: str, cause: Callable[[Rig], object], kept: Path) -> None:
    """Plant it after a calm time, and write what was seen of it."""
    settle(rig)
    time.sleep(CALM_SECONDS)
    began = time.time()
    with cause(rig):  # type: ignore[attr-defined] # a context manager by its name
        loaded = time.time()
        time.sleep(max(0.0, FAULT_SECONDS - (loaded - began)))
        now = time.time()
        incident = Span(start=began - 15.0, end=now)
        baseline = Span(start=began - 15.0 - CALM_SECONDS, end=began - 15.0)
        snapshot = take_snapshot(rig.prometheus, rig.asked, incident=incident, baseline=baseline)
    # Prometheus is asked again when it is judged again; what stands beside it is kept.
    bare = replace(snapshot, now={}, before={}, trends={}, usual={}, asked={}, unseen=())
    save_snapshot(bare, kept / f"{name}.beside.json")
    record = {
        "began": began,
        "loaded": loaded,
        "now": now,
        "incident": [incident.start, incident.end],
        "baseline": [baseline.start, baseline.end],
        "series": _raw(rig, now, now - baseline.start + 30),
    }
    (kept / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(record).encode(), 9))
    print(
        time.strftime("%H:%M:%S"),
        name,
        "kept",
        f"{(kept / f'{name}.json.gz').stat().st_size / 1e3:.0f} kB",
        flush=True,
    )


def _raw(rig: Rig, at: float, seconds: float) -> list[object]:
    """Every sample of the replicas in these seconds, as Prometheus stored it."""
    # Buckets of traces are two thirds of all series, and no check judges by them.
    query = (
        '{__name__=~"nv_.*|tritonobs_[a-z_]*|up|scrape_samples_(scraped|post_metric_relabeling)", '
        f'__name__!="tritonobs_trace_duration_seconds_bucket"}}[{seconds:.0f}s]'
    )
    answer = requests.get(
        f"{rig.prometheus.address}/api/v1/query", params={"query": query, "time": f"{at:.3f}"}, timeout=60
    )
    answer.raise_for_status()
    return answer.json()["data"]["result"]


if __name__ == "__main__":
    threading.excepthook = lambda args: print("thread:", args.exc_value, file=sys.stderr)
    main()
