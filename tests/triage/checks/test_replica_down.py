"""A replica does not answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.extensions.triage.snapshot import ReplicaState

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet

    from tritonobs.clients.prometheus import Target


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ('Get "http://a:8002/metrics": dial tcp: connect: connection refused', "is gone"),
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
    assert first.sentence == f"replica triton-1 is gone: {error}"
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
    assert cause.sentence == "replica b:8002 is not a scrape target any more, and no other took its place"


def test_a_replica_another_took_the_place_of_is_not_missed(fleet: Fleet) -> None:
    """A rollout gives pods new addresses."""
    fleet.now.put("up", None, job="triton", instance="b:8002")
    fleet.now.put("up", 1.0, job="triton", instance="c:8002")
    fleet.now.put("replica_requests", 5.0, model="inspect", version="1", instance="c:8002")
    fleet.targets = [target for target in fleet.targets if target.labels["instance"] != "b:8002"]

    assert "replica_down" not in fleet.checks()


@pytest.mark.parametrize("late", [False, True], ids=["all the time", "at the end"])
def test_a_fleet_that_discovery_lost_is_not_well(fleet: Fleet, late: bool) -> None:  # noqa: FBT001 (parametrised)
    """No replica is a target any more: one cause for all of them, and never "nothing is wrong"."""
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
