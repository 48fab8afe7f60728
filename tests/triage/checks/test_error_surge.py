"""More requests fail than before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series
from tritonobs.extensions.triage import tables

if TYPE_CHECKING:
    from conftest import Fleet


def _fail(fleet: Fleet, model: str, rate: float, *, stage: str, reason: str) -> None:
    fleet.now.outcome(model, error=rate, ok=10.0 - rate)
    fleet.now.put("stage_errors", rate, model=model, version="1", stage=stage, reason=reason)


def test_the_reason_is_found_where_the_error_began(fleet: Fleet) -> None:
    """Inspect passes on what preprocess refuses: preprocess is named, with stage and reason."""
    _fail(fleet, "preprocess", 2.0, stage="decode", reason="corrupt_image")
    _fail(fleet, "inspect", 2.0, stage="preprocess", reason="corrupt_image")

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.place) == ("error_surge", ("preprocess", "1", "decode", "corrupt_image"))
    assert "errors for 20.0% of requests (was 0.0%); most: corrupt_image in stage decode" in cause.sentence


def _refuse(fleet: Fleet, model: str, rate: float, *, stage: str) -> None:
    fleet.now.outcome(model, invalid=rate, ok=10.0 - rate)
    labels = {"model": model, "version": "1", "stage": stage, "reason": "odd_shape", "outcome": "invalid"}
    fleet.now.put("stage_errors", rate, **labels)


@pytest.mark.parametrize("told", ["invalid", "error"])
def test_bad_input_is_the_callers_fault_whatever_its_reason_is_called(fleet: Fleet, told: str) -> None:
    """The model is well: its pipeline is not named, whether it tells of bad input or only of errors."""
    _refuse(fleet, "preprocess", 3.0, stage="decode")
    fleet.now.outcome("inspect", **{told: 3.0, "ok": 7.0})

    (cause,) = fleet.verdict().causes

    assert cause.place == ("preprocess", "1", "decode", "odd_shape")
    assert "30.0% of requests as bad input (was 0.0%); most: odd_shape in stage decode" in cause.sentence
    assert cause.next_steps == ("find the client that sends them; the model works, its input is bad",)


def test_errors_beside_bad_input_are_a_cause_of_their_own(fleet: Fleet) -> None:
    """Each with its own stage and reason."""
    _refuse(fleet, "preprocess", 3.0, stage="decode")
    fleet.now.outcome("preprocess", invalid=3.0, error=1.0, ok=6.0)
    own = {"model": "preprocess", "version": "1", "stage": "letterbox", "reason": "out_of_memory"}
    fleet.now.put("stage_errors", 1.0, **own)

    found = {cause.place for cause in fleet.verdict().causes}

    assert found == {
        ("preprocess", "1", "decode", "odd_shape"),
        ("preprocess", "1", "letterbox", "out_of_memory"),
    }


def test_failures_only_triton_counts_are_seen(fleet: Fleet) -> None:
    """A model that raises never gets to count its own error."""
    fleet.now.put("failures", 3.0, model="detector", version="1", reason="BACKEND")

    assert fleet.checks() == ["error_surge"]


@pytest.mark.parametrize("reason", [{"reason": "BACKEND"}, {}], ids=["since 24.07", "before 24.07"])
def test_failures_only_triton_counts_have_a_beginning(fleet: Fleet, reason: dict[str, str]) -> None:
    """Before 24.07 Triton gave no reason."""
    labels = {"model": "detector", "version": "1"}
    fleet.now.put("failures", 3.0, **labels, **reason)
    times = [8800.0 + 10 * step for step in range(121)]
    for name, rate, more in (("requests", 10.0, {}), ("failed", 3.0, reason)):
        points = tuple((time, rate if name == "requests" or time >= 9600 else 0.0) for time in times)
        fleet.trends[name] = (Series(labels=labels | more, points=points),)

    (cause,) = fleet.verdict().causes

    assert cause.check == "error_surge"
    assert cause.since == pytest.approx(9600, abs=30)


def test_half_a_character_in_a_name_breaks_no_link(fleet: Fleet) -> None:
    """A saved snapshot may hold it."""
    fleet.now.put("failures", 3.0, model="detector", version="1", reason="BACKEND")
    verdict = fleet.verdict()
    odd = replace(verdict, causes=(replace(verdict.causes[0], place=("m\ud800", "1")),))

    urls = dict(tables.links(odd, {}, prometheus_url="http://p", grafana_url="http://g", serve_url=""))

    assert "var-model=m%ED%A0%80&" in urls["board of m\ud800"]


def test_what_clients_cancel_is_no_error(fleet: Fleet) -> None:
    """They changed their mind."""
    fleet.now.put("failures", 3.0, model="detector", version="1", reason="CANCELED")

    assert "error_surge" not in fleet.checks()


def test_the_usual_share_of_bad_images_is_no_surge(fleet: Fleet) -> None:
    """Two per cent always were broken."""
    for window in (fleet.now, fleet.before):
        window.outcome("preprocess", error=0.2)

    assert fleet.checks() == []


def test_two_errors_are_no_surge(fleet: Fleet) -> None:
    """A ratio over next to no requests says nothing."""
    for window in (fleet.now, fleet.before):
        window.model("nms", rate=0.02)
        window.model("inspect", rate=0.02)
    fleet.now.outcome("nms", error=0.003)

    assert "error_surge" not in fleet.checks()


def test_a_pipeline_with_errors_of_its_own_is_named_beside_its_callee(fleet: Fleet) -> None:
    """Six in ten fail; the detector, of which one in fifty fails, explains little of it."""
    _fail(fleet, "detector", 0.2, stage="infer", reason="out_of_memory")
    _fail(fleet, "inspect", 6.0, stage="nms", reason="value_error")

    found = {cause.place[0]: cause.sentence for cause in fleet.verdict().causes}

    assert set(found) == {"detector", "inspect"}
    assert "60.0% of requests" in found["inspect"]
