"""What commands share: values of options, the fleet file, and the Prometheus they ask.

Wrong values are refused with what is allowed. The stack that runs here gives defaults of options. An unknown
model or cluster is wrong usage; the error lists the known ones.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from tritonobs import names
from tritonobs.cli.say import say
from tritonobs.errors import SpecInvalid, TritonobsError, Unreachable
from tritonobs.findings import Finding, Severity, abridged, listed
from tritonobs.plan.build import build_plan, check, in_order
from tritonobs.plan.fleet import Plan, Replica
from tritonobs.registry import answer
from tritonobs.spec.load import Reading, read_fleet
from tritonobs.timings.promql import Span
from tritonobs.units import parse_duration, parse_moment

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient

STATE = Path(".tritonobs")
"""Where `up` and `demo` keep a stack by default."""


class Parsed(click.ParamType[Any]):
    """A value read by a parser whose ValueError says what is wrong, such as one of the fleet file's."""

    def __init__(self, name: str, parse: Callable[[object], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's own signature)
        """The value, or a usage error with the parser's sentence."""
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def duration_seconds(value: object) -> float:
    """Seconds of a Prometheus duration that is more than 0: `30s`, `5m`, `1h30m`.

    Raises:
        ValueError: it is anything else.
    """
    seconds = float(parse_duration(str(value)))
    if seconds <= 0:
        raise ValueError(f"{value!r} is not a duration; write one like 30s or 5m")
    return seconds


def _unix_seconds(value: object) -> float:
    """Unix seconds of `now`, `now-2h`, a moment with its time zone, or Unix seconds."""
    text = str(value).strip()
    if text == "now":
        return time.time()
    if text.startswith("now-"):
        moment = time.time() - float(parse_duration(text.removeprefix("now-")))
        if moment < 0:
            raise ValueError(f"{text} is before 1970")
        return moment
    # Milliseconds, as in links of Grafana, have 13 digits and are refused.
    if re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,9})?", text):
        return float(text)
    try:
        return parse_moment(text).timestamp()
    except ValueError as error:
        raise ValueError(f"{error}, or now, now-2h or Unix seconds") from None


def address(value: object) -> str:
    """An `http://` or `https://` address, without a slash at its end.

    Raises:
        ValueError: it is anything else.
    """
    from tritonobs.clients.transport import checked_url

    return checked_url(str(value))


Duration = partial(Parsed, "duration", duration_seconds)
When = partial(Parsed, "time", _unix_seconds)
Address = partial(Parsed, "url", address)
"""Types of options."""

