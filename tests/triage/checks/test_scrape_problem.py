"""What cannot be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.snapshot import Snapshot
from tritonobs.timings.ask import Unseen
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet

    from tritonobs.clients.prometheus import Target

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
    assert verdict.sentence == "could not judge the fleet: 1 thing could not be read"


def test_an_empty_prometheus_is_never_fine() -> None:
    """No series at all: the scrape configuration is the first suspect."""
    assert triage(Snapshot(model="", version="", incident=SPAN, baseline=SPAN, **EMPTY)).status == "blind"
