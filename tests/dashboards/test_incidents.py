"""The panel of alerts puts those of one incident together, by Prometheus' own answers."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tritonobs import programs
from tritonobs.names import BOARDS, INCIDENT_ALERT_SINCE

ALERT = 'ALERTS{{alertstate="firing", alertname="{name}", severity="{severity}"{more}}}'


def alert(name, severity="critical", values="1x60", **labels):
    """A series of an alert that fires."""
    more = "".join(f', {key}="{value}"' for key, value in labels.items())
    return {"series": ALERT.format(name=name, severity=severity, more=more), "values": values}


def of(incident, name, since, values=None, **labels):
    """What serve says of it; without values, all the time."""
    more = "".join(f', {key}="{value}"' for key, value in labels.items())
    series = f'{INCIDENT_ALERT_SINCE}{{incident="{incident}", alertname="{name}"{more}}}'
    return {"series": series, "values": values or f"{since}x60"}


FIRST, SECOND = "20261125-1231-3f9a12bc07", "20261125-1305-0011223344"
ABOVE, WAIT, DOWN = "TritonQpsAboveLimit", "TritonQueueWaitHigh", "TritonServerDown"


@pytest.fixture(name="rows")
def _rows(boards, tmp_path):
    """What the panel of a board shows an hour after the beginning of these series: its rows, in order."""

    def rows(*series, board="fleet", at="60m"):
        (expr,) = [
            panel["targets"][0]["expr"] for panel in boards[board]["panels"] if panel["title"] == "Alerts"
        ]
        for word in ("cluster", "model"):
            expr = expr.replace(f"${word}", ".*")
        test = {
            "rule_files": [],
            "tests": [
                {
                    "interval": "1m",
                    "input_series": list(series),
                    # A wrong answer makes promtool print the right one.
                    "promql_expr_test": [
                        {"expr": expr.replace("$__range", "1h"), "eval_time": at, "exp_samples": []}
                    ],
                }
            ],
        }
        (tmp_path / "test.json").write_text(json.dumps(test))
        done = subprocess.run(
            [programs.find("promtool"), "test", "rules", "test.json"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return read(done.stdout + done.stderr)

    return rows


def read(text):
    """The rows of promtool's answer, by name, and their levels."""
    if "FAILED" not in text:
        return {}
    found = re.findall(r'[{ ]what="([^"]*)"} ([0-9.E+]+)', text.partition("got:")[2])
    assert found, text
    return {name.strip(): float(level) for name, level in found}


def test_alerts_of_one_incident_stand_together(rows):
    """They begin with its time and the first letters of its id; what has none stands by its model."""
    found = rows(
        alert(ABOVE, model="inspect", version="1"),
        alert(WAIT, "warning", model="nms", version="1"),
        alert(DOWN, instance="a"),
        alert(ABOVE, model="aardvark"),
        of(FIRST, ABOVE, 100, model="inspect", version="1"),
        of(FIRST, WAIT, 160, model="nms", version="1"),
        of(SECOND, DOWN, 2000),
    )

    assert found == {
        "1231-3f inspect QpsAboveLimit 1": 3,
        "1231-3f nms QueueWaitHigh 1": 2,
        "1305-00 ServerDown": 3,
        "aardvark QpsAboveLimit": 3,
    }
    assert sorted(found) == list(found)


@pytest.mark.parametrize("board", [name for name in BOARDS if name in {"fleet", "model", "language"}])
def test_without_serve_the_panel_shows_every_alert(rows, board):
    """Where incidents are taken out, or serve is not scraped."""
    assert rows(alert(ABOVE, model="inspect"), alert(DOWN, "warning"), board=board) == {
        "inspect QpsAboveLimit": 3,
        "ServerDown": 2,
    }


def test_in_calm_the_panel_is_empty(rows):
    """The Watchdog, which always fires, takes no room."""
    assert rows(alert("Watchdog", "info"), alert("Watchdog", "critical")) == {}


def test_an_alert_of_two_incidents_is_in_the_latest(rows):
    """And there is one row of it."""
    assert rows(
        alert(ABOVE, model="inspect"),
        of(FIRST, ABOVE, 100, "100x20 _x40", model="inspect"),
        of(SECOND, ABOVE, 2000, "_x40 2000x20", model="inspect"),
    ) == {"1305-00 inspect QpsAboveLimit": 3}


def test_an_alert_that_a_verdict_moved_is_where_it_is_now(rows):
    """It began when it began, in both."""
    moved = [
        of(FIRST, ABOVE, 100, "100x20 stale _x39", model="inspect"),
        of(SECOND, ABOVE, 100, "_x21 100x38", model="inspect"),
    ]
    back = [
        of(FIRST, ABOVE, 100, "_x21 100x38", model="inspect"),
        of(SECOND, ABOVE, 100, "100x20 stale _x39", model="inspect"),
    ]

    assert rows(alert(ABOVE, model="inspect"), *moved) == {"1305-00 inspect QpsAboveLimit": 3}
    assert rows(alert(ABOVE, model="inspect"), *back) == {"1231-3f inspect QpsAboveLimit": 3}


def test_two_processes_that_say_the_same_make_no_second_row(rows):
    """Of two `serve` the one that delivered before is still in the time that is shown."""
    assert rows(
        alert(ABOVE, model="inspect"),
        of(FIRST, ABOVE, 100, instance="a", model="inspect"),
        of(FIRST, ABOVE, 100, instance="b", model="inspect"),
    ) == {"1231-3f inspect QpsAboveLimit": 3}


def test_an_incident_that_is_over_keeps_its_rows_together(rows):
    """Its series has ended, within the time that is shown."""
    assert rows(
        alert(ABOVE, model="inspect"), of(FIRST, ABOVE, 100, "100x30 stale _x29", model="inspect")
    ) == {"1231-3f inspect QpsAboveLimit": 3}
