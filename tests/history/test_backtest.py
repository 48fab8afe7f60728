"""When a rule would have fired."""

from __future__ import annotations

import json
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import serving
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import BadAnswer
from tritonobs.extensions.history import backtest as burns
from tritonobs.extensions.history.backtest import Backtest, backtest_limit
from tritonobs.render.rules import mixin_knobs
from tritonobs.timings.episodes import Episode
from tritonobs.timings.promql import Span
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Prometheus(BaseHTTPRequestHandler):
    rules: tuple[dict[str, object], ...] = ()
    asked: list[str] = []  # noqa: RUF012 (one server, one test at a time)

    def do_GET(self) -> None:
        path, fields = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/api/v1/rules":
            data: object = {"groups": [{"name": "g", "rules": list(self.rules)}]}
        else:
            self.asked.append(fields["query"][0])
            values = [] if "nobody" in fields["query"][0] else [[100, "9"], [115, "12"]]
            data = {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}
        body = json.dumps({"status": "success", "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


@pytest.fixture(name="client")
def _client() -> Iterator[PrometheusClient]:
    _Prometheus.asked.clear()
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Prometheus)) as server:
        yield PrometheusClient(f"http://127.0.0.1:{server.server_port}")


def _alert(name: str, query: str) -> dict[str, object]:
    return {"name": name, "type": "alerting", "query": query, "duration": 0, "keepFiringFor": 60}


def _record(name: str, query: str) -> dict[str, object]:
    return {"name": name, "type": "recording", "query": query}


SPAN = Span(start=0.0, end=3600.0)


def test_the_rule_that_runs_is_replayed_with_another_limit(client: PrometheusClient) -> None:
    """Only the limit is exchanged, everywhere it stands; names that merely look like it stay."""
    limit = "subject:tritonobs_qps_limit:held"
    _Prometheus.rules = (
        _alert("TritonQpsAboveLimit", f"x > {limit} + sqrt({limit}) or {limit}_old > 1"),
        _alert("TritonQpsNearLimit", f"x > 0.8 * {limit}"),
    )

    found = backtest_limit(client, SPAN, model='a"b', version="2", qps=Decimal(12))

    instead = '(subject:triton_requests:rate5m{model="a\\"b",version="2"} * 0 + 12)'
    assert _Prometheus.asked[1:] == [f"x > {instead} + sqrt({instead}) or {limit}_old > 1"]
    assert found.episodes == (Episode(alert="TritonQpsAboveLimit", start=100, end=190, peak=12),)
    assert (found.firing_seconds, found.seen_seconds) == (90, 30)


def test_a_replay_leaves_the_limits_of_others_as_they_were(client: PrometheusClient) -> None:
    """Where the rule compares versions with their model, only the subject's limit is another one."""
    limit = "subject:tritonobs_qps_limit:held"
    query = f'x > {limit} unless {limit}{{version!=""}} >= {limit}{{model!="", version=""}}'
    _Prometheus.rules = (_alert("TritonQpsAboveLimit", query),)

    backtest_limit(client, SPAN, model="m", version="2", qps=Decimal(12))
    backtest_limit(client, SPAN, model="m", version="", qps=Decimal(12))

    ofs = [
        f'(subject:triton_requests:rate5m{{model="m",version="{version}"}} * 0 + 12)' for version in ("2", "")
    ]
    assert _Prometheus.asked[1::2] == [
        f'x > {ofs[0]} unless {ofs[0]} >= {limit}{{model!="", version=""}}',
        f'x > {ofs[1]} unless {limit}{{version!=""}} >= {ofs[1]}',
    ]


def test_a_replay_spells_out_what_the_rule_reads_of_the_comparison(client: PrometheusClient) -> None:
    """What was recorded of the limit that was in force says nothing of another one."""
    record, rates = "subject:tritonobs_limit_exceeded:rate", "subject:triton_requests_offered:near_limit"
    near = "subject:tritonobs_qps_limit:near"
    rows = (
        f'label_replace({rate} and on (model, version) {near}, "rate", "{name}", "", "")'
        for name, rate in (("short", "z"), ("mean", "avg_over_time(w[5m])"))
    )
    _Prometheus.rules = (
        _record(rates, " or ".join(rows)),
        _record(
            record,
            f'x > subject:tritonobs_qps_limit:held and sum by (model) ({rates}{{rate="short"}}) > {near} '
            f'and {rates}{{rate="mean"}} > {near}',
        ),
        _alert("TritonQpsAboveLimit", f"{record} or y"),
    )

    backtest_limit(client, SPAN, model="m", version="", qps=Decimal(12))

    limit = '(subject:triton_requests:rate5m{model="m",version=""} * 0 + 12)'
    assert _Prometheus.asked[1:] == [
        f"(x > {limit} and sum by (model) ((z)) > {limit} and (avg_over_time(w[5m])) > {limit}) or y"
    ]

    _Prometheus.rules = _Prometheus.rules[2:]
    with pytest.raises(BadAnswer, match=f"has loaded no record {record}; build and load the rules first"):
        backtest_limit(client, SPAN, model="m", version="", qps=Decimal(12))


def test_a_prometheus_without_the_rules_is_said(client: PrometheusClient) -> None:
    """No alerts, because nobody asked, is not "never fires"."""
    _Prometheus.rules = (_alert("Other", "up == 0"),)

    with pytest.raises(BadAnswer, match="build and load the rules first"):
        backtest_limit(client, SPAN, model="m", version="", qps=Decimal(1))


def test_a_past_that_nobody_recorded_is_said(client: PrometheusClient) -> None:
    """No history is not "would never have fired"."""
    _Prometheus.rules = (_alert("TritonQpsAboveLimit", "x > subject:tritonobs_qps_limit:held"),)

    with pytest.raises(BadAnswer, match=r'holds nothing of subject:triton_requests:rate5m\{model="nobody"'):
        backtest_limit(client, SPAN, model="nobody", version="", qps=Decimal(1))


def test_alerts_at_the_same_time_are_counted_once() -> None:
    """In the time for which at least one of them would have been firing."""
    fast, slow = Episode(alert="F", start=0, end=50, peak=1), Episode(alert="S", start=40, end=60, peak=1)
    both = Backtest(
        subject="",
        kind="objective",
        value=1,
        span_seconds=9,
        seen_seconds=9,
        step_seconds=1,
        episodes=(fast, slow),
    )
    assert both.firing_seconds == 60


@pytest.mark.parametrize(("days", "factors"), [(30, [14.4, 6, 3, 1]), (7, [3.36, 1.4, 1, 1])])
def test_an_objective_is_judged_at_the_rates_of_the_rules(days: int, factors: list[float]) -> None:
    """By budget share, period and window, and never while the SLO is met."""
    tiers = burns.burn_tiers(mixin_knobs({"sloPeriod": f"{days}d"}))

    assert [tier.factor for tier in tiers] == factors
    assert [tier.long_seconds for tier in tiers] == [3600, 6 * 3600, 86_400, 3 * 86_400]
    assert [tier.age_seconds for tier in tiers] == [0, 0, 12 * 3600, 86_400]


def test_bad_requests_are_looked_for_as_long_as_the_rules_do() -> None:
    """A burn to which nothing bad has come for this long is over."""
    knobs = mixin_knobs({})

    windows = [float(parse_duration(knobs[name])) for name in ("sloFreshWindow", "slowFreshWindow")]
    assert windows == [burns._FRESH_SECONDS, burns._SLOW_FRESH_SECONDS]
