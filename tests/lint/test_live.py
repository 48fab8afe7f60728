"""Expressions asked of a real Prometheus, with a recorded page of a real Triton or two days of history."""

import re
import time
from pathlib import Path

import pytest

from support.blocks import write_past
from support.exporters import Exporters
from support.linting import alert, command, panel, query
from support.programs import PrometheusProgram
from support.watched import Watched
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.errors import BadAnswer, TimedOut, Unreachable
from tritonobs.extensions.lint.linter import Linter, Options
from tritonobs.extensions.lint.live import Live
from tritonobs.timings.promql import Span

PAGE = Path(__file__).parent.parent / "cli" / "transcripts" / "page-1.prom"
SUCCESS = "sum by (model) (rate(nv_inference_request_success[1m]))"
FAILURE = "sum by (model) (rate(nv_inference_request_failure[1m]))"
DAYS, SCRAPE_SECONDS = 2, 60
BUSY_HOURS = ((10.0, 10.5), (20.0, 20.5))
"""When the card is at 0.95 instead of 0.5, in hours from the start."""
LATE_HOURS, GONE_HOURS = 36.0, 30.0


@pytest.fixture(name="prometheus", scope="module")
def _prometheus(tmp_path_factory):
    if programs.look("prometheus") is None:
        pytest.skip("prometheus is not installed: tritonobs tools")
    folder = tmp_path_factory.mktemp("prometheus")
    with (
        Exporters({"triton": PAGE.read_text()}) as exporters,
        exporters.prometheus(programs.find("prometheus"), [], folder) as running,
    ):
        client = PrometheusClient(running.url, timeout_seconds=60)
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

    assert told["unknown-series"].endswith("; here it gives nothing, and 5 series when fixed")
    assert re.search("; here it gives [0-9.e-]+, and [0-9.e-]+ when fixed$", told["guarded-denominator"])


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


def _history(start, end):
    """Samples, series by series: a request a second that waits a millisecond, and a card."""
    for name, value in (
        ("nv_gpu_utilization", lambda hours: 0.95 if any(a <= hours < b for a, b in BUSY_HOURS) else 0.5),
        ('nv_inference_request_success{model="m",version="1"}', lambda hours: hours * 3600),
        ('nv_inference_queue_duration_us{model="m",version="1"}', lambda hours: hours * 3600 * 1000),
        ('nv_inference_pending_request_count{model="m",version="1"}', lambda _: 2),
        (
            'nv_inference_pending_request_count{model="late",version="1"}',
            lambda hours: 2 if hours >= LATE_HOURS else None,
        ),
        ('nv_inference_count{model="late",version="1"}', lambda hours: hours * 3600),
        ('nv_inference_exec_count{model="m"}', lambda hours: hours if hours < GONE_HOURS else None),
    ):
        for at in range(start, end + 1, SCRAPE_SECONDS):
            held = value((at - start) / 3600)
            if held is not None:
                yield name, held, at


@pytest.fixture(name="past", scope="module")
def _past(tmp_path_factory):
    """The address of a Prometheus, and the span of its history."""
    if programs.look("prometheus") is None or programs.look("promtool") is None:
        pytest.skip("prometheus is not installed: tritonobs tools")
    folder = tmp_path_factory.mktemp("past")
    end = int(time.time()) // SCRAPE_SECONDS * SCRAPE_SECONDS
    start = end - DAYS * 86400
    write_past(_history(start, end), folder)
    with PrometheusProgram(programs.find("prometheus"), {"scrape_configs": []}, folder) as running:
        yield running.url, Span(start=start, end=end)


@pytest.fixture(name="live", scope="module")
def _live(past):
    return Live(PrometheusClient(past[0], timeout_seconds=60), past[1])


def _told(live, text, file="rules.yml"):
    linter = Linter(Options())
    linter.read_text(text, file)
    return [
        (one.id, one.finding.message.partition(": ")[2] if one.name else one.finding.message)
        for one in linter.result(live).problems
        if one.id.endswith("-here")
    ]


def _alert(expr, wait="0s", keep="0s"):
    text, _ = alert(expr)
    return text.replace("- alert:", f"- for: {wait}\n    keep_firing_for: {keep}\n    alert:")


def test_how_often_an_alert_would_have_fired_is_told(live):
    """Twice half an hour, less the waiting, more with what keeps it up."""
    ((waited, said),) = _told(live, _alert("nv_gpu_utilization > 0.9", wait="5m"))
    ((_, kept),) = _told(live, _alert("nv_gpu_utilization > 0.9", keep="10m"))

    assert waited == "fired-here"
    assert re.fullmatch(r"it would have fired 2 times, (49|50|51)m(\d+s)? in all, in (2d|1d23h)", said)
    assert re.fullmatch(r"it would have fired 2 times, 1h(19|20|21)m in all, in (2d|1d23h)", kept)


def test_an_alert_that_never_could_have_fired_says_how_close_it_came(live):
    """To a number above, to one below, and in time."""
    assert [
        _told(live, _alert(expr, wait))[0][1].split(": ")[1]
        for expr, wait in (
            ("nv_gpu_utilization > 0.97", "0s"),
            ("nv_gpu_utilization < 0.4", "0s"),
            ("nv_gpu_utilization > 0.9", "45m"),
        )
    ] == [
        "the value was at most 0.95, and it asks for > 0.97",
        "the value was at least 0.5, and it asks for < 0.4",
        "its condition never held for 45m",
    ]
    assert [name for name, _ in _told(live, _alert("nv_gpu_utilization > 0.97"))] == ["never-here"]


