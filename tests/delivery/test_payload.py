"""Alertmanager's calls are read generously, and refused without a word of what they held."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from tritonobs.delivery.payload import MOST_ALERTS, MOST_BYTES, read_payload

if TYPE_CHECKING:
    from pathlib import Path

ALERT = {"status": "firing", "labels": {"alertname": "A", "model": "m"}, "startsAt": "2026-03-01T12:00:00Z"}


def _read(**more: object):
    (alert,) = read_payload(json.dumps({"alerts": [{**ALERT, **more}]}).encode()).alerts
    return alert


def test_unknown_fields_are_passed_over() -> None:
    """What newer Alertmanagers add (notification_reason, routeLabels) changes nothing."""
    said = {
        "version": "5",
        "routeLabels": {"a": []},
        "notification_reason": 7,
        "alerts": [{**ALERT, "new": None}],
    }
    payload = read_payload(json.dumps(said).encode())
    assert [alert.labels["alertname"] for alert in payload.alerts] == ["A"]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param(
            "2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=timezone.utc), id="whole seconds"
        ),
        pytest.param(
            "2026-03-01T12:00:00.123456789Z",
            datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=timezone.utc),
            id="nanoseconds",
        ),
        pytest.param(
            "2026-03-01T20:00:00.5+08:00",
            datetime(2026, 3, 1, 12, 0, 0, 500000, tzinfo=timezone.utc),
            id="another zone",
        ),
        pytest.param("2026-03-01T12:00:00", None, id="no zone"),
        pytest.param("0001-01-01T00:00:00Z", None, id="Go's zero time"),
        pytest.param("soon", None, id="no moment"),
        pytest.param(17, None, id="a number"),
        pytest.param(None, None, id="null"),
    ],
)
def test_moment_is_read_or_left_out(text: object, moment: datetime | None) -> None:
    """A strange time never costs the alert."""
    assert _read(startsAt=text).starts_at == moment


def test_fingerprint_is_made_of_labels_where_none_is_given() -> None:
    """The same labels are the same alert; a given fingerprint wins."""
    assert _read().fingerprint == _read(annotations={"x": "y"}).fingerprint
    assert _read().fingerprint != _read(labels={"alertname": "B"}).fingerprint
    assert _read(fingerprint="abc").fingerprint == "abc"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"secret{", "is not JSON", id="no JSON"),
        pytest.param(b"\xff\xfe", "is not JSON", id="no text"),
        pytest.param(b"[" * 100_000, "is not JSON", id="bottomless"),
        pytest.param(b"[]", "wrong at its shape", id="a list"),
        pytest.param(b'{"alerts": {"secret": 1}}', "wrong at alerts", id="alerts is not a list"),
        pytest.param(b'{"alerts": [{"status": "secret", "labels": {}}]}', "alerts.0.status", id="status"),
        pytest.param(
            b'{"alerts": [{"status": "firing", "labels": {"a": 1}}]}', "alerts.0.labels.a", id="label"
        ),
        pytest.param(b" " * (MOST_BYTES + 1), "more than", id="too large"),
    ],
)
def test_anything_else_is_refused_unquoted(body: bytes, words: str) -> None:
    """The error says where to look, and repeats nothing of the body."""
    with pytest.raises(ValueError, match=words) as caught:
        read_payload(body)
    assert "secret" not in str(caught.value)


def test_alerts_left_out_are_told_by_number() -> None:
    """An Alertmanager with max_alerts says how many it cut; so do we."""
    payload = read_payload(json.dumps({"groupKey": "g", "truncatedAlerts": 7, "alerts": [ALERT]}).encode())
    assert [alert.labels["alertname"] for alert in payload.alerts] == ["A", "AlertsLeftOut"]
    assert "7 alerts of group g are left out" in payload.alerts[-1].annotations["description"]


def test_of_too_many_alerts_those_that_are_over_are_left_out_first() -> None:
    """And their number is told, with what Alertmanager itself left out."""
    over, firing = [{**ALERT, "status": "resolved"}] * MOST_ALERTS, [ALERT] * 5
    payload = read_payload(json.dumps({"truncatedAlerts": 7, "alerts": [*over, *firing]}).encode())
    assert len(payload.alerts) == MOST_ALERTS + 1
    assert sum(alert.firing for alert in payload.alerts) == 5 + 1
    assert "12 alerts of group" in payload.alerts[-1].annotations["description"]


@pytest.mark.parametrize(
    "value", [b"[]", b"{}", b"1", b'{"status":"firing","labels":{}}', b'{"labels":[[[]]]}']
)
def test_no_call_takes_many_times_its_size(value: bytes, tmp_path: Path) -> None:
    """As many of the smallest values as a call has room for, in megabytes."""
    body = tmp_path / "body"
    body.write_bytes(b'{"alerts":[' + b",".join([value] * (MOST_BYTES // (len(value) + 1) - 100)) + b"]}")
    program = (
        "import resource, sys, pathlib\n"
        "from tritonobs.delivery.payload import read_payload\n"
        "body = pathlib.Path(sys.argv[1]).read_bytes()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read_payload(body)\n"
        "except ValueError: pass\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, body], capture_output=True, check=True, text=True)
    assert int(done.stdout) < 400


def test_state_tells_episodes_apart() -> None:
    """The same alert firing again later, or resolved, is other news."""
    states = {_read().state, _read(status="resolved").state, _read(startsAt="2026-03-02T12:00:00Z").state}
    assert len(states) == 3
