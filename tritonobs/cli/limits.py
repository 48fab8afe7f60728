"""`limits list | set | history | verify`: the QPS limits of a fleet file, and who changed them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonobs.cli.columns import columns
from tritonobs.cli.fleet_file import load_plan
from tritonobs.plan.limits import limits_at
from tritonobs.units import format_number

if TYPE_CHECKING:
    from tritonobs.plan.fleet import QpsLimit

FLEET = click.argument("fleet", type=click.Path(path_type=Path, exists=True, dir_okay=False))
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)


@click.group(epilog="Example: tritonobs limits list fleet.yaml")
def limits() -> None:
    """List, set and verify QPS limits."""


@limits.command("list", epilog="Example: tritonobs limits list fleet.yaml")
@FLEET
@FORMAT
def list_limits(*, fleet: Path, form: str) -> None:
    """Show every limit in force now, what it comes from, and until when it holds."""
    rows = list(limits_at(load_plan(fleet).limits, datetime.now(timezone.utc)))
    if form == "json":
        click.echo(json.dumps([_value(limit) for limit in rows], ensure_ascii=False, indent=2))
        return
    head = ("MODEL", "VERSION", "QPS", "UNTIL", "FROM")
    click.echo(columns(head, [_row(limit) for limit in rows]))


def _row(limit: QpsLimit) -> tuple[str, ...]:
    until = limit.valid_until.isoformat() if limit.valid_until else "-"
    return (limit.model or "(fleet)", limit.version or "(all)", format_number(limit.qps), until, limit.origin)


def _value(limit: QpsLimit) -> dict[str, object]:
    return {
        "model": limit.model,
        "version": limit.version,
        "qps": format_number(limit.qps),
        "valid_from": limit.valid_from.isoformat() if limit.valid_from else None,
        "valid_until": limit.valid_until.isoformat() if limit.valid_until else None,
        "origin": limit.origin,
        "reason": limit.reason,
    }
