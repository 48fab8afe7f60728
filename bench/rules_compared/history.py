"""A day of counters and of what our rules recorded of them, as blocks of Prometheus; and what follows."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ROW = 'job="triton",instance="triton-{replica}:8002",replica="triton-{replica}",model="m{model}",version="1"'
RATE, ERROR_SHARE, SLOW_SHARE = 5.0, 0.0005, 0.004
OBJECTIVES = {"availability": 0.999, "latency": 0.99}


_BLOCK_SECONDS = 7200
_LAST_SECONDS = 75 * 60
"""Long enough for every rule that reads an hour, which ends 10 m ago."""
_RECORDED_SECONDS = {"increase": 30, "sampled": 120, "rarely_sampled": 300}
"""How often our rules write each sort of sums."""


def page(replica: int, *, models: int, replicas: int, start: int) -> str:
    """The metrics page of a replica now, going on where the history that began at `start` ends."""
    passed = time.time() - start
    return "".join(
        f"{name}{{{labels}}} {_value(passed, per_second)}\n"
        for name, labels, per_second in _counters(models, replicas, [replica])
    )


def write(
    promtool: Path, data: Path, *, models: int, replicas: int, hours: float, scrape_seconds: int
) -> int:
    """Backfill a TSDB in `data` that ends now, and return when it begins."""
    end = int(time.time()) // scrape_seconds * scrape_seconds
    start = end - int(hours * 3600)
    # promtool reads its whole source once for every two hours, so there is one source for each.
    begins = range(start // _BLOCK_SECONDS * _BLOCK_SECONDS, end, _BLOCK_SECONDS)
    blocks = [(max(begin, start), min(begin + _BLOCK_SECONDS, end)) for begin in begins]

    def backfill(block: tuple[int, int]) -> None:
        source = data / f"{block[0]}.om"
        with source.open("w", encoding="utf-8") as file:
            for name, labels, per_second in _counters(models, replicas, range(replicas)):
                for at in range(*block, scrape_seconds):
                    file.write(f"{name}{{{labels}}} {_value(at - start, per_second)} {at}\n")
            for name, labels, value, seconds in _last(models):
                for at in range(max(block[0], end - _LAST_SECONDS), block[1], seconds):
                    file.write(f"{name}{{{labels}}} {value:g} {at}\n")
            for name, labels, per_second in _records(models):
                seconds = _RECORDED_SECONDS[name.rpartition(":")[2]]
                for at in range(*block, seconds):
                    file.write(f"{name}{{{labels}}} {per_second * seconds:g} {at}\n")
            file.write("# EOF\n")
        command = [str(promtool), "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)]
        subprocess.run(command, check=True, capture_output=True)
        source.unlink()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(backfill, blocks))
    return start


def _counters(models: int, replicas: int, chosen: Iterable[int]) -> Iterator[tuple[str, str, float]]:
    for model in range(models):
        for replica in chosen:
            row = ROW.format(model=model, replica=replica)
            rate = RATE / replicas
            worker = f'{row},worker="m{model}_0_0-1-a"'
            yield "nv_inference_request_success", row, rate
            for reason in ("REJECTED", "CANCELED", "BACKEND", "OTHER"):
                bad = ERROR_SHARE * rate if reason == "BACKEND" else 0
                yield "nv_inference_request_failure", f'{row},reason="{reason}"', bad
            for le, share in (("0.5", 1 - SLOW_SHARE), ("+Inf", 1)):
                bucket = f'{worker},stage="total",le="{le}"'
                yield "tritonobs_stage_duration_seconds_bucket", bucket, share * rate


def _records(models: int) -> Iterator[tuple[str, str, float]]:
    for model in range(models):
        for slo, share in (("availability", ERROR_SHARE), ("latency", SLOW_SHARE)):
            labels = f'model="m{model}",version="1",slo="{slo}",sloth_id="m{model}-{slo}-v1"'
            labels += f',sloth_service="m{model}",sloth_slo="{slo}-v1"'
            for samples in _RECORDED_SECONDS:
                yield f"slo:sli_valid_requests:{samples}", labels, RATE
                yield f"slo:sli_bad_requests:{samples}", labels, RATE * share


def _last(models: int) -> Iterator[tuple[str, str, float, int]]:
    """What rules read of the last hour: name, labels, value, and seconds between samples."""
    for model in range(models):
        row = f'model="m{model}",version="1"'
        yield "tritonobs_model_info", row, 1, 10
        for slo, objective in OBJECTIVES.items():
            yield "tritonobs_slo_objective_ratio", f'{row},slo="{slo}"', objective, 10
        yield "tritonobs_latency_target_seconds", f'{row},slo="latency",stage="total",le="0.5"', 0.5, 10
        for reason in ("REJECTED", "CANCELED", "BACKEND", "OTHER"):
            bad = ERROR_SHARE * RATE if reason == "BACKEND" else 0
            yield "model_version_reason:triton_requests_failed:rate2m", f'{row},reason="{reason}"', bad, 30
        for labels in (row, f'model="m{model}"'):
            yield "subject:triton_requests:rate5m", labels, RATE, 30


def _value(seconds: float, per_second: float) -> int:
    """What a counter shows; one that never grew is 0, as most counters of failures are."""
    return 1000 + int(seconds * per_second) if per_second else 0
