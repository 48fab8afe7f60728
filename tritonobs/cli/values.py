"""Values of options: durations, addresses, segments of load; wrong ones are refused with what is allowed.

Several commands have the same options. The stack that runs here gives their defaults. The list of commands of
a group is readable.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tritonobs.cli.say import say
from tritonobs.plan.fleet import Plan, Replica
from tritonobs.registry import answer
from tritonobs.units import parse_duration, parse_moment

Value = TypeVar("Value")

STATE = Path(".tritonobs")
"""Where `up` and `demo` keep a stack by default."""


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
            self.fail(f"{value!r} is not a duration; write one like 30s or 5m", param, ctx)
        return seconds


class When(click.ParamType[float]):
    """`now`, `now-2h`, a moment with its time zone, or Unix seconds; gives Unix seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Unix seconds."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            if text == "now":
                return time.time()
            if text.startswith("now-"):
                return time.time() - float(parse_duration(text.removeprefix("now-")))
            # Milliseconds, as in links of Grafana, have 13 digits and are refused.
            if re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,9})?", text):
                return float(text)
            return parse_moment(text).timestamp()
        except ValueError as error:
            self.fail(f"{error}, or now, now-2h or Unix seconds", param, ctx)


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
    help="Format of the output.",
)
cluster_option = click.option(
    "--cluster",
    default="",
    envvar="TRITONOBS_CLUSTER",
    show_envvar=True,
    help="Which cluster, where Prometheus has several; LABEL=NAME for another label than cluster.  "
    "[default: that of the fleet file]",
)
prometheus_option = click.option(
    "--prometheus",
    "prometheus_url",
    type=Address(),
    # A function, so that the state folder is read when the command runs and not for --help.
    default=lambda: running_url("prometheus", "http://127.0.0.1:9090"),
    show_default="that of the stack running here, or http://127.0.0.1:9090",
    envvar="TRITONOBS_PROMETHEUS",
    show_envvar=True,
    help="Prometheus to ask.",
)


class Parsed(click.ParamType[Any]):
    """A value read by one of the fleet file's own parsers."""

    def __init__(self, name: str, parse: Callable[[object], Value]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's own signature)
        """The value, or a usage error with the parser's sentence."""
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Group(click.Group):
    """A group that shows the whole first sentence of each command: click cuts it off at the right margin."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, with lines that break where the terminal ends."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=200)) for name, command in found if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def running_fleet() -> Path | None:
    """The fleet file of the stack that runs in this folder; None without one."""
    running = _running()
    found: Path | None = running.fleet_file() if running else None
    return found


def running_url(part: str, otherwise: str) -> str:
    """Where a part of the stack that runs in this folder answers; `otherwise` without one."""
    running = _running()
    return (running.url(part) if running else None) or otherwise


def _running() -> Any:  # noqa: ANN401 (the laboratory's answer)
    # Its libraries are those of a stack, which an installation without one does not have.
    if not (STATE / "stack.json").is_file():
        return None
    running = answer("running")
    return running(STATE) if running else None


def found_replicas(plan: Plan) -> tuple[Replica, ...]:
    """The servers that run now; where they cannot be found, none and a printed reason."""
    from tritonobs.errors import TritonobsError  # noqa: PLC0415
    from tritonobs.replicas.find import find_replicas  # noqa: PLC0415 (brings requests)

    try:
        return find_replicas(plan)
    except TritonobsError as error:
        say(f"the servers cannot be asked directly: {error}", err=True)
        return ()
