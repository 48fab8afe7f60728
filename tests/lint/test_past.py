"""What a real Prometheus with two days of history says of alerts and panels, and what it does not say."""

import re
import subprocess
import time

import pytest

from support.linting import alert, command, panel, query
from support.programs import PrometheusProgram
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.errors import BadAnswer, TimedOut, Unreachable
from tritonobs.extensions.lint import past
from tritonobs.extensions.lint.linter import Linter, Options
from tritonobs.extensions.lint.live import Live
from tritonobs.timings.promql import Span

DAYS, SCRAPE_SECONDS = 2, 60
BUSY_HOURS = ((10.0, 10.5), (20.0, 20.5))
"""When the card is at 0.95 instead of 0.5, in hours from the start."""
LATE_HOURS, GONE_HOURS = 36.0, 30.0


def _history(start, end):
    """OpenMetrics, series by series: a request a second that waits a millisecond, and a card."""
    yield "# TYPE nv_gpu_utilization gauge"
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
                yield f"{name} {held:g} {at}"
    yield "# EOF"


@pytest.fixture(name="past", scope="module")
def _past(tmp_path_factory):
    """The address of a Prometheus, and the span of its history."""
    if programs.look("prometheus") is None or programs.look("promtool") is None:
        pytest.skip("prometheus is not installed: tritonobs tools")
    folder = tmp_path_factory.mktemp("past")
    end = int(time.time()) // SCRAPE_SECONDS * SCRAPE_SECONDS
    start = end - DAYS * 86400
    (folder / "history.om").write_text("\n".join(_history(start, end)) + "\n")
    subprocess.run(
        [
            *(str(programs.find("promtool")), "tsdb", "create-blocks-from", "openmetrics"),
            *(str(folder / "history.om"), str(folder / "data")),
        ],
        check=True,
        capture_output=True,
    )
    with PrometheusProgram(programs.find("prometheus"), {"scrape_configs": []}, folder) as running:
        yield running.url, Span(start=start, end=end)


@pytest.fixture(name="live", scope="module")
def _live(past):
    return Live(PrometheusClient(past[0], timeout_seconds=60), past[1])


def _said(live, text, file="rules.yml"):
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
    ((waited, said),) = _said(live, _alert("nv_gpu_utilization > 0.9", wait="5m"))
    ((_, kept),) = _said(live, _alert("nv_gpu_utilization > 0.9", keep="10m"))

    assert waited == "fired-here"
    assert re.fullmatch(r"it would have fired 2 times, (49|50|51)m(\d+s)? in all, in (2d|1d23h)", said)
    assert re.fullmatch(r"it would have fired 2 times, 1h(19|20|21)m in all, in (2d|1d23h)", kept)


def test_an_alert_that_never_could_have_fired_says_how_close_it_came(live):
    """To a number above, to one below, and in time."""
    assert [
        _said(live, _alert(expr, wait))[0][1].split(": ")[1]
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
    assert [name for name, _ in _said(live, _alert("nv_gpu_utilization > 0.97"))] == ["never-here"]


def test_an_alert_that_always_would_have_fired_is_a_warning(live):
    """Also one that this Prometheus has not loaded."""
    ((name, said),) = _said(live, _alert("nv_gpu_utilization > 0.1", wait="5m"))

    assert name == "always-here"
    assert re.fullmatch(r"it would have fired for (99|100)% of (2d|1d23h): does anyone act on it\?", said)


def test_a_panel_with_a_result_for_some_of_the_time_is_named(live):
    """Both series are there all the time, and one model of theirs is the same for a quarter of it."""
    ((name, said),) = _said(
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
    assert _said(live, text, file) == []


def test_what_a_mended_expression_gave_is_of_the_last_hour(live):
    """A request a second that waits a millisecond: half of it is lost by adding one."""
    linter = Linter(Options())
    linter.read_text(
        "rate(nv_inference_queue_duration_us[5m]) / (1 + rate(nv_inference_request_success[5m]))", "a.promql"
    )

    told = {one.id: one.finding.message for one in linter.result(live).problems}

    assert told["guarded-denominator"].endswith("; in the last hour it gives 500, and 1000 when mended")


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

    assert _said(live, _alert("nv_gpu_utilization > 0.9")) == [
        ("unasked-here", f"its history could not be read: {says}")
    ]


def test_a_prometheus_that_is_gone_ends_the_command():
    """With 3, as always."""
    with pytest.raises(Unreachable):
        _said(
            Live(Silent(Unreachable("gone")), Span(start=0.0, end=86400.0)),
            _alert("nv_gpu_utilization > 0.9"),
        )


def test_after_a_minute_no_more_is_asked_about_the_past(monkeypatch):
    """Each alert that was not asked about says so."""
    monkeypatch.setattr(past, "MOST_SECONDS", 0.0)
    prometheus = Silent(TimedOut("never"))

    said = _said(Live(prometheus, Span(start=0.0, end=86400.0)), _alert("nv_gpu_utilization > 0.9"))

    assert said == [("unasked-here", "its history was not read: the 0 s for that are over")]
    assert prometheus.asked == 0