def test_an_alert_that_always_would_have_fired_is_a_warning(live):
    """Also one that this Prometheus has not loaded."""
    ((name, said),) = _told(live, _alert("nv_gpu_utilization > 0.1", wait="5m"))

    assert name == "always-here"
    assert re.fullmatch(r"it would have fired for (99|100)% of (2d|1d23h): does anyone act on it\?", said)


def test_a_panel_with_a_result_for_some_of_the_time_is_named(live):
    """Both series are there all the time, and one model of theirs is the same for a quarter of it."""
    ((name, said),) = _told(
        live, *panel("nv_inference_count / on (model) nv_inference_pending_request_count")
    )

    assert name == "rarely-here"
    assert re.fullmatch(
        r"it had a result for 2[456]% of the (2d|1d23h) in which all its series were there", said
    )


@pytest.mark.parametrize(
    ("text", "file"),
    [
        panel("sum by (model) (rate(nv_inference_request_success[5m]))"),
        query("nv_gpu_utilization > 0.9"),
        query("nv_inference_pending_request_count unless on (model) nv_inference_count"),
        query("rate(nv_inference_request_success[5m] offset 1d)"),
        query("sum(nv_inference_exec_count)"),
    ],
    ids=["all the time", "a filter", "a set", "another time", "no longer there"],
)
def test_what_was_there_or_may_be_empty_is_left_alone(live, text, file):
    """A series that ended in that time is none that never existed."""
    assert _told(live, text, file) == []


def test_what_a_mended_expression_gave_is_of_the_last_hour(live):
    """A request a second that waits a millisecond: half of it is lost by adding one."""
    linter = Linter(Options())
    linter.read_text(
        "rate(nv_inference_queue_duration_us[5m]) / (1 + rate(nv_inference_request_success[5m]))", "a.promql"
    )

    told = {one.id: one.finding.message for one in linter.result(live).problems}

    assert told["guarded-denominator"].endswith("; in the last hour it gives 500, and 1000 when fixed")


def test_the_command_asks_and_says_what_it_did_not_ask(past, tmp_path, monkeypatch):
    """Remarks fail nothing; a variable of Grafana has no value here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yml").write_text(_alert("nv_gpu_utilization > 0.97"))
    (tmp_path / "board.json").write_text(panel('nv_gpu_utilization{gpu_uuid=~"$card"}')[0])

    code, stdout, stderr = command("--prometheus", past[0], "--over", "1d", ".")

    assert code == 0
    assert re.search(
        r"never-here: TritonCase: it would not have fired in the (1d|23h(\d+m)?) that are recorded: "
        r"the value was at most 0\.5, and it asks for > 0\.97 \[info\]",
        stdout,
    )
    assert stderr.splitlines()[-1] == ("1 expression with variables of Grafana was not sent to Prometheus")


def test_without_a_prometheus_the_command_ends_with_3(tmp_path):
    """As wherever a server does not answer."""
    (tmp_path / "rules.yml").write_text(_alert("nv_gpu_utilization > 0.97"))

    code, stdout, stderr = command("--prometheus", "http://127.0.0.1:1", str(tmp_path))

    assert (code, stdout) == (3, "")
    assert "http://127.0.0.1:1" in stderr


class Silent:
    """A Prometheus that has everything now, and answers about the past as it is told to."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def query(self, expression):
        """One reading, but for alerts that fire."""
        return () if "ALERTS" in expression else (Reading(labels={}, value=1.0, time=0.0),)

    def query_range(self, *_, **__):
        """No answer."""
        self.asked += 1
        raise self.answer


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            BadAnswer("http://p refused: query would load too many samples"),
            "query would load too many samples",
        ),
        (TimedOut("http://p gave no answer within 5 s"), "http://p gave no answer within 5 s"),
    ],
)
def test_what_was_not_answered_is_said(answer, says):
    """As a remark; everything else is judged."""
    live = Live(Silent(answer), Span(start=0.0, end=86400.0))

    assert _told(live, _alert("nv_gpu_utilization > 0.9")) == [
        ("unasked-here", f"its history could not be read: {says}")
    ]


def test_a_prometheus_that_is_gone_ends_the_command():
    """With 3, as always."""
    with pytest.raises(Unreachable):
        _told(
            Live(Silent(Unreachable("gone")), Span(start=0.0, end=86400.0)),
            _alert("nv_gpu_utilization > 0.9"),
        )


def test_after_a_minute_no_more_is_asked_about_the_past(monkeypatch):
    """Each alert that was not asked about says so."""
    monkeypatch.setattr("tritonobs.extensions.lint.live.MOST_SECONDS", 0.0)
    prometheus = Silent(TimedOut("never"))

    said = _told(Live(prometheus, Span(start=0.0, end=86400.0)), _alert("nv_gpu_utilization > 0.9"))

    assert said == [("unasked-here", "its history was not read: the 0 s for that are over")]
    assert prometheus.asked == 0
