"""What an incident cost, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import inf, nan

import pytest

from support.incidents.conversations import EPOCH, heard
from tritonobs.extensions.incidents.cost import (
    MOST_ACTIONS,
    Charged,
    LimitChanged,
    Requests,
    Silenced,
    VersionLoaded,
    cost,
    meanwhile,
)
from tritonobs.extensions.incidents.incident import Place

FAST, INSPECT = "TritonErrorBudgetBurnFast", Place(models=("inspect",))


@pytest.fixture
def incident(life, fleet):
    """Half an hour of errors of a pipeline and its member, which is over."""
    lives = [life(FAST, 200, 1800, model="nms"), life(FAST, 260, 2000, model="inspect")]
    (found,) = heard(lives, fleet, until=2400).state.closed.values()
    return found


def _limit(at: float, model: str = "inspect", **more: str) -> LimitChanged:
    fields = {"who": "lee", "version": "", "old": "8", "new": "12", "reason": "room", **more}
    return LimitChanged(at=EPOCH + at, model=model, **fields)


def test_it_lasts_from_the_beginning_of_the_trouble_to_its_last_alert(incident, fleet, cause) -> None:
    """The cause says when it began; how long it took to see it is a number of its own."""
    known = replace(incident, causes=(cause("bad_deploy", "nms", "2", since=140),))

    bill = cost(known, EPOCH + 9000, fleet)

    assert (bill.seconds, bill.noticed_seconds, bill.found_by) == (1860, 60, FAST)
    assert cost(incident, EPOCH + 9000, fleet).seconds == 1800


def test_an_incident_that_goes_on_costs_until_now(life, fleet) -> None:
    """The twin."""
    (found,) = heard([life(FAST, 200, model="nms")], fleet, until=300).state.open.values()

    assert cost(found, EPOCH + 1000, fleet).seconds == 800


@pytest.mark.parametrize(
    ("counts", "failed"),
    [
        pytest.param(
            {"inspect": 30, "nms": 30, "preprocess": 0}, 30, id="what a member fails its pipeline fails"
        ),
        pytest.param({"inspect": 30, "nms": 50}, 50, id="the member has callers of its own"),
        pytest.param({"inspect": 30, "audit": 20, "nms": 40}, 50, id="two pipelines share the member"),
        pytest.param({"ocr": 5, "search": 7}, 12, id="two models of their own"),
        pytest.param({"inspect": 0.0}, 0, id="none"),
    ],
)
def test_requests_of_clients_are_counted_once(incident, fleet, counts, failed) -> None:
    """A pipeline's requests are at each of its members again."""
    rows = [Requests(model=model, failed=count, late=2 * count) for model, count in counts.items()]

    bill = cost(incident, EPOCH + 9000, fleet, requests=rows)

    assert (bill.failed, bill.late) == (failed, 2 * failed)


def test_what_was_not_counted_is_not_known(incident, fleet) -> None:
    """Prometheus was away: that is not none."""
    bill = cost(incident, EPOCH + 9000, fleet)

    assert (bill.failed, bill.late, bill.charged, bill.done) == (None, None, (), ())


def test_the_share_of_a_budget_is_of_the_whole_period(incident, fleet) -> None:
    """450 bad of a million requests, of which 0.1 % may be bad, are 45 %."""
    rows = [
        Charged(
            model=model,
            version="",
            slo="availability",
            objective_ratio=Decimal("0.999"),
            bad=bad,
            period_valid=valid,
        )
        for model, bad, valid in (
            ("nms", 450, 1e6),
            ("inspect", 1800, 1e6),
            ("ocr", 0, 1e6),
            ("new", 9, None),
        )
    ]

    bill = cost(incident, EPOCH + 9000, fleet, charged=rows)

    assert [(one.model, one.budget_share) for one in bill.charged] == [
        ("inspect", pytest.approx(1.8)),
        ("nms", pytest.approx(0.45)),
        ("new", None),
    ]


@pytest.mark.parametrize("number", [-1, nan, inf])
def test_numbers_that_are_none_are_refused(number) -> None:
    """What Prometheus has no answer for is left out, not given as NaN."""
    with pytest.raises(ValueError, match="a count of requests is a number of at least 0, not"):
        Requests(model="m", failed=number, late=0)
    with pytest.raises(ValueError, match="at least 0"):
        Charged(model="m", version="", slo="a", objective_ratio=Decimal("0.9"), bad=number, period_valid=1)
    with pytest.raises(ValueError, match="an objective is between 0 and 1, not 1"):
        Charged(model="m", version="", slo="a", objective_ratio=Decimal(1), bad=1, period_valid=1)


def test_what_was_done_meanwhile_is_listed_in_order(fleet) -> None:
    """Limits, loads and silences of the place, from ten minutes before it began, each once."""
    load = VersionLoaded(at=EPOCH + 180, model="nms", version="2", replica="triton-1")
    silence = Silenced(
        at=EPOCH + 900, who="kim", until=EPOCH + 5000, matchers=('model="nms"',), models=("nms",)
    )
    limit = _limit(700)

    found = meanwhile([silence, limit, load, limit], INSPECT, EPOCH + 200, EPOCH + 2000, fleet)

    assert found == (load, limit, silence)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(_limit(700, model="ocr"), id="of another model"),
        pytest.param(_limit(-500), id="long before"),
        pytest.param(_limit(2100), id="after it"),
        pytest.param(
            Silenced(at=EPOCH + 900, who="kim", until=0, matchers=('model="ocr"',), models=("ocr",)),
            id="a silence of another model",
        ),
    ],
)
def test_what_has_nothing_to_do_with_it_is_left_out(fleet, action) -> None:
    """The twin."""
    assert meanwhile([action], INSPECT, EPOCH + 200, EPOCH + 2000, fleet) == ()


def test_a_silence_of_everything_and_the_limit_of_the_fleet_belong_to_it(fleet) -> None:
    """They name no model; and a place without a model is concerned by all."""
    silence = Silenced(at=EPOCH + 900, who="kim", until=0, matchers=('severity="warning"',))
    limit = _limit(700, model="")

    assert meanwhile([silence, limit], INSPECT, EPOCH, EPOCH + 2000, fleet) == (limit, silence)
    assert meanwhile([_limit(700)], Place(replicas=("triton-1",)), EPOCH, EPOCH + 2000, fleet) == (
        _limit(700),
    )


def test_actions_are_bounded(fleet) -> None:
    """A reload loop of days is the last hundred."""
    loads = [VersionLoaded(at=EPOCH + number, model="nms", version="1") for number in range(1000)]

    found = meanwhile(loads, INSPECT, EPOCH, EPOCH + 2000, fleet)

    assert found == tuple(loads[-MOST_ACTIONS:])
