"""A drill keeps its promises or says which it does not; the fault is gone in either case."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import StackError
from tritonobs.extensions.lab.drill.drill import Alert, Drill, Takes
from tritonobs.extensions.lab.drill.rig import Rig, Stream, steady
from tritonobs.extensions.lab.drill.run import Session
from tritonobs.extensions.lab.stack import native

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import World

    from tritonobs.extensions.lab.drill.drill import Moment, Outcome

pytestmark = pytest.mark.usefixtures("_quick")
ALERT = "TritonobsServeDown"


def _drill(world: World, *, check: str = "delivery", alert: str = ALERT) -> Drill:
    @contextmanager
    def cause(_: Rig) -> Iterator[None]:
        world.broken = True
        try:
            yield
        finally:
            world.broken = False

    none = Takes(fixed=0.0)
    return Drill(
        name="serve-killed",
        breaks="serve is killed",
        cause=cause,
        alerts=(Alert(name=alert),),
        check=check,
        fires=none,
        resolves=none,
        usual=(),
    )


def _rehearse(world: World, drill: Drill) -> tuple[Outcome, list[str]]:
    said: list[str] = []

    def tell(_: str, moment: Moment) -> None:
        said.append(moment.what)

    with Session(Rig(world.folders, "here"), tell) as session:
        (outcome,) = session.rehearse([drill])
    return outcome, said


def test_a_kept_promise_is_told_moment_by_moment(started: World) -> None:
    """Fault, alert, verdict, undone, resolved: each with its second."""
    outcome, said = _rehearse(started, _drill(started))

    assert outcome.broken == ()
    assert (outcome.cause, started.broken) == ("delivery", False)
    (alert,) = outcome.alerts
    assert alert.fired_after is not None
    assert alert.resolved_after is not None
    assert said[0] == "serve is killed"
    assert said[-2:] == ["undone", f"{ALERT} is resolved"]
    assert [moment.seconds for moment in outcome.moments] == sorted(
        moment.seconds for moment in outcome.moments
    )


def test_an_alert_that_stays_silent_is_a_broken_promise(started: World) -> None:
    """Triage alone is not enough."""
    started.heard = False

    outcome, _ = _rehearse(started, _drill(started))

    assert outcome.broken == (f"{ALERT} did not fire",)
    assert not started.broken


@pytest.mark.needs("triage")
def test_another_cause_is_a_broken_promise(started: World) -> None:
    """What triage says instead is told."""
    outcome, _ = _rehearse(started, _drill(started, check="slow_stage"))

    assert outcome.broken == ("triage says delivery, not slow_stage",)


def test_an_alert_that_fires_before_the_fault_is_not_counted(started: World) -> None:
    """Then nothing is broken at all, and the drill says why."""
    started.stuck = True

    outcome, said = _rehearse(started, _drill(started))

    assert outcome.problem == f"{ALERT} fires without this fault; wait until it is resolved"
    assert "serve is killed" not in said


def test_an_alert_nobody_has_a_rule_for_is_said(started: World) -> None:
    """A drill for rules that are not loaded is not done."""
    outcome, _ = _rehearse(started, _drill(started, alert="TritonNoSuchAlert"))

    assert outcome.problem == "Prometheus has loaded no rule TritonNoSuchAlert"


def test_prometheus_going_away_undoes_the_fault(started: World) -> None:
    """Could not look: said, and cleaned up."""
    drill = _drill(started)

    @contextmanager
    def cause(rig: Rig) -> Iterator[None]:
        with drill.cause(rig):
            started.gone = True
            yield

    outcome, _ = _rehearse(started, replace(drill, cause=cause))

    assert "503" in outcome.problem
    assert not started.broken


@pytest.mark.parametrize(("after", "last"), [(None, "usual"), ((), "nothing")])
def test_what_is_sent_afterwards(
    started: World, monkeypatch: pytest.MonkeyPatch, after: tuple[Stream, ...] | None, last: str
) -> None:
    """The usual, unless the drill says what else: its model may be gone."""
    rig, sent = Rig(started.folders, "here"), []
    usual = (steady(1.0, model="nms"),)
    monkeypatch.setattr(rig.traffic, "switch", sent.append)
    drill = replace(_drill(started), usual=usual, traffic=(steady(9.0),), after=after)

    with Session(rig, lambda *_: None) as session:
        list(session.rehearse([drill]))

    assert sent == [usual, drill.traffic, {"usual": usual, "nothing": ()}[last]]


def test_a_fault_stays_as_long_as_is_asked(started: World) -> None:
    """Once its promises were seen; then it is undone."""
    broken = []

    def stays() -> bool:
        broken.append(started.broken)
        return len(broken) < 2

    with Session(Rig(started.folders, "here"), lambda *_: None, stays) as session:
        (outcome,) = session.rehearse([_drill(started)])

    assert broken == [True, True]
    assert outcome.kept
    assert not started.broken


@pytest.mark.usefixtures("in_front")
def test_an_interrupted_drill_says_that_it_cleaned_up(started: World) -> None:
    """Ctrl-C ends it; the fault is gone before anything is said."""
    drill, said = _drill(started), []

    @contextmanager
    def cause(rig: Rig) -> Iterator[None]:
        with drill.cause(rig):
            os.kill(os.getpid(), signal.SIGINT)
            yield

    def tell(_: str, moment: Moment) -> None:
        said.append((moment.what, started.broken))

    rig = Rig(started.folders, "here")
    with pytest.raises(KeyboardInterrupt), Session(rig, tell) as session:
        list(session.rehearse([replace(drill, cause=cause)]))

    assert said == [("interrupted, and cleaned up", False)]


def test_a_fault_left_behind_is_taken_away(started: World) -> None:
    """A drill that was killed could not clean up; the next one does."""
    started.folders.faults_file.write_text("{}")

    Rig(started.folders, "here")

    assert not started.folders.faults_file.exists()


def test_faults_are_there_while_the_block_runs(started: World) -> None:
    """Also when it fails."""
    rig = Rig(started.folders, "here")

    with pytest.raises(StackError, match="boom"), rig.faults({"nms": {}}):
        _explode(started.folders.faults_file.exists())

    assert not started.folders.faults_file.exists()


def _explode(there: bool) -> None:  # noqa: FBT001 (a fact)
    assert there
    raise StackError("boom")


def test_edited_files_are_as_before_afterwards(started: World) -> None:
    """Byte for byte; a change that changes nothing is refused before anything happens."""
    rig, file = Rig(started.folders, "here"), started.folders.root / "config.pbtxt"
    file.write_text("dynamic_batching { }\n")

    with rig.edited(file, lambda text: text.replace("{ }", "{ a }")):
        assert file.read_text() == "dynamic_batching { a }\n"
    assert file.read_text() == "dynamic_batching { }\n"
    with pytest.raises(StackError, match="not as this drill expects"), rig.edited(file, lambda text: text):
        pass


def test_a_part_that_ended_is_started_again(started: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a fault brought down for good does not spoil the drills after it."""
    rig, again = Rig(started.folders, "here"), []
    monkeypatch.setattr(native, "start_again", lambda service, _: again.append(service.name))

    assert rig.revive() == ()
    process = rig.part("triton").process()
    assert process is not None
    process.kill()
    process.wait()

    assert rig.revive() == ("triton", "robot") == tuple(again)
