"""Quantiles from traces against Triton's own summaries, and against every latency an open-loop client saw.

Summaries are of all requests in the last 48 s or more, inside the server, as traces are: errors are against
them. The client's times hold what HTTP takes on this machine, too. `chance` is where the true quantile of so
few samples may be (three standard deviations of its rank in what the client saw, as a share of its quantile).
Models: `short` takes 0.3 ms, `both` 20 ms or 0.2 s, `single` has one instance and a queue, `ensemble` is
`both` and `single`, `nested` calls a pipeline that calls `both`, `long` takes 1 s to 2 s.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import requests
from prometheus_client.parser import text_string_to_metric_families
from results import publish, table

from support.traced_models import add_caller, add_ensemble, add_timed
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.services import trace_flags
from tritonobs.plan.objectives import middle
from tritonobs.programs import LOOPBACK, free_ports
from tritonobs.timings.measured import bucket_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUANTILES = (0.5, 0.95, 0.99)
RATES = (1, 10, 100)
_EXPORT_SECONDS = 7.0
_WARM = 20
_DEVIATIONS = 3
_SUMMARIES = (
    "--metrics-config=summary_latencies=true",
    "--metrics-config=summary_quantiles=0.5:0.005,0.95:0.002,0.99:0.001",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How often a model is asked, and how long it is set to take."""

    model: str
    qps: float
    draw: Callable[[random.Random], float]


TRAFFIC = (
    Traffic(model="short", qps=40, draw=lambda _: 0.0003),
    Traffic(model="both", qps=15, draw=lambda chance: 0.02 if chance.random() < 0.85 else 0.2),
    Traffic(model="single", qps=20, draw=lambda chance: min(0.2, chance.lognormvariate(-4.2, 0.6))),
    Traffic(model="ensemble", qps=3, draw=lambda chance: chance.uniform(0.01, 0.05)),
    Traffic(model="nested", qps=5, draw=lambda chance: chance.expovariate(30)),
    Traffic(model="long", qps=1, draw=lambda chance: chance.uniform(1.0, 2.0)),
)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="of traffic at each rate; 48 and Triton forgets"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="tritonobs-bench-") as scratch:
        repository = Path(scratch) / "models"
        for name, instances in (("short", 2), ("both", 6), ("single", 1), ("long", 4)):
            add_timed(repository, name, instances=instances)
        add_ensemble(repository, "ensemble", "both", "single")
        add_caller(repository, "inner", "both", instances=2)
        add_caller(repository, "nested", "inner", instances=2)
        for rate in RATES:
            rows += _measure(repository, Path(scratch) / str(rate), rate, options.seconds)
    header = [
        "1 in",
        "model",
        "requests",
        "traced",
        "quantile",
        "client",
        "Triton",
        "traces",
        "error",
        "chance",
        "within",
    ]
    good, judged = (sum(row[-1] in words for row in rows) for words in ({"yes"}, {"yes", "no"}))
    text = f"{good} of {judged} quantiles are within 5 % or within chance.\n\n{table(header, rows)}"
    publish("traces_truth", text, rows, as_json=options.json, write=options.write)


def _measure(repository: Path, root: Path, rate: int, seconds: float) -> Iterator[list[str]]:
    (port,) = free_ports(1)
    receiver = f"http://{LOOPBACK}:{port}"
    flags = (*trace_flags(receiver=receiver, replica="a", rate=rate), *_SUMMARIES)
    with lone_triton(repository, root, extra=flags) as server:
        api = TritonClient(server.http_url)
        for each in TRAFFIC:
            # A counter of its own, or models would take each other's turns.
            api.trace(each.model, {"trace_level": ["TIMESTAMPS"], "trace_rate": str(rate)})
        fleet = root / "fleet.yaml"
        names = ", ".join(f"{each.model}: {{}}" for each in TRAFFIC)
        fleet.write_text(
            f'fleet: bench\nreplicas: [{{name: a, url: "{server.http_url}"}}]\nmodels: {{{names}}}\n'
            f'traces: {{receiver: "{receiver}"}}\n'
        )
        process = subprocess.Popen([sys.executable, "-m", "tritonobs", "traces", "serve", str(fleet)])
        try:
            _wait_for(f"{receiver}/healthz")
            asyncio.run(_send(server.http_url, _WARM / min(each.qps for each in TRAFFIC), 0))
            time.sleep(_EXPORT_SECONDS)
            before = _page(receiver)
            took = asyncio.run(_send(server.http_url, seconds, rate))
            summaries = _summaries(server.metrics_url)
            time.sleep(_EXPORT_SECONDS)
            after = _page(receiver)
        finally:
            process.terminate()
            process.wait()
    for each in TRAFFIC:
        found = _less(after, before, each.model)
        yield from _rows(each.model, rate, sorted(took[each.model]), found, summaries)


