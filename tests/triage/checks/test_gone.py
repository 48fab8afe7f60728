"""What does not answer or report any more: replicas, workers, models, metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs import registry
from tritonobs.clients.triton import RepositoryEntry
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.snapshot import ReplicaState, Snapshot
from tritonobs.timings.ask import Unseen
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet

    from tritonobs.clients.prometheus import Target


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ('Get "http://a:8002/metrics": dial tcp: connect: connection refused', "is down"),
        ('Get "http://a:8002/metrics": context deadline exceeded', "hangs"),
    ],
)
def test_a_replica_that_refuses_or_hangs_is_down(
    fleet: Fleet, make_target: Callable[..., Target], error: str, word: str
) -> None:
    """What Prometheus could not scrape because nobody answered."""
    fleet.targets[0] = make_target("triton", "a:8002", health="down", error=error)
    fleet.now.put("up", 0.0, job="triton", instance="a:8002")

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "replica_down"
    assert f"replica a:8002 {word}" in verdict.sentence
    assert "scrape_problem" in [cause.check for cause in verdict.following]


def test_a_server_with_a_name_is_called_by_it(fleet: Fleet, make_target: Callable[..., Target]) -> None:
    """In every sentence, number and step of every check; an error is quoted as it was."""
    error = 'Get "http://a:8002/metrics": dial tcp a:8002: connect: connection refused'
    target = make_target("triton", "a:8002", health="down", error=error)
    fleet.targets[0] = replace(target, labels={**target.labels, "replica": "triton-1"})
    fleet.now.put("up", 0.0, job="triton", instance="a:8002")

    verdict = fleet.verdict()

    first = verdict.causes[0]
    assert first.sentence == f"replica triton-1 is down: {error}"
    assert first.place == ("", "", "triton-1")
    assert [one.what for one in first.evidence] == ["up of triton-1"]
    assert verdict.following[0].sentence == f"triton-1 is not scraped: {error}"


def test_a_page_that_cannot_be_read_is_no_replica_down(
    fleet: Fleet, make_target: Callable[..., Target]
) -> None:
    """Something answers there: it is the scrape that fails."""
    fleet.targets[0] = make_target("triton", "a:8002", health="down", error="server returned HTTP status 404")

    assert fleet.checks() == ["scrape_problem"]


def test_a_replica_whose_own_api_answers_is_not_down(
    fleet: Fleet, make_target: Callable[..., Target]
) -> None:
    """Both replicas say that they serve; only the way to the metrics port is broken."""
    fleet.targets[0] = make_target("triton", "a:8002", health="down", error="connection refused")
    fleet.replicas = [
        ReplicaState(address=f"http://{name}:8000", ready=True, entries=(), configs=()) for name in ("a", "b")
    ]

    assert fleet.checks() == ["scrape_problem"]


def test_a_replica_that_is_no_target_any_more_is_missed(fleet: Fleet) -> None:
    """Discovery lost it: nothing scrapes it, and nothing says that it is down."""
    fleet.now.put("up", None, job="triton", instance="b:8002")
    fleet.targets = [target for target in fleet.targets if target.labels["instance"] != "b:8002"]

    (cause, *_) = fleet.verdict().causes

    assert cause.check == "replica_down"
    assert cause.sentence == "replica b:8002 is not a scrape target any more and was not replaced"


def test_a_replica_another_took_the_place_of_is_not_missed(fleet: Fleet) -> None:
    """A rollout gives pods new addresses."""
    fleet.now.put("up", None, job="triton", instance="b:8002")
    fleet.now.put("up", 1.0, job="triton", instance="c:8002")
    fleet.now.put("replica_requests", 5.0, model="inspect", version="1", instance="c:8002")
    fleet.targets = [target for target in fleet.targets if target.labels["instance"] != "b:8002"]

    assert "replica_down" not in fleet.checks()


@pytest.mark.parametrize("late", [False, True], ids=["all the time", "at the end"])
def test_a_fleet_that_discovery_lost_is_not_well(fleet: Fleet, late: bool) -> None:  # noqa: FBT001 (parametrised)
    """No replica is a target any more: one cause for all of them, and never "no problems found"."""
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("up", None, job="triton", instance=replica)
    fleet.now.put("up", 1.0, job="tritonobs", instance="c:9900")
    fleet.targets = fleet.targets[2:]
    if not late:
        for question in [name for name in fleet.now.answers if name not in {"up", "limits", "calls"}]:
            del fleet.now.answers[question]

    verdict = fleet.verdict()

    assert verdict.status == "wrong"
    assert verdict.sentence == "no replica is a scrape target any more; 2 were before"
    assert [cause.check for cause in verdict.causes].count("replica_down") == 1


def test_servers_on_a_wrong_port_have_not_vanished(fleet: Fleet, make_target: Callable[..., Target]) -> None:
    """They are targets that never answered, and their own API does: the scrapes are the problem."""
    for place, name in enumerate(("a", "b")):
        fleet.now.put("up", None, job="triton", instance=f"{name}:8002")
        fleet.now.put("up", 0.0, job="triton", instance=f"{name}:9999")
        fleet.targets[place] = make_target(
            "triton", f"{name}:9999", health="down", error="connection refused"
        )
    for question in [name for name in fleet.now.answers if name not in {"up", "limits", "calls"}]:
        del fleet.now.answers[question]
    fleet.replicas = [
        ReplicaState(address=f"http://{name}:8000", ready=True, entries=(), configs=()) for name in ("a", "b")
    ]

    assert fleet.verdict().causes[0].check == "scrape_problem"


def _silent(fleet: Fleet, beat: float, worker: str = "preprocess_0_0-7a-1a", moves: float = 0.0) -> None:
    labels = {**WORKER, "worker": worker}
    fleet.now.put("heartbeats", beat, **labels)
    fleet.now.put("alive", moves, **labels)


WORKER = {"instance": "a:8002", "model": "preprocess", "version": "1", "worker": "preprocess_0_0-7a-1a"}


def test_a_worker_without_heartbeat_is_dead(fleet: Fleet) -> None:
    """Triton still calls the model ready; only the heartbeat tells."""
    _silent(fleet, 9_800.0)

    (cause,) = fleet.verdict().causes

    assert cause.check == "dead_worker"
    assert cause.since == 9_801.0
    assert cause.sentence == (
        "worker preprocess_0_0-7a-1a of preprocess version 1 on a:8002 has sent no heartbeat for 199 s "
        "and was not replaced"
    )


def test_a_worker_that_was_replaced_is_told_as_such(fleet: Fleet) -> None:
    """The errors of those seconds have their reason."""
    _silent(fleet, 9_800.0)
    _silent(fleet, 9_999.0, "preprocess_0_0-8a-2b", 4.0)
    fleet.now.outcome("preprocess", error=1.0)

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "dead_worker"
    assert "and was replaced" in verdict.sentence
    assert "error_surge" in [cause.check for cause in verdict.following]


def test_the_dead_of_yesterday_rest(fleet: Fleet) -> None:
    """Triton keeps the series of a killed worker until it restarts; a replaced one is not news for ever."""
    _silent(fleet, 1_000.0, "preprocess_0_0-6a-0a")

    assert fleet.checks() == []


def test_a_worker_of_a_replica_that_is_not_scraped_is_not_judged(fleet: Fleet) -> None:
    """Its heartbeat is old because nobody looks."""
    _silent(fleet, 9_800.0)
    fleet.now.put("up", 0.0, job="triton", instance="a:8002")

    assert "dead_worker" not in fleet.checks()


def test_a_worker_of_a_target_that_vanished_is_not_judged(fleet: Fleet) -> None:
    """No `up` is down: what was seen last says nothing about now."""
    _silent(fleet, 9_800.0)
    fleet.now.put("alive", None, **WORKER)
    fleet.now.put("up", None, job="triton", instance="a:8002")

    assert "dead_worker" not in fleet.checks()


def test_what_a_failed_initialize_left_behind_never_was_a_worker(fleet: Fleet) -> None:
    """Its series beat for a moment; the worker of before serves on, and was there in the baseline."""
    _silent(fleet, 9_900.0, "preprocess_0_0-9a-3c")

    assert fleet.checks() == []


def test_a_worker_of_a_model_triton_never_loaded_is_none(fleet: Fleet) -> None:
    """The first load failed: there is not a model whose worker could die."""
    for window in (fleet.now, fleet.before):
        window.put("replica_requests", None, model="nms", version="1", instance="a:8002")
    fleet.now.put("alive", 0.0, model="nms", version="1", instance="a:8002", worker="nms_0_0-7a-1a")

    assert "dead_worker" not in fleet.checks()


def test_a_machine_whose_clock_is_wrong_keeps_its_workers(fleet: Fleet) -> None:
    """All heartbeats of a replica are an hour behind, and move: nobody died."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        labels = {"instance": "a:8002", "model": model, "version": "1", "worker": f"{model}_0_0-7a-1a"}
        fleet.now.put("heartbeats", 10_000.0 - 3_600, **labels)

    assert fleet.checks() == []


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


