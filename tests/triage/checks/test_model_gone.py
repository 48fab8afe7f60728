"""A model is not loaded any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.triton import RepositoryEntry
from tritonobs.extensions.triage.snapshot import ReplicaState

if TYPE_CHECKING:
    from conftest import Fleet


def _unload(fleet: Fleet, model: str) -> None:
    for rows in fleet.now.answers.values():
        for labels in [key for key in rows if ("model", model) in key]:
            del rows[labels]


def test_a_model_that_vanished_is_the_cause(fleet: Fleet) -> None:
    """Its series are gone, while others are still there: somebody unloaded it."""
    _unload(fleet, "nms")

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "model_gone"
    assert verdict.sentence == "nms version 1 is not loaded any more; it served 10 requests/s"


@pytest.mark.parametrize(("up", "causes"), [(1.0, {"model_gone"}), (0.0, set())])
def test_the_only_models_of_a_fleet_may_vanish(fleet: Fleet, up: float, causes: set[str]) -> None:
    """Nothing is loaded at all: told where a server answers, for else nobody saw what it has."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        _unload(fleet, model)
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("up", up, job="triton", instance=replica)

    assert {cause.check for cause in fleet.verdict().causes if cause.check == "model_gone"} == causes


def test_a_model_that_could_not_be_loaded_is_told_with_tritons_reason(fleet: Fleet) -> None:
    """The repository index knows why."""
    entry = RepositoryEntry(name="nms", version="2", state="UNAVAILABLE", reason="no such file: labels.txt")
    fleet.replicas = [ReplicaState(address="http://a:8000", ready=True, entries=(entry,), configs=())]

    assert fleet.verdict().sentence == (
        "nms version 2 could not be loaded on http://a:8000: no such file: labels.txt"
    )


def test_a_traceback_is_told_by_its_first_line(fleet: Fleet) -> None:
    """The reason first, in one sentence; what follows from it, a worker that stopped, is below it."""
    reason = (
        "Internal: ImportError: No module named 'shapely'\n\nAt:\n  /models/nms/1/model.py(3): <module>\n"
    )
    entry = RepositoryEntry(name="nms", version="1", state="UNAVAILABLE", reason=reason)
    fleet.replicas = [ReplicaState(address="http://a:8000", ready=True, entries=(entry,), configs=())]
    _unload(fleet, "nms")

    verdict = fleet.verdict()

    assert verdict.sentence == (
        "nms version 1 could not be loaded on http://a:8000: ImportError: No module named 'shapely'; "
        "it served 10 requests/s"
    )
    assert any("roll back" in step for step in verdict.causes[0].next_steps)
    assert [cause.check for cause in verdict.causes] == ["model_gone"]


def test_a_version_that_was_unloaded_on_purpose_is_no_cause(fleet: Fleet) -> None:
    """Triton keeps old versions in its index as `unloaded`."""
    entry = RepositoryEntry(name="nms", version="0", state="UNAVAILABLE", reason="unloaded")
    fleet.replicas = [ReplicaState(address="http://a:8000", ready=True, entries=(entry,), configs=())]

    assert fleet.checks() == []


def test_a_new_version_that_could_not_be_loaded_is_told_while_the_old_one_serves(fleet: Fleet) -> None:
    """The ordinary failed rollout; less sure than where nothing serves, because it may be an old story."""
    entries = (
        RepositoryEntry(name="nms", version="1", state="READY", reason=""),
        RepositoryEntry(name="nms", version="2", state="UNAVAILABLE", reason="no such file: labels.txt"),
    )
    fleet.replicas = [ReplicaState(address="http://a:8000", ready=True, entries=entries, configs=())]

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place, cause.confidence) == ("model_gone", ("nms", "2"), 0.6)


@pytest.mark.parametrize(("model", "checks"), [("detector", []), ("inspect", ["model_gone"])])
def test_only_what_was_asked_about_is_told(fleet: Fleet, model: str, checks: list[str]) -> None:
    """With --model: the model, and what it calls."""
    entry = RepositoryEntry(name="nms", version="2", state="UNAVAILABLE", reason="no such file: labels.txt")
    fleet.replicas = [ReplicaState(address="http://a:8000", ready=True, entries=(entry,), configs=())]
    fleet.model = model

    assert fleet.checks() == checks
