"""Prometheus' API as typed answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import PrometheusClient, Reading, Series
from tritonobs.errors import BadAnswer, TimedOut

if TYPE_CHECKING:
    from conftest import Wire


def _success(data: object) -> dict[str, object]:
    return {"status": "success", "data": data}


def test_query_reads_a_vector_with_nan_and_infinity(wire: Wire) -> None:
    """Values travel as text, not-a-number included; labels stay as they are, hostile ones too."""
    hostile = 'a"b{}\n☃'
    result = [
        {"metric": {"model": hostile}, "value": [10.5, "1.5"]},
        {"metric": {}, "value": [10.5, "NaN"]},
        {"metric": {}, "value": [10.5, "+Inf"]},
    ]
    wire.says("/api/v1/query", _success({"resultType": "vector", "result": result}))

    answer = PrometheusClient(wire.url).query("x", at=10.5)

    assert answer[0] == Reading(labels={"model": hostile}, value=1.5, time=10.5)
    assert math.isnan(answer[1].value)
    assert math.isinf(answer[2].value)
    assert wire.asked == [("GET", "/api/v1/query", {"query": ["x"], "time": ["10.500"]})]


def test_query_reads_a_scalar_as_one_reading(wire: Wire) -> None:
    """`time()` is a question too."""
    wire.says("/api/v1/query", _success({"resultType": "scalar", "result": [10, "42"]}))

    assert PrometheusClient(wire.url).query("42") == (Reading(labels={}, value=42.0, time=10.0),)


def test_a_long_query_is_sent_as_a_form(wire: Wire) -> None:
    """What does not fit into a URL still reaches the server whole."""
    wire.says("/api/v1/query", _success({"resultType": "vector", "result": []}))
    expression = "x" * 5000

    PrometheusClient(wire.url).query(expression)

    assert wire.asked == [("POST", "/api/v1/query", {"query": [expression]})]


def test_query_range_reads_points(wire: Wire) -> None:
    """A range is (time, value) pairs per series."""
    result = [{"metric": {"m": "a"}, "values": [[1, "2"], [2, "3"]]}]
    wire.says("/api/v1/query_range", _success({"resultType": "matrix", "result": result}))

    answer = PrometheusClient(wire.url).query_range("x", start=1, end=2, step_seconds=1)

    assert answer == (Series(labels={"m": "a"}, points=((1.0, 2.0), (2.0, 3.0))),)


def test_a_refused_query_carries_prometheus_own_words(wire: Wire) -> None:
    """A parse error is shown as Prometheus says it, not as a status code."""
    wire.says(
        "/api/v1/query",
        {"status": "error", "errorType": "bad_data", "error": "parse error at char 3"},
        status=400,
    )

    with pytest.raises(BadAnswer, match="bad_data: parse error at char 3"):
        PrometheusClient(wire.url).query("x{")


@pytest.mark.parametrize("kind", ["timeout", "canceled"])
def test_a_query_prometheus_gave_up_is_timed_out(wire: Wire, kind: str) -> None:
    """Prometheus' own timeout is ours too; a query that it stopped says nothing about the query either."""
    wire.says("/api/v1/query", {"status": "error", "errorType": kind, "error": "too slow"}, status=503)

    with pytest.raises(TimedOut, match="too slow"):
        PrometheusClient(wire.url).query("x")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([], id="a list"),
        pytest.param({"status": "success"}, id="success without data"),
        pytest.param(_success({"resultType": "vector"}), id="no result"),
        pytest.param(_success({"resultType": "vector", "result": [{"metric": {}}]}), id="no value"),
        pytest.param(
            _success({"resultType": "vector", "result": [{"metric": {}, "value": [1, "x"]}]}), id="words"
        ),
    ],
)
def test_an_answer_of_another_shape_is_a_bad_answer(wire: Wire, body: object) -> None:
    """Something else listening on that port never becomes a traceback."""
    wire.says("/api/v1/query", body)

    with pytest.raises(BadAnswer):
        PrometheusClient(wire.url).query("x")


def test_targets_rules_and_alerts_are_read(wire: Wire) -> None:
    """The three lists triage stands on."""
    wire.says(
        "/api/v1/targets",
        _success(
            {
                "activeTargets": [
                    {"scrapeUrl": "http://h/m", "health": "down", "lastError": "eof", "labels": {}}
                ]
            }
        ),
    )
    wire.says(
        "/api/v1/rules",
        _success(
            {
                "groups": [
                    {
                        "name": "g",
                        "rules": [{"name": "r", "type": "recording", "query": "1", "health": "ok"}],
                    },
                ]
            }
        ),
    )
    alert = {"labels": {"alertname": "A"}, "state": "firing", "activeAt": "t", "value": "1e+00"}
    wire.says("/api/v1/alerts", _success({"alerts": [alert]}))
    client = PrometheusClient(wire.url)

    assert [(target.health, target.last_error) for target in client.targets()] == [("down", "eof")]
    assert [(rule.group, rule.name, rule.kind) for rule in client.rules()] == [("g", "r", "recording")]
    assert [(found.name, found.state, found.value) for found in client.alerts()] == [("A", "firing", 1.0)]


def test_targets_and_alerts_of_another_cluster_are_left_out(wire: Wire) -> None:
    """Those that name no cluster are every cluster's."""
    own = [
        {"cluster": name, "alertname": name} if name else {"alertname": "any"}
        for name in ("east", "west", "")
    ]
    alerts = [{"labels": labels, "state": "firing", "activeAt": "t", "value": "1"} for labels in own]
    targets = [
        {"scrapeUrl": "http://h/m", "health": "up", "lastError": "", "labels": labels} for labels in own
    ]
    wire.says("/api/v1/alerts", _success({"alerts": alerts}))
    wire.says("/api/v1/targets", _success({"activeTargets": targets}))
    client = PrometheusClient(wire.url, cluster="west")

    assert [alert.name for alert in client.alerts()] == ["west", "any"]
    assert [target.labels["alertname"] for target in client.targets()] == ["west", "any"]


def test_ready_is_false_while_prometheus_starts(wire: Wire) -> None:
    """503 means not yet, not an error."""
    wire.says("/-/ready", "Service Unavailable", status=503)

    assert not PrometheusClient(wire.url).ready()
