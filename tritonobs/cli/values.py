"""Values of options: durations, addresses, segments of load; wrong ones are refused with what is allowed."""

from __future__ import annotations

import click

from tritonobs.units import parse_duration


class Duration(click.ParamType[float]):
    """`30s`, `5m`, `1h30m`; gives seconds, more than 0."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds of a Prometheus duration."""
        if isinstance(value, float):
            return value
        try:
            seconds = float(parse_duration(str(value)))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds <= 0:
            self.fail(f"{value!r} is no time to look at; write one like 30s or 5m", param, ctx)
        return seconds


class Address(click.ParamType[str]):
    """An `http://` or `https://` address."""

    name = "url"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The address without a slash at its end."""
        from tritonobs.clients.transport import checked_url  # noqa: PLC0415 (requests would slow every --help)

        try:
            return checked_url(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people or for programs.",
)
prometheus_option = click.option(
    "--prometheus",
    "prometheus_url",
    type=Address(),
    default="http://127.0.0.1:9090",
    show_default=True,
    envvar="TRITONOBS_PROMETHEUS",
    show_envvar=True,
    help="Prometheus to ask.",
)
