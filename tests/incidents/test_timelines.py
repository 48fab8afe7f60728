"""Alerts as simulated incidents have them, through the built configuration of Alertmanager: then and now.

The times are those of the simulator (tests/support/incidents), in seconds since the trouble began, because
playing an incident takes a Prometheus. Some are written by hand, after the descriptions there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest
import yaml

from support.alertmanager_sim.alertmanager import Alertmanager, Life
from support.alertmanager_sim.chat import messages
from support.incidents.conversations import conversations
from support.incidents.every import INCIDENTS
from support.incidents.incident import COUNTED, MOST_MESSAGES
from support.incidents.shop import CHAT
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.incidents.news import Kind
from tritonobs.render.alertmanager import render_alertmanager

if TYPE_CHECKING:
    from support.incidents.conversations import Listener

WORLDS = {one.name: one.world for one in INCIDENTS}
FIRST, UPDATE, REPEAT, END = Kind


def _life(severity: str, name: str, since: float, until: float, **labels: str) -> Life:
    return Life(
        labels={"alertname": f"Triton{name}", "severity": severity, **labels}, since=since, until=until
    )


page, ticket, info = (partial(_life, severity) for severity in ("critical", "warning", "info"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """Alerts of an incident, how many messages they are today, and what its conversations are."""

    alerts: tuple[Life, ...]
    today: int
    now: tuple[tuple[Kind, ...], ...]
    until: float = 12_000


CASES = {
    "errors-pipeline": Case(
        alerts=(
            page("ErrorBudgetBurnFast", 214, 1534, model="nms", slo="availability", version="1"),
            ticket("ErrorReasonSurge", 329, 1469, model="nms", reason="BACKEND", version="1"),
        ),
        today=2,
        now=((FIRST, END),),
    ),
    "deploy-both": Case(
        alerts=(
            page("ErrorBudgetBurnFast", 274, 2134, model="nms", slo="availability", version="1"),
            ticket("ErrorReasonSurge", 329, 1949, model="nms", reason="BACKEND", version="1"),
            page("ErrorBudgetBurnFast", 904, 2104, model="nms", slo="latency", version="1"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "one-server-slow": Case(
        alerts=(
            ticket("ReplicaSlow", 722, 2762, model="detector", replica="triton-1", version="1"),
            page("ErrorBudgetBurnFast", 1744, 2644, model="detector", slo="latency", version="1"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "zone-down": Case(
        alerts=(
            page("ServerDown", 48, 2103, replica="triton-3"),
            page("ServerDown", 63, 2103, replica="triton-1"),
            page("ServerDown", 63, 2118, replica="triton-2"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "fleet-down": Case(
        alerts=(
            page("ServerDown", 48, 1503, replica="triton-3"),
            page("ServerDown", 63, 1503, replica="triton-1"),
            page("ServerDown", 63, 1518, replica="triton-2"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "worker-killed": Case(
        alerts=(
            page("WorkerDead", 82, 1537, model="detector", replica="triton-1", version="1"),
            page("ErrorBudgetBurnFast", 244, 1534, model="detector", slo="availability", version="1"),
            ticket("ErrorReasonSurge", 329, 1469, model="detector", reason="BACKEND", version="1"),
            info("ModelReloaded", 1229, 1589, model="detector", replica="triton-1", version="1"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "overload-queue": Case(
        alerts=(
            page("QpsAboveLimit", 94, 1114, model="search"),
            ticket("QueueWaitHigh", 335, 1640, model="search", version="1"),
            info("BatchInefficient", 689, 1649, model="search", version="1"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "overload-pipeline-waits": Case(
        alerts=(
            page("QpsAboveLimit", 49, 1339, model="inspect"),
            page("QpsAboveLimit", 49, 124, model="nms"),
            page("QpsAboveLimit", 49, 124, model="preprocess"),
            ticket("QueueWaitHigh", 335, 1955, model="nms", version="1"),
            info("BatchInefficient", 689, 1949, model="nms", version="1"),
        ),
        today=4,
        now=((FIRST, UPDATE, UPDATE, END),),
    ),
    "bad-client": Case(
        alerts=(
            ticket(
                "InvalidInputSurge",
                140,
                2180,
                model="inspect",
                reason="corrupt_image",
                stage="decode",
                version="1",
            ),
            ticket(
                "InvalidInputSurge",
                140,
                2180,
                model="preprocess",
                reason="corrupt_image",
                stage="decode",
                version="1",
            ),
        ),
        today=2,
        now=((FIRST, END),),
    ),
    "overload-and-errors": Case(
        alerts=(
            page("QpsAboveLimit", 49, 1339, model="search"),
            page("ErrorBudgetBurnFast", 154, 1534, model="search", slo="availability", version="1"),
            ticket("ErrorReasonSurge", 329, 1469, model="search", reason="BACKEND", version="1"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    # From here on written by hand.
    "two-at-once": Case(
        alerts=(
            page("ErrorBudgetBurnFast", 186, 1700, model="nms", slo="availability"),
            page("ServerDown", 365, 1830, replica="triton-4"),
        ),
        today=4,
        now=((FIRST, END), (FIRST, END)),
    ),
    "server-flaps": Case(
        alerts=(page("ServerDown", 65, 21_900, replica="triton-1"),),
        today=3,
        now=((FIRST, REPEAT, END),),
        until=23_000,
    ),
    "budget-spent": Case(
        alerts=(
            page("ErrorBudgetBurnFast", 96, 2400, model="nms", slo="availability"),
            ticket("ErrorBudgetExhausted", 400, 30_000, model="nms", slo="availability"),
        ),
        today=4,
        now=((FIRST, UPDATE, UPDATE, END),),
        until=31_000,
    ),
    "serve-killed": Case(
        alerts=(
            page("obsServeDown", 67, 1300, instance="127.0.0.1:9900"),
            ticket("LimitSourceLost", 300, 1300),
        ),
        today=2,
        now=((FIRST, END),),
    ),
}


def _heard(name: str, case: Case) -> tuple[int, Listener]:
    shop = WORLDS[name]()
    config = yaml.safe_load(render_alertmanager(shop.plan)[0].text)
    calls = Alertmanager(config).calls(case.alerts, until=case.until)
    today = [one for one in messages(calls, CHAT) if one.severities & COUNTED]
    return len(today), conversations(calls, Fleet.of(shop.plan), receiver=CHAT, until=case.until)


@pytest.mark.parametrize("name", CASES)
def test_an_incident_of_the_bench_is_so_many_messages(name: str) -> None:
    """One conversation for each fault, and at most four messages in one."""
    case = CASES[name]

    today, listener = _heard(name, case)

    assert today == case.today
    told = [tuple(kind for _, kind in said) for said in listener.messages.values()]
    assert Counter(told) == Counter(case.now)
    assert all(len(one) <= MOST_MESSAGES for one in told)
    assert all(said.message for said in listener.said)
