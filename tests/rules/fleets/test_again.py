"""What comes and goes is two messages at most; what comes once ends as ever."""

from __future__ import annotations

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.spans import FOREVER
from support.fleet_sim.world import live

FIRST, LASTING, HOUR, SECONDS = 3600, 300, 3600, 18_000
ALERTS = ("TritonModelUnloaded", "TritonWorkerDead", "TritonInvalidInputSurge", "TritonQpsAboveLimit")


def happens(alert, spans, *, scrape=15):
    """A fleet to which the alert's cause happens in these stretches of time."""
    fleet = Fleet(seconds=SECONDS, scrape_seconds=scrape, seed=1)

    def during(value, otherwise=0):
        curve = otherwise
        for start, end in spans:
            curve = between(start, end, value, otherwise=curve)
        return curve

    edges = [0.0, *(edge for span in spans for edge in span), FOREVER]
    how = {
        "TritonModelUnloaded": {"loaded": list(zip(edges[::2], edges[1::2], strict=True))},
        "TritonWorkerDead": {
            "dead": during(0.5),
            "stuck": spans,
            "reloads": tuple(end for _, end in spans),
        },
        "TritonInvalidInputSurge": {"invalid": during(0.3)},
        "TritonQpsAboveLimit": {"qps": during(40, otherwise=8)},
    }[alert]
    server = fleet.server()
    fleet.serve(server, **{"qps": 8, "workers": 1 if alert == "TritonWorkerDead" else 2, **how})
    fleet.serve(server, "ocr", qps=4)
    return fleet.owns("nms", "1").owns("ocr", "1").limits("nms", 20)


@pytest.mark.parametrize("minutes", [20, 40])
@pytest.mark.parametrize("alert", ALERTS)
def test_what_comes_and_goes_is_told_twice(engine, alert, minutes):
    """The second time it stays, until an hour has passed without it."""
    spans = [(at, at + LASTING) for at in range(FIRST, FIRST + 2 * HOUR, minutes * 60)]
    last = spans[-1][1]

    found = live(engine, happens(alert, spans), alert).fired(alert)

    assert len(found) == 2, found
    assert spans[1][0] < found[1].since < spans[1][1]
    assert last + HOUR - LASTING < found[1].until < last + HOUR + 11 * 60


@pytest.mark.parametrize("scrape", [10, 30])
@pytest.mark.parametrize("alert", ALERTS)
def test_beginnings_are_counted_at_other_intervals(engine, alert, scrape):
    """Also where the wait of the alert is no multiple of the interval."""
    spans = [(at, at + LASTING) for at in range(FIRST, FIRST + 2 * HOUR, 1200)]

    found = live(engine, happens(alert, spans, scrape=scrape), alert).fired(alert)

    assert len(found) == 2, found
    assert spans[1][0] < found[1].since < spans[1][1]
    assert found[1].until > spans[-1][1]


@pytest.mark.parametrize("alert", ["TritonModelUnloaded", "TritonQpsAboveLimit"])
def test_what_comes_back_soon_is_told_twice(engine, alert):
    """As soon as its alert has ended; it need not have been quiet for any longer."""
    spans = [(at, at + 150) for at in range(FIRST, FIRST + 2 * HOUR, 540)]

    found = live(engine, happens(alert, spans), alert).fired(alert)

    assert len(found) == 2, found
    assert found[1].until > spans[-1][1]


@pytest.mark.parametrize("alert", ALERTS)
def test_what_comes_once_ends_soon(engine, alert):
    """As does what came more than three hours before."""
    spans = [(FIRST, FIRST + LASTING), (FIRST + 3.5 * HOUR, FIRST + 3.5 * HOUR + LASTING)]

    found = live(engine, happens(alert, spans), alert).fired(alert)

    assert len(found) == 2, found
    for one, (start, end) in zip(found, spans, strict=True):
        assert start < one.since < one.until < end + 700


def test_what_is_too_short_for_a_page_does_not_count(engine):
    """It was over before the alert had waited, time and again."""
    spans = [(at, at + 75) for at in range(FIRST, FIRST + 2 * HOUR, 1200)]

    assert live(engine, happens("TritonModelUnloaded", spans), "TritonModelUnloaded").all_fired() == {}
