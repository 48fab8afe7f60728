"""What a backtest says is what the rules did: the same world, judged by both."""

from decimal import Decimal

import pytest

from support.fleet_sim.curves import every, steps
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live, product_rules
from tritonobs.clients.prometheus import PrometheusClient, Rule
from tritonobs.extensions.history.backtest import backtest_limit, backtest_objective
from tritonobs.timings.promql import Span

HOUR = 3600
TIERS = [f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long")]
RATIOS = [
    f"slo:sli_error:ratio_rate{window}" for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "30d")
]
COUNTS = ["slo:sli_bad_requests:increase", "slo:sli_bad_requests:sampled"]
LIMIT = "TritonQpsAboveLimit"
CALM = steps((0, 0))
ANSWER_SECONDS = 300
"""For hours at once, at the lowest priority of a busy machine."""


class Loaded(PrometheusClient):
    """The engine loads no rules; it is told here which ones made its records."""

    def rules(self):
        """The product's rules, as the API would list them."""
        return tuple(
            Rule(
                group=group["name"],
                name=rule.get("alert") or rule["record"],
                kind="alerting" if "alert" in rule else "recording",
                query=rule["expr"],
                health="ok",
                last_error="",
                state="inactive",
                wait_seconds=0.0,
                keep_seconds=60.0 if rule.get("keep_firing_for") == "1m" else 0.0,
            )
            for group in product_rules(15)
            for rule in group["rules"]
        )


def replayed(lived):
    """A client of the engine, and the span of the world in it."""
    start = lived.start_ms / 1000
    return Loaded(lived.engine.url, timeout_seconds=ANSWER_SECONDS), Span(start=start, end=start + lived.end)


BURNS = [
    pytest.param(steps((2 * HOUR, 1), (2 * HOUR + 600, 0)), id="an outage"),
    pytest.param(steps((2 * HOUR, 0.1), (3 * HOUR, 0)), id="a tenth for an hour"),
    pytest.param(steps((2 * HOUR, 0.01), (5 * HOUR, 0)), id="one in a hundred for three hours"),
    pytest.param(every(600, 60, 0.5, first=2 * HOUR), id="now and then"),
    pytest.param(CALM, id="never"),
]


@pytest.mark.parametrize("objective", ["0.999", "0.99"])
@pytest.mark.parametrize("raised", BURNS)
def test_an_objective_would_have_fired_when_its_rules_do(engine, raised, objective):
    """Begin and end of every page within three evaluations, whatever objective was in force then."""
    other = "0.99" if objective == "0.999" else "0.999"
    truth, tried = (Fleet(seconds=7 * HOUR, seed=3) for _ in range(2))
    for fleet, promised in ((truth, objective), (tried, other)):
        fleet.serve(fleet.server(), qps=20, bounds=None, raised=raised)
        fleet.owns("nms", "1").promises("nms", float(promised))
    fired = live(engine, truth, *TIERS)
    client, span = replayed(live(engine, tried, *TIERS, *RATIOS, *COUNTS))

    found = backtest_objective(client, span, model="nms", slo="availability", objective=Decimal(objective))

    def rounded(pages):
        return sorted((alert, since, min(until, 7 * HOUR)) for alert, since, until in pages)

    wanted = rounded(
        (alert, one.since, one.until or fired.end) for alert in TIERS for one in fired.fired(alert)
    )
    got = rounded((one.alert, one.start - span.start, one.end - span.start) for one in found.episodes)
    assert [page[0] for page in got] == [page[0] for page in wanted]
    for (alert, *moments), (_, *true) in zip(got, wanted, strict=True):
        assert moments == pytest.approx(true, abs=400 if alert in TIERS[1:] else 100), alert


@pytest.mark.parametrize("limit", [8, 30])
def test_a_limit_would_have_fired_when_its_rule_does(engine, limit):
    """A quarter of an hour at 20 requests/s: above 8, and within 30, whatever the limit was then."""
    truth, tried = (Fleet(seconds=2 * HOUR, seed=4) for _ in range(2))
    for fleet, qps in ((truth, limit), (tried, 38 - limit)):
        fleet.serve(fleet.server(), qps=steps((0, 5), (HOUR, 20), (HOUR + 900, 5)), bounds=None)
        fleet.owns("nms", "1").limits("nms", qps)
    fired = live(engine, truth, LIMIT).fired(LIMIT, version="")
    client, span = replayed(live(engine, tried, LIMIT, "subject:triton_requests:rate5m"))

    found = backtest_limit(client, span, model="nms", version="", qps=Decimal(limit))

    assert len(found.episodes) == len(fired) == (limit == 8)
    for got, wanted in zip(found.episodes, fired, strict=True):
        assert (got.start - span.start, got.end - span.start) == pytest.approx(
            (wanted.since, wanted.until), abs=60
        )
