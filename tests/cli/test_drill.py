"""`drill` as a user meets it: the list, names, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run


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
        ((), "name a drill, or all of them: tritonobs drill all; --list shows them"),
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
