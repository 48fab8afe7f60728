"""`validate`, `schema` and `completion`: no server and no other program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import FLEET, FORMAT, Address, examine, line_of, value_of, worst
from tritonobs.errors import FileUnusable, SecretUnusable, SpecInvalid, TritonobsError
from tritonobs.findings import Finding, Severity, abridged
from tritonobs.limits.change import log_path
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan, TargetsFile
from tritonobs.report.formats import json_text
from tritonobs.spec.load import load_fleet
from tritonobs.spec.reference import json_schema, markdown
from tritonobs.spec.schema import Spec


@click.command(epilog="Example: tritonobs validate fleet.yaml")
@FLEET
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="The mildest severity that makes the exit code 1.",
)
@click.option(
    "--against", "prometheus_url", type=Address(), help="Compare with what this Prometheus has recorded."
)
@FORMAT
def validate(*, fleet: Path, fail_on: str, prometheus_url: str | None, form: str) -> int:
    """Check a fleet file and report every mistake with its line and column."""
    findings = examine(fleet)
    # A file with errors has no plan.
    if worst(findings) is not Severity.ERROR:
        spec = load_fleet(fleet)
        plan = build_plan(spec, fleet.absolute().parent)
        findings = (*findings, *_log(spec, fleet), *_targets(spec, plan), *_secrets(spec, plan))
        if prometheus_url:
            findings = (*findings, *_compared(plan, spec, str(fleet), prometheus_url))
    if form == "json":
        say(json_text([value_of(finding) for finding in findings]))
    else:
        for finding in findings:
            say(line_of(finding))
        # "No findings" is the result, so it goes to stdout. The number below findings is not a result.
        say(_summary(fleet, findings), err=bool(findings))
    found = worst(findings)
    return int(found is not None and found >= Severity[fail_on.upper()])


@click.command(epilog="Example: tritonobs schema > fleet.schema.json")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables instead.")
def schema(*, as_markdown: bool) -> None:
    """Print the JSON Schema of the fleet file, for editors."""
    if as_markdown:
        from tritonobs.render.rules import mixin_knobs

        say(markdown(mixin_knobs({})))
    else:
        say(json_text(json_schema()))


def _log(spec: Spec, fleet: Path) -> tuple[Finding, ...]:
    """A log of limits that cannot be one."""
    try:
        log_path(spec, fleet)
    except SpecInvalid as error:
        return error.findings
    return ()


def _secrets(spec: Spec, plan: Plan) -> Iterator[Finding]:
    """Webhooks that are on this machine and not of their chat, and secrets that `serve` would refuse."""
    auth = plan.notify.auth
    if auth and auth.file.exists():
        from tritonobs.serve.config import read_gate

        try:
            read_gate(auth)
        except SecretUnusable as error:
            message = str(error).removeprefix("notify.auth: ")
            yield spec.source.warning(("notify", "auth"), message, key=True)
    for robot in plan.notify.robots:
        if not (robot.webhook.file.exists() if robot.webhook.file else robot.webhook.env in os.environ):
            continue
        from tritonobs.delivery.robots import robot_faults

        for fault in robot_faults(robot):
            yield spec.source.warning(("notify", robot.chat, robot.name), fault, key=True)


def _targets(spec: Spec, plan: Plan) -> Iterator[Finding]:
    """What is wrong with a file of targets that is on this machine, and which of its labels are replaced."""
    how = plan.replica_source
    if isinstance(how, TargetsFile) and how.path.exists():
        from tritonobs.replicas import find_replicas, labels_replaced, targets_faults

        at = ("replicas", "file", "path")
        try:
            faults = targets_faults(how)
            yield from abridged(spec.source.finding(at, f"{how.path}: {fault}") for fault in faults)
            if not faults:
                find_replicas(plan)
                replaced = labels_replaced(plan, how)
                yield from abridged(spec.source.warning(at, f"{how.path}: {one}") for one in replaced)
        except FileUnusable as error:
            # Prometheus and `serve` may run as a user who may read it.
            yield spec.source.warning(at, str(error))
        except TritonobsError as error:
            yield spec.source.finding(at, str(error))


def _compared(plan: Plan, spec: Spec, file: str, prometheus_url: str) -> tuple[Finding, ...]:
    """Differences between the file and what runs."""
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.timings.agree import disagreements
    from tritonobs.timings.ask import unknown_names

    prometheus = PrometheusClient(prometheus_url)
    return (
        *unknown_names(plan, prometheus, file),
        *disagreements(plan, prometheus, spec.source),
    )


def _summary(fleet: Path, findings: Sequence[Finding]) -> str:
    count = sum(finding.stands_for for finding in findings)
    return f"{fleet}: {count:,} finding{'s' if count > 1 else ''}" if count else f"{fleet}: valid"


@click.command(epilog="Example: tritonobs completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(*, shell: str) -> None:
    """Print the completion script for SHELL: commands, options and files.

    bash: add it to ~/.bashrc (bash 4.4 or newer). zsh: add it to ~/.zshrc, after compinit. fish: write it to
    ~/.config/fish/completions/tritonobs.fish.
    """
    from click.shell_completion import get_completion_class

    from tritonobs.cli import group

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 (click brings the three of them)
    # click derives the variable from the program's name: another one would complete nothing.
    say(kind(group, {}, "tritonobs", "_TRITONOBS_COMPLETE").source())
