"""Many webhook calls at the same moment to a real `tritonobs serve`, with a strict robot behind it."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import requests
from deliver_burst import payload
from results import table

from tritonobs.testing.programs import ServeProgram
from tritonobs.testing.robot import RobotDouble

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLEET = """\
fleet: bench
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
addresses: {prometheus: "http://127.0.0.1:1"}
models: {inspect: {versions: {"1": {}}}}
notify: {dingtalk: {oncall: {webhook_file: webhook, secret_file: secret}}}
"""


def measure(counts: Sequence[int]) -> tuple[str, object]:
    """When each of so many calls was answered 200, and how many messages that took."""
    values = [_run(count) for count in counts]
    header = ["calls at once", "p50, s", "p99, s", "all after, s", "calls/s", "messages"]
    rows = [
        [
            str(each["calls"]),
            *(f"{each[key]:.2f}" for key in ("p50_s", "p99_s", "all_s")),
            f"{each['calls_per_s']:.0f}",
            str(each["messages"]),
        ]
        for each in values
    ]
    text = (
        "From a call's start to its 200, which it gets when the robot accepted the message that names its "
        "alert. The callers are threads of the same machine; each has an alert and a group of its own. The "
        "daemon has just started: in its first minute a robot's messages are 12 s apart, which is what a "
        "second message costs here.\n\n"
    )
    return text + table(header, rows), values


def _run(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, RobotDouble() as robot:
        fleet = Path(folder) / "fleet.yaml"
        fleet.write_text(_FLEET)
        for name, text in (("webhook", robot.webhook_url), ("secret", robot.secret)):
            (fleet.parent / name).touch(mode=0o600)
            (fleet.parent / name).write_text(text)
        with ServeProgram(fleet) as serve, ThreadPoolExecutor(count) as callers:
            url = f"{serve.url}/alertmanager/dingtalk/oncall"
            bodies = [payload(f"model-{number:05}").model_dump_json(by_alias=True) for number in range(count)]
            began = time.monotonic()
            waits = sorted(callers.map(_call, [url] * count, bodies))
            whole = time.monotonic() - began
    return {
        "calls": count,
        "p50_s": waits[count // 2],
        "p99_s": waits[min(count - 1, count * 99 // 100)],
        "all_s": whole,
        "calls_per_s": count / whole,
        "messages": len(robot.messages),
    }


def _call(url: str, body: str) -> float:
    """Seconds until it was delivered; a 503 is repeated, as Alertmanager would."""
    began = time.monotonic()
    while (answer := requests.post(url, data=body, timeout=60)).status_code == requests.codes.unavailable:
        time.sleep(5)
    answer.raise_for_status()
    return time.monotonic() - began
