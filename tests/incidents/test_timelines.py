"""Alerts as simulated incidents have them, through the built configuration of Alertmanager: then and now.

The times are written by hand after the descriptions in tests/support/incidents and the table of
bench/RESULTS.md, because playing an incident takes a Prometheus.
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
from support.incidents.incident import MOST_MESSAGES
from support.incidents.shop import CHAT
from tritonobs.extensions.incidents.news import Kind
from tritonobs.extensions.incidents.place import Fleet
from tritonobs.render.alertmanager import render_alertmanager

if TYPE_CHECKING:
    from support.incidents.conversations import Listener

WORLDS = {one.name: one.world for one in INCIDENTS}
FIRST, UPDATE, REPEAT, END = Kind


def _life(severity: str, name: str, since: float, until: float, **labels: str) -> Life:
    return Life(
        labels={"alertname": f"Triton{name}", "severity": severity, **labels}, since=since, until=until
    )


page, ticket = partial(_life, "critical"), partial(_life, "warning")


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
            page("ErrorBudgetBurnFast", 216, 1700, model="nms", slo="availability"),
            ticket("ErrorReasonSurge", 300, 1400, model="nms", reason="BACKEND"),
        ),
        today=2,
        now=((FIRST, END),),
    ),
    "deploy-both": Case(
        alerts=(
            page("ErrorBudgetBurnFast", 276, 2600, model="nms", slo="availability"),
            page("ErrorBudgetBurnFast", 500, 2700, model="nms", slo="latency"),
            ticket("ErrorReasonSurge", 300, 1900, model="nms", reason="BACKEND"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "zone-down": Case(
        alerts=tuple(
            page("ServerDown", 50 + 15 * number, 2100, replica=f"triton-{number}") for number in (1, 2, 3)
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "overload-queue": Case(
        alerts=(
            page("QpsAboveLimit", 96, 1000, model="search"),
            ticket("QueueWaitHigh", 330, 1300, model="search"),
        ),
        today=4,
        now=((FIRST, END),),
    ),
    "one-server-slow": Case(
        alerts=(
            ticket("ReplicaSlow", 903, 2700, model="detector", version="1", replica="triton-1"),
            ticket("ErrorBudgetBurnSlow", 1500, 4200, model="detector", slo="latency"),
        ),
        today=4,
        now=((FIRST, UPDATE, END),),
    ),
    "two-at-once": Case(
        alerts=(
            page("ErrorBudgetBurnFast", 186, 1700, model="nms", slo="availability"),
            page("ServerDown", 365, 1830, replica="triton-4"),
        ),
        today=4,
        now=((FIRST, END), (FIRST, END)),
    ),
    "bad-client": Case(
        alerts=tuple(
            ticket("InvalidInputSurge", 141, 2100, model=model, stage="decode", reason="corrupt_image")
            for model in ("inspect", "preprocess")
        ),
        today=2,
        now=((FIRST, END),),
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
    return len(messages(calls, CHAT)), conversations(
        calls, Fleet.of(shop.plan), receiver=CHAT, until=case.until
    )


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
