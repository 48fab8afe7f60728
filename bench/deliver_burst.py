"""A hundred groups in a minute through three bridges: what the people in the chat have seen by when."""

from __future__ import annotations

import asyncio
import random
import re

from bridges import Conversations, GroupCommit, PerAlert, PerGroup, Vendor
from results import table
from simulated_alertmanager import Timing, tell_group

from support.virtual_time import run_virtual
from tritonobs.delivery.payload import Payload

_GROUPS, _BURST_SECONDS = 100, 60.0
_MINUTES = (1, 5, 30)
_SEED = 20260301
_UP_SECONDS = 600.0
"""The bridges have run for a while when the burst comes."""
_STOCK = Timing(wait=30.0, interval=300.0, repeat=14_400.0)
_OURS = Timing(wait=1.0, interval=10.0, repeat=14_400.0)
_RUNS = (
    (GroupCommit, _OURS, "1 s / 10 s"),
    (Conversations, _OURS, "1 s / 10 s"),
    (PerGroup, _OURS, "1 s / 10 s"),
    (PerGroup, _STOCK, "30 s / 5 min"),
    (PerAlert, _OURS, "1 s / 10 s"),
    (PerAlert, _STOCK, "30 s / 5 min"),
)


def measure(chat: str) -> tuple[str, object]:
    """Distinct alerts seen by then, messages and mutes, for each bridge; the others are of DingTalk."""
    seen_by = [f"after {minutes} min" for minutes in _MINUTES]
    rows, values = [], []
    runs = _RUNS if chat == "dingtalk" else _RUNS[:1]
    for bridge, timing, paces in runs:
        vendor = run_virtual(_burst(bridge, timing, chat))
        seen = [_seen(vendor, minutes * 60) for minutes in _MINUTES]
        shown = len(vendor.shown)
        counts = [*seen, shown, vendor.attempts - shown, vendor.rules.mutes]
        rows.append([bridge.name, paces, *map(str, counts)])
        keys = [*seen_by, "messages", "refused", "mutes"]
        values.append(
            {"bridge": bridge.name, "group_wait / group_interval": paces}
            | dict(zip(keys, counts, strict=True))
        )
    text = (
        f"{_GROUPS} groups of one alert each within {_BURST_SECONDS:.0f} s; Alertmanager and the clock are "
        "simulated, `tritonobs serve`'s committer and the robot's rules are the real ones. Numbers are "
        "distinct alerts in the chat by then.\n\n"
    )
    header = ["bridge", "wait / interval", *seen_by, "messages", "refused", "mutes"]
    return text + table(header, rows), values


async def _burst(bridge: type[GroupCommit | PerGroup | PerAlert], timing: Timing, chat: str) -> Vendor:
    vendor = Vendor(chat)
    webhook = bridge(vendor).webhook
    await asyncio.sleep(_UP_SECONDS)
    chance = random.Random(_SEED)  # noqa: S311 (a repeatable experiment, no secret)

    async def group(number: int, after: float) -> None:
        await asyncio.sleep(after)
        await tell_group(payload(f"model-{number:03}"), timing, webhook, chance)

    arrivals = sorted(chance.uniform(0, _BURST_SECONDS) for _ in range(_GROUPS))
    groups = [asyncio.create_task(group(number, after)) for number, after in enumerate(arrivals)]
    await asyncio.sleep(_MINUTES[-1] * 60)
    for task in groups:
        task.cancel()
    return vendor


def payload(model: str) -> Payload:
    """A call with one page about `model`, the only one of its group."""
    alert = {
        "status": "firing",
        "labels": {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": model},
        "annotations": {"description": f"{model} receives 12 requests/s; its limit is 8."},
        "startsAt": "2026-03-01T12:00:00Z",
    }
    return Payload.model_validate({"groupKey": model, "alerts": [alert]})


def _seen(vendor: Vendor, until: float) -> int:
    texts = [text for at, text in vendor.shown if at <= _UP_SECONDS + until]
    return len({name for text in texts for name in re.findall(r"model-\d{3}", text)})
