"""The practice stack for an hour and more: what clients sent beside what every part counted of it.

Every request is traced. A model is loaded again every five minutes, Prometheus misses scrapes every seven;
one image in fifty is damaged all the time, and for a quarter of an hour one inference in ten fails.
"""

from __future__ import annotations

import itertools
import json
import re
import signal
import tempfile
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
from hours_seen import failed_exports, held_by, lines, watched
from results import table

from tritonobs import names
from tritonobs.clients.exposition import read_page
from tritonobs.errors import TritonobsError
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hours_seen import Held

    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.extensions.lab.load.schedule import LoadResult

_ENSEMBLE = "inspect_ensemble"
_QPS = {"inspect": 2.0, _ENSEMBLE: 1.5}
_MIX = "640x480=49,corrupt=1"
_RELOAD_SECONDS, _MISS_SECONDS, _MISSED_SECONDS = 300.0, 420.0, 12.0
_RELOADED = ("preprocess", "detector", "nms")
_FAILING = {"detector": {"infer": {"share": 0.1}}}
_FAILS_FROM, _FAILS_TO = 0.3, 0.45
"""Of the whole run."""
_SETTLE_SECONDS = 420.0
"""Until what the last requests have done to budgets has been evaluated, and the last news has been told."""
_SCRAPE_SECONDS = 5.0
_NEWS = re.compile(r"(🔴|🟠|🔵|✅) ?(?:\*\*)?(Triton\w+|Tritonobs\w+|Watchdog)")


@dataclass(slots=True)
class _Counted:
    """What Triton counted of each model, read every second from outside; a load begins its counters again."""

    url: str
    last: dict[tuple[str, str], float] = field(default_factory=dict)
    total: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.ended.wait(1):
            # The last look is what counts.
            with suppress(TritonobsError):
                self.look()

    def look(self) -> None:
        """Read the page once more."""
        page = read_page(self.url, prefixes=(names.TRITON_SUCCESS, names.TRITON_FAILURE))
        rows: defaultdict[tuple[str, str], float] = defaultdict(float)
        for one in page.samples:
            # What fails in an ensemble Triton counts twice.
            ensemble = one.labels["model"] == _ENSEMBLE and one.name == names.TRITON_FAILURE
            rows[one.labels["model"], one.name] += one.value / (2 if ensemble else 1)
        for key, value in rows.items():
            before = self.last.get(key, 0.0)
            self.total[key[0]] += value - before if value >= before else value
            self.last[key] = value


def run(minutes: float) -> tuple[str, dict[str, Any], bool]:
    """The soak; its tables, its values, and whether all was kept."""
    with tempfile.TemporaryDirectory(prefix="tritonobs-hours-") as scratch:
        folders = Folders(root=Path(scratch))
        # At production speed: windows and waits are those of everyone.
        local.start(None, folders, lambda _: None, move_ports=True, drills_speed=1.0)
        try:
            return _soak(Rig(folders, "here"), minutes)
        finally:
            native.down(folders)


def _soak(rig: Rig, minutes: float) -> tuple[str, dict[str, Any], bool]:
    prometheus, began = rig.prometheus, time.time()
    counted = _Counted(rig.replica.metrics_url)
    # Budgets are charged of requests that came after the first page.
    time.sleep(6 * _SCRAPE_SECONDS)
    watching = threading.Thread(target=counted.watch)
    watching.start()
    with watched(lambda: _held(rig, prometheus)) as seen, ThreadPoolExecutor(len(_QPS) + 1) as pool:
        loads = {model: pool.submit(_load, rig, model, minutes) for model in _QPS}
        trouble = pool.submit(_trouble, rig, 60 * minutes)
        results = {model: load.result() for model, load in loads.items()}
        reloads, misses = trouble.result()
    time.sleep(_SETTLE_SECONDS)
    counted.ended.set()
    watching.join()
    counted.look()
    native.require_alive(native.known(rig.folders))
    span = f"[{time.time() - began + 60:.0f}s]"
    numbers, kept = _numbers(rig, prometheus, results, counted, span)
    alerts, told = _alerts(rig, prometheus, began)
    logs = {part.name: lines(Path(part.log)) for part in native.known(rig.folders)}
    exports = failed_exports(Path(rig.part("triton").log))
    text = (
        f"{minutes:g} minutes, {reloads} loads in place, {misses} times no scrape for {_MISSED_SECONDS:g} s; "
        f"{_FAILS_TO - _FAILS_FROM:.0%} of the time one inference in ten fails.\n\n"
        f"{table(('', *_QPS), numbers)}\n\n"
        f"{table(('alert', 'starts', 'told firing', 'told resolved', 'fires at the end'), told)}\n\n"
        f"{seen.table()}\n\n"
        f"Lines of logs: {', '.join(f'{name} {count:,}' for name, count in logs.items())}. "
        f"Failed exports of spans: {exports}."
    )
    values = {"numbers": numbers, "alerts": alerts, "told": told, "held": seen.rows(), "logs": logs}
    return text, values, kept and exports == 0


def _load(rig: Rig, model: str, minutes: float) -> LoadResult:
    return run_load(
        LoadPlan(
            segments=(Segment(qps=_QPS[model], seconds=60 * minutes),),
            urls=(rig.replica.http_url,),
            model=model,
            mix=parse_mix(_MIX),
            seed=len(model),
            timeout_seconds=60.0,
        )
    )


