"""The text of a message, from our template or a user's own, which is tried on a sample before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tritonobs.delivery.sample import sample_alerts
from tritonobs.delivery.view import AlertView
from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import read_text
from tritonobs.findings import Finding, Place
from tritonobs.plan.notify import Notify

_MOST_BYTES = 2**20
# A misspelled field fails when the template is tried on a sample, instead of leaving a gap in a message.
_HOW: Final[Mapping[str, Any]] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}


def compile_template(text: str) -> Template:
    """A template that can reach nothing but what it is given.

    Raises:
        ValueError: it is no Jinja2; the text says where.
    """
    environment = ImmutableSandboxedEnvironment(**_HOW)
    try:
        return environment.from_string(text)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"line {line}: {error}" if line else str(error)) from None


def house_template() -> Template:
    """Ours, which needs no guard: that costs most of the time of a large digest."""
    file = resources.files("tritonobs.delivery") / "templates" / "digest.md.j2"
    environment = Environment(**_HOW)  # noqa: S701 (Markdown; every text in it was made plain)
    return environment.from_string(file.read_text(encoding="utf-8"))


def try_template(text: str) -> Template:
    """A user's template, after it showed every alert of a sample.

    Raises:
        ValueError: it is no Jinja2, fails, or leaves an alert out; the text says what is wrong.
    """
    template = compile_template(text)
    fill(template, headline="2 firing", alerts=sample_alerts(), mentions="@lee")
    return template


def fill(template: Template, *, headline: str, alerts: Sequence[AlertView], mentions: str) -> str:
    """The text of one message.

    Raises:
        ValueError: the template failed, or names one of the alerts nowhere.
    """
    try:
        text = template.render(headline=headline, alerts=alerts, mentions=mentions).strip()
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
                    path=f"notify.dingtalk.{robot.name}.template_file",
                    message=f"the template cannot be used: {problem}",
                )
            )
    if findings:
        raise SpecInvalid(findings)
    return templates
