"""The simulator itself: its Prometheus is told what it should be, and its rules live as in Prometheus."""

from types import SimpleNamespace

import numpy as np
import pytest

from support.case import Case, Check
from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live, product_rules
from support.promtool import seen
from support.simulate import series_name
from tritonobs import programs

RECORDS = (
    "slo:sli_error:ratio_rate1h",
    "slo:period_error_budget_remaining:ratio",
    "subject:tritonobs_qps_limit:held",
)
ALERTS = ("TritonQpsAboveLimit", "TritonServerDown", "TritonErrorBudgetBurnFast", "TritonModelUnloaded")


def busy_fleet(**options):
    """Overflow, errors, a gap, a restart and a model that goes, in 25 minutes."""
    fleet = Fleet(seconds=1500, seed=3, **options)
    server = fleet.server("triton-1", phase_seconds=0, silent=[(700, 760)])
    fleet.serve(server, qps=between(300, 500, 30, otherwise=5), raised=between(600, 900, 0.5))
    other = fleet.server("triton-2", phase_seconds=0, restarts=[(800, 890)])
    fleet.serve(other, "ocr", qps=3, loaded=[(0, 1000)], bounds=None)
    fleet.owns("nms", "1", team="vision").owns("ocr", "1").limits("nms", 8).limits("ocr", 2, version="1")
    return fleet.promises("nms").promises("nms", version="1")


def of_one_interval():
    """The product's rules, all groups evaluated every 15 s: what promtool can do, too."""
    return [{**group, "interval": "15s"} for group in product_rules(15)]


def grid(fleet):
    """The fleet as promtool takes it: a value for each scrape, None where there is none."""
    series = {}
    for one in fleet.series(2**40):
        values = [None] * (fleet.seconds // 15 + 1)
        for at, value in zip((one.times_ms - 2**40) // 15_000, one.values, strict=True):
            values[at] = None if np.isnan(value) else float(value)
        labels = dict(one.labels)
        series[series_name(labels.pop("__name__"), labels)] = values
    return SimpleNamespace(series=series, scrape_seconds=15)


def promtool_reads(groups, expressions, folder):
    """What promtool reads at each (expression, second); nothing is as expected, so it tells all."""
    checks = tuple(Check(expr=expr, minute=at / 60, samples={'{never="so"}': 1}) for expr, at in expressions)
    case = Case(says="all", world=grid(busy_fleet()), rules=(*RECORDS, *ALERTS), checks=checks)
    answers = seen(programs.find("promtool"), groups, case, folder)
    return [
        {
            frozenset(pair for pair in labels if pair[0] != "__name__"): value
            for labels, value in answer.items()
        }
        for answer in answers
    ]


def test_rules_and_alerts_live_as_in_the_rule_manager_of_prometheus(engine, tmp_path):
    """Records and states of alerts are what promtool reads, which runs Prometheus' own manager."""
    groups = of_one_interval()
    lived = live(engine, busy_fleet(), *RECORDS, *ALERTS, "ALERTS", groups=groups, phases=None)
    asked = [(expr, at) for expr in (*RECORDS, "ALERTS", "ALERTS_FOR_STATE") for at in range(120, 1500, 30)]

    theirs = promtool_reads(groups, asked, tmp_path)

    assert all(lived.fired(name) for name in ALERTS)
    assert sum(map(len, theirs)) > 250
    for (expr, at), answer in zip(asked, theirs, strict=True):
        mine = lived.samples(expr, at)
        if expr == "ALERTS_FOR_STATE":
            mine = {labels: value - lived.start_ms / 1000 for labels, value in mine.items()}
        assert mine == pytest.approx(answer, rel=1e-9), (expr, at)