@pytest.mark.parametrize(
    ("there", "told"), [(("lab", "triage"), ", or tritonobs up for a local stack"), (("triage",), "")]
)
def test_the_local_stack_is_named_where_it_is_installed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], told: str
) -> None:
    """An installation without the laboratory has no `tritonobs up`."""
    _unload(fleet, "nms")
    monkeypatch.setattr(registry, "NAMES", there)

    cause = fleet.verdict().causes[0]

    assert cause.check == "model_gone"
    assert cause.next_steps[0] == f"load it: POST /v2/repository/models/nms/load{told}"


@pytest.mark.parametrize(("up", "causes"), [(1.0, {"model_gone"}), (0.0, set())])
def test_the_only_models_of_a_fleet_may_vanish(fleet: Fleet, up: float, causes: set[str]) -> None:
    """Nothing is loaded at all: told where a server answers, for else nobody saw what it has."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        _unload(fleet, model)
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("up", up, job="triton", instance=replica)

    assert {cause.check for cause in fleet.verdict().causes if cause.check == "model_gone"} == causes


def test_an_empty_page_is_no_model_that_vanished(fleet: Fleet) -> None:
    """Triton answers a wrong path with nothing: what it has is not known."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        _unload(fleet, model)
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("up", 1.0, job="triton", instance=replica)
        fleet.now.put("scraped", 0.0, job="triton", instance=replica)

    assert fleet.verdict().causes[0].check == "scrape_problem"


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