def _rows(
    model: str,
    rate: int,
    took: list[float],
    found: tuple[dict[float, float], float],
    summaries: dict[tuple[str, float], float],
) -> Iterator[list[str]]:
    buckets, samples = found
    for ratio in QUANTILES:
        seen, true = _at(took, ratio), summaries[model, ratio]
        row = [
            str(rate),
            model,
            f"{len(took):,}",
            f"{samples:.0f}",
            f"p{ratio * 100:g}",
            _ms(seen),
            _ms(true),
        ]
        quantile = bucket_quantile(ratio, buckets)
        if quantile is None:
            yield [*row, "-", "-", "-", "none traced"]
            continue
        read = middle(quantile)
        # The quantile of so many samples is one of them: its rank is known to one in all.
        spread = _DEVIATIONS * math.sqrt(ratio * (1 - ratio) / samples) + 1 / samples
        low, high = (true * _at(took, rank) / seen for rank in (ratio - spread, ratio + spread))
        error = read / true - 1
        well = abs(error) <= 0.05 or 0.95 * low <= read <= 1.05 * high
        yield [*row, _ms(read), f"{error:+.1%}", f"{_ms(low)} to {_ms(high)}", "yes" if well else "no"]


def _at(took: list[float], rank: float) -> float:
    """The time at a rank from 0 to 1 of sorted ones."""
    return took[min(len(took) - 1, max(0, math.ceil(rank * len(took)) - 1))]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


async def _send(url: str, seconds: float, seed: int) -> dict[str, list[float]]:
    """The latency of every request, from the moment it was due."""
    took: dict[str, list[float]] = {each.model: [] for each in TRAFFIC}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(
            *(_model(session, url, each, (seconds, seed), took[each.model]) for each in TRAFFIC)
        )
    return took


async def _model(
    session: aiohttp.ClientSession, url: str, traffic: Traffic, run: tuple[float, int], took: list[float]
) -> None:
    seconds, seed = run
    chance = random.Random(f"{traffic.model} {seed}")  # noqa: S311 (the same traffic every time)
    due, tasks = time.perf_counter(), []
    end = due + seconds
    while (due := due + chance.expovariate(traffic.qps)) < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(_one(session, url, traffic.model, traffic.draw(chance), took)))
    await asyncio.gather(*tasks)


async def _one(session: aiohttp.ClientSession, url: str, model: str, value: float, took: list[float]) -> None:
    body = {"inputs": [{"name": "SECONDS", "datatype": "FP32", "shape": [1, 1], "data": [value]}]}
    began = time.perf_counter()
    async with session.post(f"{url}/v2/models/{model}/infer", json=body) as answer:
        await answer.read()
        answer.raise_for_status()
    took.append(time.perf_counter() - began)


def _summaries(metrics_url: str) -> dict[tuple[str, float], float]:
    """What Triton itself says of the last requests: seconds, by model and quantile."""
    text = requests.get(metrics_url, timeout=10).text
    return {
        (sample.labels["model"], float(sample.labels["quantile"])): sample.value / 1e6
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "nv_inference_request_summary_us" and "quantile" in sample.labels
    }


def _page(receiver: str) -> dict[tuple[str, str], float]:
    """Of each model: cumulative counts by bound, and samples."""
    text = requests.get(f"{receiver}/metrics/traces", timeout=10).text
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith("_bucket") and sample.labels["phase"] == "request":
                found[sample.labels["model"], sample.labels["le"]] = sample.value
            elif sample.name.startswith("tritonobs_trace_samples"):
                found[sample.labels["model"], "samples"] = sample.value
    return found


def _less(
    after: dict[tuple[str, str], float], before: dict[tuple[str, str], float], model: str
) -> tuple[dict[float, float], float]:
    own = {key: value - before.get((model, key), 0) for (name, key), value in after.items() if name == model}
    samples = own.pop("samples", 0.0)
    return {float(bound): value for bound, value in own.items()}, samples


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while not _answers(url):
        if time.monotonic() > deadline:
            raise TimeoutError(url)
        time.sleep(0.1)


def _answers(url: str) -> bool:
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(url, timeout=1).ok
    return False


if __name__ == "__main__":
    main()
