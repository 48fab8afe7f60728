"""A day of counters, and of what our rules had recorded by then, as blocks that Prometheus opens."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROW = 'job="triton",instance="triton-{replica}:8002",replica="triton-{replica}",model="m{model}",version="1"'
RATE, ERROR_SHARE, SLOW_SHARE = 5.0, 0.0005, 0.004


def write(
    promtool: Path, data: Path, *, models: int, replicas: int, hours: float, scrape_seconds: int
) -> None:
    """Backfill a TSDB in `data` that ends now."""
    source = data / "history.om"
    end = int(time.time()) // scrape_seconds * scrape_seconds
    start = end - int(hours * 3600)
    with source.open("w", encoding="utf-8") as file:
        for name, labels, per_second in _counters(models, replicas):
            _family(file, name, labels, range(start, end, scrape_seconds), per_second=per_second)
        for name, labels, value in _records(models):
            step = 300 if name.endswith("_sampled") else 60
            _family(file, name, labels, range(start, end, step), value=value)
        file.write("# EOF\n")
    command = [str(promtool), "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)]
    subprocess.run(command, check=True, capture_output=True)
    source.unlink()


def _counters(models: int, replicas: int) -> Iterator[tuple[str, str, float]]:
    for model in range(models):
        for replica in range(replicas):
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
            for suffix in ("", "_sampled"):
                yield f"slo:sli_valid_requests:rate5m{suffix}", labels, RATE
                yield f"slo:sli_bad_requests:rate5m{suffix}", labels, RATE * share


def _family(
    file: TextIO, name: str, labels: str, times: range, *, per_second: float | None = None, value: float = 0
) -> None:
    first = times[0]
    for at in times:
        reading = value if per_second is None else int(1000 + (at - first) * per_second)
        file.write(
            f"{name}{{{labels}}} {reading:g} {at}\n"
            if per_second is None
            else f"{name}{{{labels}}} {reading} {at}\n"
        )
