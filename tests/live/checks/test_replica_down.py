"""A replica does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.live.replicas import ReplicaState

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
