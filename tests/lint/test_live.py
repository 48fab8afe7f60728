"""Expressions asked of a real Prometheus that scrapes a recorded page of a real Triton."""

import re
from pathlib import Path

import pytest

from support.exporters import Exporters
from support.linting import alert, panel, query
from support.watched import Watched
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.errors import Unreachable
from tritonobs.extensions.lint.linter import Linter, Options
from tritonobs.extensions.lint.live import Live

PAGE = Path(__file__).parent.parent / "cli" / "transcripts" / "page-1.prom"
SUCCESS = "sum by (model) (rate(nv_inference_request_success[1m]))"
FAILURE = "sum by (model) (rate(nv_inference_request_failure[1m]))"


@pytest.fixture(name="prometheus", scope="module")
def _prometheus(tmp_path_factory):
    if programs.look("prometheus") is None:
        pytest.skip("prometheus is not installed: tritonobs tools")
    folder = tmp_path_factory.mktemp("prometheus")
    with (
        Exporters({"triton": PAGE.read_text()}) as exporters,
        exporters.prometheus(programs.find("prometheus"), [], folder) as running,
    ):
        client = PrometheusClient(running.url)
        Watched(client).until(lambda: not client.query(SUCCESS))
        yield client


def _said(prometheus, text, file):
    """Id, message and hint of what is said beside the checks."""
    linter = Linter(Options())
    linter.read_text(text, file)
    return [
        (one.id, one.finding.message.rpartition("TritonCase: ")[2], one.finding.hint)
        for one in linter.result(Live(prometheus)).problems
        if one.id.endswith("-here")
    ]


def test_a_series_that_is_not_there_is_named(prometheus):
    """With the label that excludes all of them, and the values that there are."""
    absent = query("nv_model_load_duration_secs > 5")
    either = alert(f"nv_model_load_duration_secs > 5 or {FAILURE} > 1000000")
    other = alert('sum(rate(nv_inference_request_success{model=~"detectors|x", job="triton"}[1m])) < 1')

    assert _said(prometheus, *absent) == [
        ("not-here", "no server of this Prometheus has nv_model_load_duration_secs", "")
    ]
    assert _said(prometheus, *either) == _said(prometheus, *absent)
    assert _said(prometheus, *other) == [
        (
            "not-here",
            'no nv_inference_request_success has model=~"detectors|x" here, so the alert cannot fire',
            "there are: detector, inspect, inspect_ensemble, nms, preprocess",
        )
    ]


def test_an_expression_without_a_result_is_named(prometheus):
    """Every series is there, and the sides do not match, or Prometheus refuses to join them."""
    split = query("rate(nv_inference_request_failure[1m]) / rate(nv_inference_request_success[1m])")
    many = query("nv_inference_request_failure / on (model) nv_inference_request_failure")

    ((name, message, _),) = _said(prometheus, *split)
    ((refused, words, _),) = _said(prometheus, *many)

    assert (name, "do the two sides not match?" in message) == ("empty-here", True)
    assert (refused, "many-to-many matching not allowed" in words) == ("fails-here", True)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        query(f"{FAILURE} / {SUCCESS}"),
        alert(f"({SUCCESS} + {FAILURE}) / 2 > 1000000"),
        alert('absent(nv_inference_request_success{model="gone"})'),
        panel("sum(rate(nv_inference_request_success[$__rate_interval]))"),
        panel('rate(nv_inference_request_success{model="$model"}[5m])'),
        query("rate(http_requests_total[5m])"),
        query("nv_inference_pending_request_count > 1000"),
    ],
)
def test_what_has_a_result_is_left_alone(prometheus, text, file):
    """Also an alert that does not fire, and what only Grafana could fill in."""
    assert _said(prometheus, text, file) == []


def test_what_a_mended_expression_gives_is_told(prometheus):
    """Beside what the written one gives; series that are not there give nothing."""
    linter = Linter(Options())
    linter.read_text("rate(nv_inference_request_success_total[1m])", "a.promql")
    linter.read_text("nv_inference_queue_duration_us / (9000 + nv_inference_request_success)", "b.promql")

    told = {one.id: one.finding.message for one in linter.result(Live(prometheus)).problems}

    assert told["unknown-series"].endswith("; here it gives nothing, and 5 series when mended")
    assert re.search("; here it gives [0-9.e-]+, and [0-9.e-]+ when mended$", told["guarded-denominator"])


class Answers:
    """A Prometheus in which an alert has fired for so many of the day's 288 looks."""

    def __init__(self, looks):
        self.looks = looks

    def query(self, expression):
        """One reading for any question."""
        value = self.looks if expression.startswith('max(sum_over_time(ALERTS{alertname="TritonCase"') else 1
        return (Reading(labels={}, value=value, time=0.0),)


@pytest.mark.parametrize(("looks", "found"), [(288, ["always-here"]), (250, [])])
def test_an_alert_that_fires_all_day_is_named(looks, found):
    """One day is too long for a test, so the answer is made here."""
    assert [one for one, _, _ in _said(Answers(looks), *alert(f"{SUCCESS} > 0.1"))] == found


def test_without_an_answer_it_could_not_be_done():
    """Which the command line ends with 3 for."""
    with pytest.raises(Unreachable):
        _said(PrometheusClient("http://127.0.0.1:1", retries=0), *query(SUCCESS))
