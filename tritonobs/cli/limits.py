"""`limits list | set | history | verify`: the limits of a fleet file, and who changed them."""

from __future__ import annotations

import getpass
import socket
from datetime import datetime, timezone
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import FLEET, FORMAT, Group, Parsed, line_of, load_plan, value_of
from tritonobs.limits import change
from tritonobs.plan.fleet import QpsLimit, TokenLimit
from tritonobs.plan.limits import limits_at
from tritonobs.registry import commands, resolved
from tritonobs.report.console import print_table
from tritonobs.report.formats import json_text
from tritonobs.report.tables import history_line, limits_table, token_limits_table
from tritonobs.spec.values import moment_field, parse_qps, parse_tokens
from tritonobs.units import format_number

MOMENT = Parsed("moment", moment_field)


@click.group(cls=Group, epilog="Example: tritonobs limits list fleet.yaml")
def limits() -> None:
    """List, set and verify limits; find one that fits, and try it on the past."""


for _one in commands("limits"):
    limits.add_command(resolved(_one.at), _one.name)


@limits.command("list", epilog="Example: tritonobs limits list fleet.yaml")
@FLEET
@click.option("--at", type=MOMENT, help="Show the limits at this moment instead of now.")
@FORMAT
def list_limits(*, fleet: Path, at: datetime | None, form: str) -> None:
    """Show every limit of the file in force, where it comes from and when it ends.

    Annotations of Kubernetes objects are not in it: the metric tritonobs_qps_limit has what is in force.
    """
    moment = at or datetime.now(timezone.utc)
    plan = load_plan(fleet)
    found, tokens = list(limits_at(plan.limits, moment)), plan.token_limits
    if form == "json":
        say(json_text([*map(_value, found), *map(_value_of_tokens, tokens)]))
        return
    if found:
        print_table(limits_table(found, f"limits of {fleet} at {moment.isoformat(timespec='seconds')}"))
    if tokens:
        print_table(token_limits_table(tokens, f"limits of tokens of {fleet}"))
    if not found and not tokens:
        say(f"{fleet} sets no limit", err=True)


@limits.command(
    "set", epilog='Example: tritonobs limits set fleet.yaml 12 --model inspect --reason "new GPU"'
)
@FLEET
@click.argument("limit", metavar="PER_SECOND")
@click.option(
    "--tokens",
    type=click.Choice(("in", "out")),
    help="Limit the tokens of prompts or of responses instead of requests.",
)
@click.option("--model", default="", help="The model.  [default: the whole fleet]")
@click.option("--version", default="", help="One version of the model.")
@click.option("--default", is_flag=True, help="The limit that models without their own inherit.")
@click.option("--from", "valid_from", type=MOMENT, help="The limit begins at this moment.")
@click.option("--until", "valid_until", type=MOMENT, help="The limit ends at this moment.")
@click.option("--reason", required=True, help="The reason, for the log.")
@click.option("--who", help="The author, for the log.  [default: USER@HOST]")
@FORMAT
def set_limit(
    *,
    fleet: Path,
    limit: str,
    tokens: str | None,
    model: str,
    version: str,
    default: bool,
    valid_from: datetime | None,
    valid_until: datetime | None,
    reason: str,
    who: str | None,
    form: str,
) -> None:
    """Set a limit (a number per second, or unlimited) in the fleet file and log the change.

    Only that field of the file changes; comments and layout stay. A running `tritonobs serve` applies the
    limit within two seconds, without a reload of Prometheus.
    """
    if (default and model) or (version and not model) or (default and (valid_from or valid_until)):
        raise click.UsageError("--default excludes --model, --from and --until; --version needs --model")
    if tokens and (valid_from or valid_until or not (model or default)):
        raise click.UsageError("--tokens needs --model or --default, and excludes --from and --until")
    try:
        wanted = change.Change(
            per_second=parse_tokens(limit) if tokens else parse_qps(limit),
            kind=f"tokens_{tokens}" if tokens else "",
            model=model,
            version=version,
            default=default,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        changed = change.set_limit(fleet, wanted, who=who or _me(), reason=reason)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    for warning in changed.warnings:
        say(line_of(warning), err=True)
    if form == "json":
        say(json_text(changed.entries))
        return
    for entry in changed.entries:
        say(f"{entry.field}: {entry.old or 'nothing'} → {entry.new}")
    if not changed.entries:
        say("the limit has this value already", err=True)
    if not (tokens or valid_from or valid_until):
        _show_scheduled(fleet, model, version)


def _show_scheduled(fleet: Path, model: str, version: str) -> None:
    """Say that a temporary limit is in force instead of the one that was set, and how to end it."""
    for limit in limits_at(load_plan(fleet).limits, datetime.now(timezone.utc)):
        if (limit.model, limit.version) == (model, version) and "scheduled_limits[" in limit.origin:
            until = f"until {limit.valid_until.isoformat()}" if limit.valid_until else "without an end"
            say(
                f"{format_number(limit.qps)} is in force {until}, by {limit.origin}; "
                f"to end it earlier, remove that entry from {fleet}",
                err=True,
            )


@limits.command("history", epilog="Example: tritonobs limits history fleet.yaml --model inspect")
@FLEET
@click.option("--model", help="Only changes of this model.")
@FORMAT
def history(*, fleet: Path, model: str | None, form: str) -> None:
    """Show who changed which limit, when, from what to what, and why."""
    log = change.log_of(fleet)
    entries = [entry for entry in log.read()[0] if model is None or entry.model == model]
    if form == "json":
        say(json_text(entries))
        return
    for entry in entries:
        say(history_line(entry))
    if not entries:
        say(f"{log.path} holds no change", err=True)


@limits.command("verify", epilog="Example: tritonobs limits verify fleet.yaml")
@FLEET
@click.option(
    "--expect", default="", metavar="HASH", help="A hash printed earlier; the log must still contain it."
)
@FORMAT
def verify(*, fleet: Path, expect: str, form: str) -> int:
    """Check that no line of the log was changed, removed or inserted, and that it ends with today's limits.

    Prints the last hash. Keep it elsewhere: a later `--expect` detects a log that was cut or replaced.
    """
    findings, last = change.verify_log(fleet, expect)
    if form == "json":
        say(json_text({"findings": [value_of(finding) for finding in findings], "hash": last}))
        return int(bool(findings))
    for finding in findings:
        say(line_of(finding))
    if not findings:
        say(last)
        say(f"{change.log_of(fleet).path}: intact", err=True)
    return int(bool(findings))


def _me() -> str:
    try:
        user = getpass.getuser()
    # A container may run as a user id without a name. Python raises KeyError then, OSError since 3.13.
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def _value(limit: QpsLimit) -> dict[str, object]:
    """A limit for JSON; its number as text, so that no digit is lost."""
    return {
        "model": limit.model,
        "version": limit.version,
        "qps": format_number(limit.qps),
        "valid_from": limit.valid_from.isoformat() if limit.valid_from else None,
        "valid_until": limit.valid_until.isoformat() if limit.valid_until else None,
        "origin": limit.origin,
        "reason": limit.reason,
    }


def _value_of_tokens(limit: TokenLimit) -> dict[str, object]:
    return {
        "model": limit.model,
        "version": limit.version,
        limit.kind: format_number(limit.per_second),
        "origin": limit.origin,
    }
