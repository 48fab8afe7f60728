"""When a rule would have fired."""

from __future__ import annotations

import json
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import serving
from tritonobs.clients.prometheus import PrometheusClient, Rule
from tritonobs.errors import BadAnswer
from tritonobs.extensions.history.backtest import Backtest, Episode, backtest_limit, episodes_of, joined
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 15.0


def _rule(*, wait: float = 0.0, keep: float = 0.0) -> Rule:
    return Rule(
        group="g",
        name="A",
        kind="alerting",
        query="",
        health="ok",
        last_error="",
        state="inactive",
        wait_seconds=wait,
        keep_seconds=keep,
    )


def _points(*moments: int) -> tuple[tuple[float, float], ...]:
    return tuple((moment * STEP, float(moment)) for moment in moments)


@pytest.mark.parametrize(
    ("moments", "rule", "episodes"),
    [
        pytest.param((), _rule(), [], id="never"),
        pytest.param((1, 2, 3), _rule(), [(15, 60, 3)], id="while the condition holds"),
        pytest.param((1, 2, 10, 11), _rule(), [(15, 45, 2), (150, 180, 11)], id="two times"),
        pytest.param((1, 2, 3, 4), _rule(wait=30), [(45, 75, 4)], id="after it held for a while"),
        pytest.param((1, 3, 5), _rule(wait=30), [], id="too short each time"),
        pytest.param((1, 2, 4), _rule(keep=60), [(15, 135, 4)], id="kept through a dip: one alert"),
        pytest.param((1, 9), _rule(keep=60), [(15, 90, 1), (135, 210, 9)], id="kept, but not that long"),
        pytest.param((1, 2, 3, 6), _rule(wait=30, keep=60), [(45, 165, 6)], id="kept: no second wait"),
    ],
)
def test_episodes_begin_and_end_as_prometheus_would(
    moments: tuple[int, ...], rule: Rule, episodes: list[tuple[float, float, float]]
) -> None:
    """`for` delays, `keep_firing_for` joins."""
    found = episodes_of(_points(*moments), rule, STEP)

    assert found == tuple(
        Episode(alert="A", start=start, end=end, peak=peak) for start, end, peak in episodes
    )


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
    record = "subject:tritonobs_limit_exceeded:rate"
    _Prometheus.rules = (
        _record(record, "x > subject:tritonobs_qps_limit:held and z > subject:tritonobs_qps_limit:near"),
        _alert("TritonQpsAboveLimit", f"{record} or y"),
    )

    backtest_limit(client, SPAN, model="m", version="", qps=Decimal(12))

    limit = '(subject:triton_requests:rate5m{model="m",version=""} * 0 + 12)'
    assert _Prometheus.asked[1:] == [f"(x > {limit} and z > {limit}) or y"]

    _Prometheus.rules = _Prometheus.rules[1:]
    with pytest.raises(BadAnswer, match=f"has loaded no record {record}; build and load the rules first"):
        backtest_limit(client, SPAN, model="m", version="", qps=Decimal(12))


def test_episodes_of_a_model_and_its_version_are_one() -> None:
    """Both burn, and one message is sent; what comes later is another episode."""
    first, second, third = (
        Episode(alert="F", start=start, end=end, peak=peak)
        for start, end, peak in ((10, 50, 0.2), (40, 60, 0.5), (90, 95, 0.3))
    )

    assert joined([third, second, first]) == (Episode(alert="F", start=10, end=60, peak=0.5), third)


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


def test_what_goes_on_at_the_end_ends_there() -> None:
    """Nobody knows what comes, and alerts at the same time are counted once."""
    (episode,) = episodes_of(_points(1, 2, 3), _rule(keep=600), STEP, until=50.0)
    assert (episode.start, episode.end) == (15.0, 50.0)

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
