"""`drill` as a user meets it: the list, names, and what it refuses."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tritonobs.extensions.lab.commands import drill
from tritonobs.extensions.lab.drill.drill import Outcome, SeenAlert
from tritonobs.extensions.lab.report import outcome_table
from tritonobs.report.console import print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Run


def outcome(name: str, *alerts: SeenAlert) -> Outcome:
    """A drill of which triage said at once what was promised."""
    return Outcome(
        drill=name,
        alerts=alerts,
        promised="queue_saturation",
        cause="queue_saturation",
        sentence="",
        named_after=1.0,
        moments=(),
    )


def test_the_list_says_what_is_promised(run: Run) -> None:
    """Without any stack, and nothing is broken for it."""
    done = run("drill", "--list", "--format", "json")

    (spike,) = (drill for drill in json.loads(done.stdout) if drill["name"] == "spike")
    assert (done.returncode, spike["alerts"], spike["check"]) == (0, ["TritonQpsSpike"], "qps_limit")
    assert set(spike) == {"name", "breaks", "alerts", "check", "seconds"}


def test_the_list_fits_on_eighty_columns(run: Run) -> None:
    """Names of alerts and drills are whole, to be copied."""
    done = run("drill", "--list")

    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "worker-killed" in done.stdout
    assert "TritonErrorBudgetBurnFast" in done.stdout


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "name a drill, or run all of them with `tritonobs drill all`; --list shows them"),
        (("slow-nm",), "there is no drill 'slow-nm'; did you mean slow-nms? --list shows all of them"),
        (("xyz", "spike"), "there is no drill 'xyz'; --list shows all of them"),
    ],
)
def test_unknown_names_are_refused(run: Run, names: tuple[str, ...], said: str) -> None:
    """Wrong usage, with what was meant."""
    done = run("drill", *names)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())


def test_without_a_stack_for_it_nothing_is_broken(run: Run) -> None:
    """The command that starts one is told."""
    done = run("drill", "spike")

    assert (done.returncode, done.stdout) == (2, "")
    assert "start one to rehearse on with: tritonobs up --drills --detach" in " ".join(done.stderr.split())


def test_ctrl_c_loses_no_drill_that_had_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """`drill all` takes more than an hour; what was seen until then is shown."""

    class Interrupted:
        def rehearse(self, _: object) -> Iterator[Outcome]:
            yield outcome("spike")
            raise KeyboardInterrupt

    monkeypatch.setattr("tritonobs.extensions.lab.drill.rig.Rig", lambda *_: None)
    session = contextlib.nullcontext(Interrupted())
    monkeypatch.setattr("tritonobs.extensions.lab.drill.run.Session", lambda *_: session)

    done = CliRunner().invoke(drill, ["spike", "ramp", "--format", "json"])

    assert [(seen["drill"], seen["kept"]) for seen in json.loads(done.stdout)] == [("spike", True)]
    assert done.exit_code != 0


def test_what_came_of_drills_fits_on_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Each promise on a line of its own, its name whole, and what was not kept below."""
    kept = SeenAlert(name="TritonErrorBudgetBurnMedium", fired_after=1234.0, resolved_after=567.0)
    never = SeenAlert(name="TritonBatchInefficient", fired_after=None, resolved_after=None)

    print_table(outcome_table([outcome("inference-errors", kept), outcome("traffic-surge", never)]))

    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert [line.split() for line in said.splitlines()[4:]] == [
        ["inference-errors", "yes"],
        ["TritonErrorBudgetBurnMedium", "1234", "s", "567", "s"],
        ["triage:", "queue_saturation", "1", "s"],
        ["traffic-surge", "no"],
        ["TritonBatchInefficient", "-", "-"],
        ["triage:", "queue_saturation", "1", "s"],
        [],
        ["traffic-surge:", "TritonBatchInefficient", "did", "not", "fire"],
    ]
