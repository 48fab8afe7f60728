"""What a step tells people to type is a command that exists, whatever a model is called."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from tritonobs import cli, registry
from tritonobs.extensions.triage.check import set_limit, stages_command, suggest_limit, triage_command

if TYPE_CHECKING:
    from conftest import Fleet

EXAMPLE = Path(__file__).parents[3] / "examples" / "fleet.yaml"


def _accepts(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command line read it, up to where it would run."""
    shutil.copy(EXAMPLE, folder / "fleet.yaml")
    monkeypatch.chdir(folder)
    _, *words = shlex.split(line)
    command: click.Command = cli.group
    context = click.Context(command, info_name="tritonobs")
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.make_context(command.name, list(words))


@pytest.mark.parametrize("model", ["inspect", "a model", "it's", '$(reboot) "x"', "--all", "模型"])
@pytest.mark.parametrize(
    "spell",
    [
        suggest_limit,
        stages_command,
        lambda model: triage_command(model, "1h"),
        lambda model: set_limit(model, "2", 12.345),
        lambda model: set_limit(model, "", 0.000012),
    ],
)
def test_a_suggested_command_can_be_pasted(
    spell, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hostile names are data, and every required word is there."""
    _accepts(spell(model), tmp_path, monkeypatch)
    assert shlex.split(spell(model))[-1] != ""


@pytest.mark.needs("history")
def test_no_command_of_an_extension_that_is_gone_is_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an extension brings is suggested where it is there."""
    assert suggest_limit("m") == "tritonobs limits suggest --model m"
    monkeypatch.setattr(registry, "NAMES", ("triage",))
    assert suggest_limit("m") == "tritonobs stages --model m"


def test_every_command_in_a_verdict_can_be_pasted(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over its limit, slower, muted robots and a fleet file that cannot be used: all steps of all causes."""
    fleet.now.put("peak", 200.0, model="inspect", version="1")
    fleet.now.put("robot_muted", 1.0, robot="oncall")
    fleet.now.put("delivery_errors", 3.0, robot="oncall", code="310000")
    fleet.now.put("config_valid", 0.0)
    fleet.now.put("rule_failures", 2.0, rule_group="x;tritonobs.slo")
    fleet.now.wait("detector", 0.2)
    verdict = fleet.verdict()

    lines = [
        found
        for cause in (*verdict.causes, *verdict.following)
        for step in cause.next_steps
        for found in re.findall(r"tritonobs [a-z].*?(?=$|;)", step)
    ]

    assert len(lines) >= 5
    for line in lines:
        _accepts(line, tmp_path, monkeypatch)