_format = partial(click.option, "--format", "form", show_default=True, help="Format of the output.")
format_option = _format(type=click.Choice(["table", "json"]), default="table")
FORMAT = _format(type=click.Choice(["text", "json"]), default="text")
cluster_option = click.option(
    "--cluster",
    default="",
    envvar="TRITONOBS_CLUSTER",
    show_envvar=True,
    help="Which cluster, where Prometheus has several; LABEL=NAME for another label than cluster.  "
    "[default: that of the fleet file]",
)
_prometheus = click.option(
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


def prometheus_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option `--prometheus`; without it, an error about its default names it."""

    @functools.wraps(command)
    def asked(*args: Any, prometheus_url: str, **options: Any) -> Any:  # noqa: ANN401 (of any command)
        try:
            return command(*args, prometheus_url=prometheus_url, **options)
        except Unreachable as error:
            source = click.get_current_context().get_parameter_source("prometheus_url")
            if source is not click.core.ParameterSource.DEFAULT or prometheus_url not in str(error):
                raise
            hint = "name another with --prometheus or TRITONOBS_PROMETHEUS"
            raise Unreachable(f"{error}; {hint}") from None

    return _prometheus(asked)


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
    from tritonobs.replicas import find_replicas

    try:
        return find_replicas(plan)
    except TritonobsError as error:
        say(f"the servers cannot be asked directly: {error}", err=True)
        return ()


FLEET = click.argument("fleet", type=click.Path(path_type=Path, exists=True, dir_okay=False))


def examine(path: Path) -> tuple[Finding, ...]:
    """Every finding about the file, of its syntax, its fields and its meaning, in the order of the file."""
    return _all(read_fleet(path))


def load_plan(path: Path) -> Plan:
    """What the file means.

    Raises:
        SpecInvalid: with every error found.
    """
    reading = read_fleet(path)
    if reading.spec is None or any(finding.severity is Severity.ERROR for finding in reading.findings):
        # Findings about the meaning of the rest are added, so that one run reports everything.
        raise SpecInvalid([finding for finding in _all(reading) if finding.severity is Severity.ERROR])
    return build_plan(reading.spec, path.absolute().parent)


def asked_plan(path: Path) -> Plan:
    """The same for a command whose exit status 1 is about the fleet and not about its file.

    Raises:
        WrongFile: with every error found.
    """
    try:
        return load_plan(path)
    except SpecInvalid as error:
        raise WrongFile(str(error)) from None


class WrongFile(click.ClickException):
    """Findings about a fleet file, as wrong usage."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Each begins with its file and line, which editors follow: no prefix."""
        print(self.message, file=file)


def _all(reading: Reading) -> tuple[Finding, ...]:
    found = [*reading.findings, *(check(reading.spec) if reading.spec else ())]
    return abridged(in_order(found, reading.spec.source.file if reading.spec else ""))


def line_of(finding: Finding) -> str:
    """A finding as one line; warnings say that they are."""
    return (
        str(finding) if finding.severity is Severity.ERROR else f"{finding} [{finding.severity.name.lower()}]"
    )


def value_of(finding: Finding) -> dict[str, object]:
    """A finding for JSON."""
    return {
        **dataclasses.asdict(finding.place),
        "path": finding.path,
        "severity": finding.severity.name.lower(),
        "message": finding.message,
        "hint": finding.hint,
    }


def worst(findings: Sequence[Finding]) -> Severity | None:
    """The worst severity among the findings."""
    return max((finding.severity for finding in findings), default=None)


_DAY_SECONDS = 86_400.0

LOAD = click.option(
    "--load",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read a file of triage --save instead of servers.",
)


def cluster_client(url: str, cluster: str, *, timeout_seconds: float = 15.0) -> PrometheusClient:
    """A client that asks about this cluster ("": every one).

    `cluster` is its name, or `LABEL=NAME` where series carry another label than `cluster`.
    """
    from tritonobs.clients.prometheus import PrometheusClient

    label, named, name = cluster.rpartition("=")
    return PrometheusClient(
        url,
        cluster=name,
        cluster_label=label if named else names.CLUSTER,
        timeout_seconds=timeout_seconds,
    )


def asked_prometheus(url: str, cluster: str, *, timeout_seconds: float = 15.0) -> PrometheusClient:
    """A client that asks about this cluster, as `cluster_client`, or about the only one there is.

    Raises:
        BadParameter: none was named, and Prometheus has several.
        ClientError: it did not answer.
    """
    from tritonobs.timings.ask import known_clusters

    client = cluster_client(url, cluster, timeout_seconds=timeout_seconds)
    # Without a name, models of the same name in two clusters would be added up as one.
    if not cluster:
        now = time.time()
        there = known_clusters(client, Span(start=now - _DAY_SECONDS, end=now))
        if len(there) > 1:
            raise click.BadParameter(
                f"{client.address} has the clusters {listed(there)}; name one", param_hint="--cluster"
            )
    return client


def fleet_cluster(fleet: Path | None) -> str:
    """The cluster of a fleet file, as `asked_prometheus` takes it; "" without one."""
    if fleet is None:
        return ""
    return plan_cluster(asked_plan(fleet))


def plan_cluster(plan: Plan) -> str:
    """The cluster of a fleet, as `asked_prometheus` takes it; "" where series carry no label for it."""
    label = plan.rules.cluster_label
    return plan.cluster if label == names.CLUSTER else f"{label}={plan.cluster}" if label else ""


def refuse_unknown(prometheus: PrometheusClient, span: Span, model: str, version: str = "") -> None:
    """End with wrong usage unless Prometheus saw the cluster and the model (and the version) in the span.

    Raises:
        BadParameter: it did not.
        ClientError: it did not answer.
    """
    from tritonobs.timings.ask import known_clusters, unknown_model, unknown_word

    there = known_clusters(prometheus, span) if prometheus.cluster else ()
    if there and prometheus.cluster not in there:
        raise click.BadParameter(
            unknown_word(prometheus.cluster, there, "cluster was seen"), param_hint="--cluster"
        )
    if model and (sentence := unknown_model(prometheus, span, model=model, version=version)):
        raise click.BadParameter(sentence, param_hint="--version" if " version " in sentence else "--model")