def _trouble(rig: Rig, seconds: float) -> tuple[int, int]:
    """Loads in place, scrapes that are missed, inferences that fail; how many loads and misses there were."""
    began, reloads, misses = time.monotonic(), 0, 0
    models = itertools.cycle(_RELOADED)
    load_at, miss_at = began + _RELOAD_SECONDS, began + _MISS_SECONDS
    with rig.faults({}):
        failing = False
        while (now := time.monotonic()) < began + seconds - _RELOAD_SECONDS / 5:
            wanted = _FAILS_FROM * seconds <= now - began < _FAILS_TO * seconds
            if wanted != failing:
                failing = wanted
                _set(rig, _FAILING if failing else {})
            if now >= load_at:
                rig.load(next(models))
                reloads, load_at = reloads + 1, load_at + _RELOAD_SECONDS
            if now >= miss_at:
                _miss(rig)
                misses, miss_at = misses + 1, miss_at + _MISS_SECONDS
            time.sleep(0.5)
    return reloads, misses


def _set(rig: Rig, faults: Mapping[str, object]) -> None:
    rig.folders.faults_file.write_text(json.dumps(faults), encoding="utf-8")


def _miss(rig: Rig) -> None:
    """Prometheus neither scrapes nor evaluates for a while."""
    process = rig.part("prometheus").process()
    assert process
    process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(_MISSED_SECONDS)
    finally:
        process.send_signal(signal.SIGCONT)


def _held(rig: Rig, prometheus: PrometheusClient) -> dict[str, Held]:
    held = {}
    for part in native.known(rig.folders):
        folder = rig.folders.data / part.name
        held[part.name] = held_by(part.pid, folder if folder.exists() else None)
    # It does not answer while it misses scrapes.
    with suppress(TritonobsError):
        series = prometheus.query("prometheus_tsdb_head_series")
        held["prometheus"]["series"] = sum(one.value for one in series)
    return held


def _damaged(result: LoadResult) -> int:
    return sum(image.sent for image in result.images if image.kind == "corrupt")


def _numbers(
    rig: Rig,
    prometheus: PrometheusClient,
    results: Mapping[str, LoadResult],
    counted: _Counted,
    span: str,
) -> tuple[list[list[str]], bool]:
    """What was counted where, and whether it is what was sent."""

    def read(query: str) -> dict[str, float]:
        return {one.labels["model"]: one.value for one in prometheus.query(query)}

    counts = 'slo:sli_{kind}_requests:increase{{version="",slo="availability"}}{span}'
    budget = f"sum by (model) (sum_over_time({counts}))"
    page = requests.get(f"{rig.part('serve').url}".rstrip("/") + "/metrics/traces", timeout=30).text
    traced = {
        model: sum(
            float(line.split(" # ")[0].rpartition(" ")[2])
            for line in page.splitlines()
            if line.startswith(f"{names.TRACE_REQUESTS}{{") and f'model="{model}"' in line
        )
        for model in results
    }
    failed = {model: sum(one.count for one in result.errors) for model, result in results.items()}
    stages = read(f"sum by (model) (max_over_time({names.REQUESTS}{span}))")
    total, bad = (read(budget.format(kind=kind, span=span)) for kind in ("valid", "bad"))
    rows: dict[str, Mapping[str, float]] = {
        "sent": {model: result.sent for model, result in results.items()},
        "answered": {model: result.ok + failed[model] for model, result in results.items()},
        "counted by Triton, read every second": counted.total,
        "told by the model's stages, last values in Prometheus": stages,
        "traced, counted by the receiver": traced,
        "requests of its availability budget": total,
        "failed": failed,
        "of these damaged images": {model: _damaged(result) for model, result in results.items()},
        "charged to its availability budget": bad,
    }
    good = True
    for model, result in results.items():
        real = failed[model] - _damaged(result)
        good &= result.sent == result.ok + failed[model] == traced[model]
        good &= model not in stages or stages[model] == result.sent
        # What is bad input counts for no budget.
        valid = result.sent - _damaged(result)
        good &= abs(total.get(model, 0) / valid - 1) <= 0.02
        good &= abs(bad.get(model, 0) - real) <= max(2, 0.02 * real)
    return [
        [what, *(f"{values[model]:,.0f}" if model in values else "" for model in _QPS)]
        for what, values in rows.items()
    ], good


def _alerts(rig: Rig, prometheus: PrometheusClient, began: float) -> tuple[dict[str, int], list[list[str]]]:
    """Of each alert: how often it started, was told to fire and to have ended, and whether it fires on."""
    end = time.time()
    rows = prometheus.query_range(
        'ALERTS{alertstate="firing",alertname!="Watchdog"}',
        start=began,
        end=end,
        step_seconds=_SCRAPE_SECONDS,
    )
    starts: Counter[str] = Counter()
    going_on: Counter[str] = Counter()
    for row in rows:
        times = [at for at, _ in row.points]
        starts[row.labels["alertname"]] += 1 + sum(
            after - before > 2 * _MISSED_SECONDS for before, after in itertools.pairwise(times)
        )
        going_on[row.labels["alertname"]] += times[-1] > end - 2 * _SCRAPE_SECONDS
    messages = requests.get(rig.part("robot").url, timeout=30).json()
    told = Counter(
        (alert, "resolved" if icon == "✅" else "firing")
        for message in messages
        for icon, alert in _NEWS.findall(message["text"])
    )
    alerts = sorted(set(starts) | {alert for alert, _ in told})
    rows_told = [
        [alert, *map(str, (starts[alert], told[alert, "firing"], told[alert, "resolved"], going_on[alert]))]
        for alert in alerts
    ]
    return dict(starts), [*rows_told, ["messages in all", "", str(len(messages)), "", ""]]
