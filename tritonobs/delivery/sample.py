"""Made-up alerts, to try a template or a robot with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Final

from tritonobs.delivery.payload import Alert
from tritonobs.delivery.view import AlertView, Reader, view
from tritonobs.delivery.words import LANGUAGES

TEST_ALERT: Final = "TritonobsTest"


def sample_alerts() -> tuple[AlertView, ...]:
    """One in full and firing, one short and resolved, one with nothing but a name."""
    began = "2024-05-01T12:00:00Z"
    labels = {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": "inspect", "version": "1"}
    alerts = (
        _alert("firing", labels, {"description": "inspect gets 12 requests/s, the limit is 8."}, began),
        _alert("resolved", {**labels, "model": "detector", "stage": "infer"}, {}, began),
        _alert("firing", {"alertname": TEST_ALERT}, {}, ""),
    )
    reader = Reader(
        words=LANGUAGES["en"],
        zone=timezone.utc,
        now=datetime(2024, 5, 1, 12, 5, tzinfo=timezone.utc),
        alertmanager_url="http://127.0.0.1:9093",
    )
    shown = [view(alert, reader, "Time goes to: detector 78%") for alert in alerts]
    return shown[0], *(replace(alert, full=False) for alert in shown[1:])


def trial_payload(robot: str) -> bytes:
    """A webhook call with one test alert for this robot; every one is news."""
    now = datetime.now(timezone.utc)
    alert = {
        "status": "firing",
        "labels": {
            "alertname": TEST_ALERT,
            "severity": "info",
            "robot": robot,
            "trial": f"{now:%H:%M:%S.%f}",
        },
        "annotations": {
            "description": "A test message of tritonobs notify test. All is well.",
            "description_zh": "tritonobs notify test 的测试消息，一切正常。",  # noqa: RUF001 (Chinese punctuation)
        },
        "startsAt": now.isoformat(),
    }
    return json.dumps({"version": "4", "groupKey": f"trial/{robot}", "alerts": [alert]}).encode()


def _alert(status: str, labels: Mapping[str, str], annotations: Mapping[str, str], began: str) -> Alert:
    return Alert.model_validate(
        {"status": status, "labels": labels, "annotations": annotations, "startsAt": began, "endsAt": began}
    )
