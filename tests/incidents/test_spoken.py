"""The bench counts what `serve` would send: its join and its policy hear the calls of Alertmanager."""

from __future__ import annotations

import pytest

from support.alertmanager_sim.alertmanager import Alertmanager
from support.incidents.spoken import spoken

FAST, MEDIUM = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"
TICKETS = {"matchers": ['severity="warning"'], "group_wait": "3m", "group_interval": "5m"}
CONFIG = {
    "route": {
        "receiver": "chat",
        "group_by": ["model"],
        "group_wait": "1s",
        "group_interval": "10s",
        "routes": [TICKETS],
    },
    "inhibit_rules": [
        {
            "source_matchers": [f'alertname="{FAST}"'],
            "target_matchers": [f'alertname="{MEDIUM}"'],
            "equal": ["model"],
        }
    ],
}


@pytest.fixture(name="said")
def _said(fleet):
    """What the chat gets in two hours: when, and which alerts begin (+) or end (-)."""

    def said(*lives):
        found = spoken(Alertmanager(CONFIG), lives, fleet, receiver="chat", until=7200)
        return [
            (
                round(one.at),
                [("+" if alert.firing else "-") + alert.labels["alertname"] for alert in one.alerts],
            )
            for one in found
        ]

    return said


def test_one_alert_is_two_messages(said, life) -> None:
    """Half a second after Alertmanager's call; nothing more comes."""
    assert said(life(FAST, 60, 960, model="ocr")) == [(62, [f"+{FAST}"]), (962, [f"-{FAST}"])]


def test_a_ticket_of_an_incident_that_goes_on_waits_for_its_next_message(said, life) -> None:
    """It is named with the end of the page; ten minutes later the incident goes back."""
    found = said(
        life(FAST, 60, 400, model="nms"), life("TritonWorkerDead", 130, 6000, model="nms", severity="warning")
    )

    assert [(at, sorted(names)) for at, names in found] == [
        (62, [f"+{FAST}"]),
        (402, ["+TritonWorkerDead", f"-{FAST}"]),
        (1000, ["+TritonWorkerDead"]),
        (6010, ["-TritonWorkerDead"]),
    ]


def test_two_faults_are_two_conversations(said, life) -> None:
    """The twin: what has nothing to do with it does not wait."""
    found = said(
        life(FAST, 60, 400, model="nms"), life("TritonWorkerDead", 130, 6000, model="ocr", severity="warning")
    )

    assert found == [
        (62, [f"+{FAST}"]),
        (310, ["+TritonWorkerDead"]),
        (402, [f"-{FAST}"]),
        (6010, ["-TritonWorkerDead"]),
    ]


def test_an_end_that_alertmanager_never_reports_keeps_no_incident_open(said, life) -> None:
    """A ticket ends while its page inhibits it: the next fault is another incident, and does not wait."""
    ticket = {"model": "ocr", "severity": "warning"}
    found = said(
        life(MEDIUM, 60, 600, **ticket),
        life(FAST, 400, 2000, model="ocr"),
        life("TritonWorkerDead", 3000, 6000, **ticket),
    )

    assert found == [
        (240, [f"+{MEDIUM}"]),
        (402, [f"+{FAST}"]),
        (2002, [f"-{FAST}"]),
        (3180, ["+TritonWorkerDead"]),
        (6180, ["-TritonWorkerDead"]),
    ]
