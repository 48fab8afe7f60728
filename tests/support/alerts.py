"""Alerts, fleet files with working secrets, and a daemon's application without a network."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from tritonobs.delivery.payload import Alert, Payload
from tritonobs.delivery.view import LANGUAGES, Reader
from tritonobs.plan.notify import Robot, SecretSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLEET = """\
fleet: shop
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
models: {{inspect: {{qps_limit: 8, versions: {{"1": {{}}}}}}}}
notify:
  dingtalk:
    oncall: {{webhook_file: webhook, secret_file: secret{robot}}}
{notify}
"""


def make_alert(name: str = "TritonQpsAboveLimit", model: str = "inspect", **more: object) -> Alert:
    """An alert as Alertmanager posts it; `more` are fields, or labels where they are plain texts."""
    fields = {
        "status": "firing",
        "annotations": {"description": f"{model} gets 12 requests/s, the limit is 8."},
        "startsAt": "2026-03-01T12:00:00Z",
    }
    labels = {"alertname": name, "model": model, "version": "1", "severity": "critical"}
    for key, value in more.items():
        (labels if key not in {"status", "annotations", "startsAt", "endsAt", "fingerprint"} else fields)[
            key
        ] = value
    return Alert.model_validate({**fields, "labels": {key: value for key, value in labels.items() if value}})


def make_payload(*alerts: Alert, group: str = "g") -> Payload:
    """A call with these alerts."""
    return Payload.model_validate({"groupKey": group, "alerts": alerts})


def make_robot(name: str = "oncall", *, chat: str = "dingtalk", **more: object) -> Robot:
    """A robot whose secrets are nowhere."""
    return Robot(chat=chat, name=name, webhook=SecretSource(env="NOWHERE"), **more)


def body_of(*alerts: Alert, group: str = "g") -> bytes:
    """A call with these alerts, as bytes."""
    said = [json.loads(alert.model_dump_json(by_alias=True)) for alert in alerts]
    return json.dumps({"version": "4", "groupKey": group, "alerts": said}).encode()


@pytest.fixture
def alert() -> Callable[..., Alert]:
    """Makes alerts."""
    return make_alert


@pytest.fixture
def payload() -> Callable[..., Payload]:
    """Makes calls."""
    return make_payload


@pytest.fixture
def body() -> Callable[..., bytes]:
    """Makes calls as bytes."""
    return body_of


@pytest.fixture
def robot() -> Callable[..., Robot]:
    """Makes robots."""
    return make_robot


@pytest.fixture
def reader() -> Callable[..., Reader]:
    """Makes readers; it is 12:05 UTC."""

    def make(language: str = "en", **more: object) -> Reader:
        fields = {
            "words": LANGUAGES[language],
            "zone": timezone.utc,
            "now": datetime(2026, 3, 1, 12, 5, tzinfo=timezone.utc),
            "alertmanager_url": "http://am:9093",
            "chinese": language == "zh",
        }
        return Reader(**{**fields, **more})

    return make


@pytest.fixture
def fleet_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a fleet file with one robot and its secrets."""

    def write(
        *,
        robot: str = "",
        notify: str = "",
        webhook: str = "https://oapi.dingtalk.com/robot/send?access_token=TOKEN",
        signing: str = "SECRET",
        text: str = FLEET,
    ) -> Path:
        for name, content in (("webhook", webhook), ("secret", signing)):
            with contextlib.suppress(FileNotFoundError):
                (tmp_path / name).unlink()
            (tmp_path / name).touch(mode=0o600)
            (tmp_path / name).write_text(content)
        path = tmp_path / "fleet.yaml"
        path.write_text(text.format(robot=f", {robot}" if robot else "", notify=notify))
        return path

    return write
