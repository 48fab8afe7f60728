"""The text of a message, from our template or a user's own, tried on made-up alerts before it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tritonobs.chats.chat import RobotChat
from tritonobs.delivery.payload import Alert
from tritonobs.delivery.view import LANGUAGES, AlertView, Reader, view
from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import read_text
from tritonobs.findings import Finding, Place
from tritonobs.plan.notify import Notify

_MOST_BYTES = 2**20
# A misspelled field fails when the template is tried on a sample, instead of leaving a gap in a message.
_HOW: Final[Mapping[str, Any]] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}

TEST_ALERT: Final = "TritonobsTest"


def compile_template(text: str) -> Template:
    """A template that can use only what it is given.

    Raises:
        ValueError: it is not Jinja2; the text says where.
    """
    environment = ImmutableSandboxedEnvironment(**_HOW)
    try:
        return environment.from_string(text)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"line {line}: {error}" if line else str(error)) from None


@cache
def house_template(chat: RobotChat) -> Template:
    """Ours, in the markup of a chat. It needs no guard: that costs most of the time of a large digest."""
    file = resources.files("tritonobs.delivery") / "templates" / "digest.md.j2"
    environment = Environment(**_HOW)  # noqa: S701 (Markdown; every text in it was made plain)
    environment.globals |= {"d": chat.dialect, "link_to": chat.link}
    return environment.from_string(file.read_text(encoding="utf-8"))


def try_template(text: str) -> Template:
    """A user's template, after it showed every alert of a sample.

    Raises:
        ValueError: it is not Jinja2, fails, or leaves an alert out; the text says what is wrong.
    """
    template = compile_template(text)
    fill(template, headline="2 firing", alerts=sample_alerts(), mentions="@lee")
    return template


def fill(
    template: Template,
    *,
    headline: str,
    alerts: Sequence[AlertView],
    mentions: str,
    above: Sequence[object] = (),
) -> str:
    """The text of one message; `above` are lines with `text` and `links`.

    Raises:
        ValueError: the template failed, or does not name one of the alerts.
    """
    try:
        text = template.render(headline=headline, alerts=alerts, mentions=mentions, above=above).strip()
    except Exception as error:  # noqa: BLE001 (a user's template may raise anything at all)
        raise ValueError(f"{type(error).__name__}: {error}") from None
    lost = next((alert for alert in alerts if alert.name not in text or alert.subject not in text), None)
    if lost:
        raise ValueError(f"it does not show name and subject of every alert: {lost.name} {lost.subject}")
    return text


def load_templates(notify: Notify) -> Mapping[str, Template]:
    """By robot. Each was tried on a sample.

    Raises:
        SpecInvalid: with a finding for each that cannot be used.
    """
    templates, findings = {}, []
    for robot in notify.robots:
        if robot.template_file is None:
            continue
        try:
            templates[robot.name] = try_template(read_text(robot.template_file, most=_MOST_BYTES))
        except (FileUnusable, ValueError) as error:
            problem = error.reason if isinstance(error, FileUnusable) else str(error)
            findings.append(
                Finding(
                    place=Place(file=str(robot.template_file)),
                    path=f"notify.{robot.chat}.{robot.name}.template_file",
                    message=f"the template cannot be used: {problem}",
                )
            )
    if findings:
        raise SpecInvalid(findings)
    return templates


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
