"""A real Prometheus with the generated rules and a past that never was, backfilled by promtool."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.blocks import past_of, write_past
from support.simulate import World
from tritonobs import assets, programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import ClientError
from tritonobs.plan.build import build_plan
from tritonobs.programs import LOOPBACK, free_ports
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGAN_MINUTES, ENDED_MINUTES, MINUTES = 90, 120, 180
"""The trouble, in minutes of a past of three hours that ends now."""
SCRAPE_SECONDS = 30.0
CALM_QPS, MANY_QPS, ERROR_SHARE = 5.0, 20.0, 0.5
INSPECT = {"cluster": "local", "model": "inspect", "version": "1"}
SLO = {**INSPECT, "slo": "availability"}
WINDOWS = {"5m": 5, "30m": 30, "1h": 60, "2h": 120, "6h": 360, "1d": 1440, "3d": 4320}


@pytest.fixture(name="prometheus", scope="session")
def _prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusClient]:
    folder = tmp_path_factory.mktemp("history")
    write_past(past_of(_past(), int(time.time()) - MINUTES * 60), folder)
    (port,) = free_ports(1)
    plan = build_plan(load_fleet(assets.folder("examples") / "fleet.yaml"), folder)
    rules = [item for item in render_fleet(plan) if item.path.endswith(".rules.yml")]
    for item in rules:
        (folder / Path(item.path).name).write_text(item.text, encoding="utf-8")
    config = folder / "prometheus.yml"
    config.write_text(f'rule_files: ["{folder}/*.rules.yml"]\n', encoding="utf-8")
    command = [
        str(programs.find("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={LOOPBACK}:{port}",
    ]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        client = PrometheusClient(f"http://{LOOPBACK}:{port}", timeout_seconds=60)
        try:
            _wait(client)
            yield client
        finally:
            client.close()
            process.terminate()


def _past() -> World:
    """What was counted, and what our records had made of it: four times the traffic, and half of it fails."""
    world = World(minutes=MINUTES, scrape_seconds=SCRAPE_SECONDS)

    def around(usual: float, trouble: float) -> list[tuple[float, float | None]]:
        return [(BEGAN_MINUTES, usual), (ENDED_MINUTES, trouble), (MINUTES, usual)]

    qps = around(CALM_QPS, MANY_QPS)
    for version in ("", "1"):
        subject = {**INSPECT, "version": version}
        world.gauge("subject:tritonobs_owner:info", 1, **subject, pipeline="inspect", team="", tier="")
        world.gauge("subject:triton_requests:rate5m", qps, **subject)
        for rate in ("irate20s", "rate20s", "rate5m"):
            world.gauge(f"subject:triton_requests_offered:{rate}", qps, **subject)
    for samples in ("increase", "sampled"):
        bad = around(0, MANY_QPS * ERROR_SHARE * SCRAPE_SECONDS)
        world.gauge(f"slo:sli_bad_requests:{samples}", bad, **SLO)
    for window, minutes in WINDOWS.items():
        ratio = [(at, _ratio(at, minutes)) for at in range(1, MINUTES + 1)]
        world.gauge(f"slo:sli_error:ratio_rate{window}", ratio, **SLO, sloth_window=window)
    steps = [(15.0 * (at + 1), 2.0 * (at + 1)) for at in range(12)]
    late = [(until, 0.05 if rate <= 14 else 0.05 * (rate - 12)) for until, rate in steps]
    return world.triton("detector", qps=steps, seconds=late)


def _ratio(minute: float, window: float) -> float:
    """Failed over answered in the window that ends at this minute."""
    began = max(0.0, minute - window)
    many = max(0.0, min(minute, ENDED_MINUTES) - max(began, BEGAN_MINUTES))
    calm = minute - began - many
    return ERROR_SHARE * many * MANY_QPS / (many * MANY_QPS + calm * CALM_QPS)


def _wait(client: PrometheusClient) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if client.ready() and client.rules():
                return
        except ClientError:
            pass
        time.sleep(0.2)
    raise TimeoutError("Prometheus did not get ready")
