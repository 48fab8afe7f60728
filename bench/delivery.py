"""How alerts arrive: in a burst, under load, and on the live stack.

python bench/delivery.py burst        100 groups in a minute, three bridges, half an hour of virtual time
python bench/delivery.py calls        many calls at once to a real `tritonobs serve`
python bench/delivery.py overflow     a QPS limit overflown on the real stack, to the accepted message
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import re
import signal
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import requests
from bridges import GroupCommit, PerAlert, PerGroup, Vendor
from simulated_alertmanager import Timing, tell_group

from tritonobs import demo
from tritonobs.serve.payload import Payload
from tritonobs.stack import local
from tritonobs.stack.services import Folders
from tritonobs.testing.programs import ServeProgram
from tritonobs.testing.robot import RobotDouble
from tritonobs.testing.virtual_time import run_virtual

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUPS, BURST_SECONDS = 100, 60.0
MINUTES = (1, 5, 30)
SEED = 20260301
UP_SECONDS = 600.0
"""The bridges have run for a while when the burst comes."""
STOCK = Timing(wait=30.0, interval=300.0, repeat=14_400.0)
OURS = Timing(wait=1.0, interval=10.0, repeat=14_400.0)


def burst() -> None:
    """Distinct alerts the group has seen by then, messages and mutes, for each bridge."""
    columns = [f"seen after {minutes} min" for minutes in MINUTES]
    print("|".join(("", "bridge", "Alertmanager", *columns, "messages", "refused", "mutes", "")))
    print("|---" * (len(columns) + 5) + "|")
    for bridge, timing, name in (
        (PerGroup, STOCK, "30 s / 5 min"),
        (PerGroup, OURS, "1 s / 10 s"),
        (PerAlert, STOCK, "30 s / 5 min"),
        (PerAlert, OURS, "1 s / 10 s"),
        (GroupCommit, OURS, "1 s / 10 s (as built)"),
    ):
        vendor = run_virtual(_burst(bridge, timing))
        seen = [_seen(vendor, minutes * 60) for minutes in MINUTES]
        shown = len(vendor.shown)
        cells = (bridge.name, name, *seen, shown, vendor.attempts - shown, vendor.rules.mutes)
        print("|".join(("", *map(str, cells), "")))


async def _burst(bridge: type[GroupCommit | PerGroup | PerAlert], timing: Timing) -> Vendor:
    vendor = Vendor()
    webhook = bridge(vendor).webhook
    await asyncio.sleep(UP_SECONDS)
    chance = random.Random(SEED)  # noqa: S311 (a repeatable experiment, no secret)

    async def group(number: int, after: float) -> None:
        await asyncio.sleep(after)
        await tell_group(_payload(f"model-{number:03}"), timing, webhook, chance)

    arrivals = sorted(chance.uniform(0, BURST_SECONDS) for _ in range(GROUPS))
    groups = [asyncio.create_task(group(number, after)) for number, after in enumerate(arrivals)]
    await asyncio.sleep(MINUTES[-1] * 60)
    for task in groups:
        task.cancel()
    return vendor


def _payload(*models: str) -> Payload:
    labels = [
        {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": model} for model in models
    ]
    alerts = [
        {
            "status": "firing",
            "labels": each,
            "annotations": {"description": f"{each['model']} gets 12 requests/s, its limit is 8."},
            "startsAt": "2026-03-01T12:00:00Z",
        }
        for each in labels
    ]
    return Payload.model_validate({"groupKey": "/".join(models), "alerts": alerts})


def _seen(vendor: Vendor, until: float) -> int:
    return len(
        {
            name
            for at, text in vendor.shown
            if at <= UP_SECONDS + until
            for name in re.findall(r"model-\d{3}", text)
        }
    )


FLEET = """\
fleet: bench
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
addresses: {prometheus: "http://127.0.0.1:1"}
models: {inspect: {versions: {"1": {}}}}
notify: {dingtalk: {oncall: {webhook_file: webhook, secret_file: secret}}}
"""


def calls(counts: Sequence[int]) -> None:
    """Calls posted at the same moment: when each was answered, and how many messages that took."""
    print("|calls at once|all answered after, s|p50, s|p99, s|calls a second|messages|")
    print("|---" * 6 + "|")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, RobotDouble() as robot:
            fleet = Path(folder) / "fleet.yaml"
            fleet.write_text(FLEET)
            for name, text in (("webhook", robot.webhook_url), ("secret", robot.secret)):
                (fleet.parent / name).touch(mode=0o600)
                (fleet.parent / name).write_text(text)
            with ServeProgram(fleet) as serve, ThreadPoolExecutor(count) as callers:
                url = f"{serve.url}/alertmanager/dingtalk/oncall"
                bodies = [
                    _payload(f"model-{number:05}").model_dump_json(by_alias=True) for number in range(count)
                ]
                began = time.monotonic()
                waits = sorted(callers.map(_call, [url] * count, bodies))
                whole = time.monotonic() - began
        middle, late = waits[count // 2], waits[min(count - 1, count * 99 // 100)]
        cells = (count, f"{whole:.2f}", f"{middle:.2f}", f"{late:.2f}", f"{count / whole:.0f}")
        print("|".join(("", *map(str, cells), str(len(robot.messages)), "")))


def _call(url: str, body: str) -> float:
    """Seconds until it was delivered; a 503 is repeated, as Alertmanager would."""
    began = time.monotonic()
    while (answer := requests.post(url, data=body, timeout=60)).status_code == requests.codes.unavailable:
        time.sleep(5)
    answer.raise_for_status()
    return time.monotonic() - began


def overflow(repeats: int, state: Path) -> None:
    """Seconds from the first overflowing second to the message, on one stack, with odd rests between."""
    chance = random.Random(SEED)  # noqa: S311 (a repeatable experiment, no secret)
    running = local.start(None, Folders(root=state), print, move_ports=True)
    taken: list[dict[str, float]] = []
    try:
        observer = demo.Observer(running)
        url = running.plan.replicas[0].http_url
        limit = float(min(limit.qps for limit in running.plan.limits if limit.model == demo.MODEL))
        for number in range(repeats):
            moments: dict[str, float] = {}
            before = len(observer.messages())
            with demo.Overflow(url, limit * demo.OVERFLOW_RATIO) as load:
                _follow(observer, load, before, moments)
            demo.wait_for(
                lambda: None if observer.fires() else True, "the alert to end", demo.RESOLVED_PATIENCE_SECONDS
            )
            taken.append(moments)
            print(number + 1, json.dumps(moments), flush=True)
            time.sleep(15 + chance.uniform(0, 10))
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            local.stop(running)
    print("|step|min, s|median, s|max, s|\n|---|---|---|---|")
    for step in taken[0]:
        values = [moments[step] for moments in taken]
        print(f"|{step}|{min(values):.1f}|{statistics.median(values):.1f}|{max(values):.1f}|")


def _follow(observer: demo.Observer, load: demo.Overflow, before: int, moments: dict[str, float]) -> None:
    demo.wait_for(lambda: observer.exceeds() or None, "Prometheus to see it")
    moments["seen by Prometheus"] = time.time() - load.began_at
    demo.wait_for(lambda: observer.fires() or None, "the alert to fire")
    moments["firing"] = time.time() - load.began_at
    message = demo.wait_for(
        lambda: next((one for one in observer.messages()[before:] if "🔴" in one.text), None), "the message"
    )
    moments["message accepted"] = message.received_at - load.began_at


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["burst", "calls", "overflow"])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--state", type=Path, default=Path(".tritonobs/bench-delivery"))
    options = parser.parse_args()
    # Ended from outside, it still stops the stack it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    if options.what == "burst":
        burst()
    elif options.what == "calls":
        calls((1, 100, 500, 1000))
    else:
        overflow(options.repeats, options.state)


if __name__ == "__main__":
    main()
