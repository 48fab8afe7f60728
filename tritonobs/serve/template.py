"""The text of a message, from our template or a user's own, which is tried on a sample before it is used."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tritonobs.serve.sample import sample_alerts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritonobs.serve.view import AlertView


def compile_template(text: str) -> Template:
    """A template that can reach nothing but what it is given.

    Raises:
        ValueError: it is no Jinja2; the text says where.
    """
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    try:
        return environment.from_string(text)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"line {line}: {error}" if line else str(error)) from None


def house_template() -> Template:
    """Ours."""
    file = resources.files("tritonobs.serve") / "templates" / "digest.md.j2"
    return compile_template(file.read_text(encoding="utf-8"))


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