SPAN = Span(start=0.0, end=60.0)
EMPTY = {"now": {}, "before": {}, "trends": {}, "asked": {}}


def test_a_model_that_stopped_reporting_stages_is_told(fleet: Fleet) -> None:
    """It serves, and says nothing of its stages: a deployment without the instrumentation."""
    for question in ("count", "sum", "p50", "p95", "p99"):
        for stage in ("total", "suppress"):
            fleet.now.put(question, None, model="nms", version="1", stage=stage)

    assert fleet.checks() == ["scrape_problem"]


def test_lost_records_are_told(fleet: Fleet) -> None:
    """A label set over the cap makes every number of that model a little too small."""
    fleet.now.put("flush_dropped", 250.0, model="preprocess", version="1", reason="label_cap")

    assert (
        fleet.verdict().sentence
        == "250 records were dropped in preprocess version 1: its stages are incomplete"
    )


def test_a_target_that_is_up_is_fine(fleet: Fleet, make_target: Callable[..., Target]) -> None:
    """Also one that was down for a scrape and is back."""
    fleet.targets[0] = make_target("triton", "a:8002", error="")
    fleet.now.put("flush_dropped", 0.0, model="preprocess", version="1", reason="label_cap")

    assert fleet.checks() == []


def test_an_empty_page_is_told(fleet: Fleet) -> None:
    """The scrape goes well and brings nothing, so nothing else is known."""
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("scraped", 0.0 if replica == "a:8002" else 900.0, job="triton", instance=replica)
        fleet.before.put("scraped", 900.0, job="triton", instance=replica)

    assert fleet.checks() == ["scrape_problem"]
    assert fleet.verdict().causes[0].place == ("", "", "a:8002")


def test_what_could_not_be_asked_is_never_fine(fleet: Fleet) -> None:
    """Nothing found, but not everything seen: neither healthy nor wrong."""
    unseen = Unseen(what="replica http://a:8000", why="connection refused")
    verdict = triage(replace(fleet.snapshot(), unseen=(unseen,)))

    assert (verdict.status, verdict.causes) == ("blind", ())
    assert verdict.sentence == "1 data source for the fleet could not be read"


def test_an_empty_prometheus_is_never_fine() -> None:
    """No series at all: the scrape configuration is the first suspect."""
    assert triage(Snapshot(model="", version="", incident=SPAN, baseline=SPAN, **EMPTY)).status == "blind"
