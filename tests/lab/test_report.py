"""The report of the laboratory: a run of load, and what is told of a drill while it goes on."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from tritonobs.extensions.lab.drill.drill import Moment
from tritonobs.extensions.lab.load.schedule import ErrorCount, ImageCount, LoadResult, percentiles
from tritonobs.extensions.lab.report import drill_timeline, load_tables, progress_bar
from tritonobs.report.console import table_text
from tritonobs.report.formats import json_text

RESULT = LoadResult(
    model="inspect",
    version="",
    started_at=1.0,
    seconds=20.0,
    stopped=False,
    planned=240,
    sent=240,
    ok=195,
    achieved_qps=12.0,
    errors=(ErrorCount(kind="500 corrupt_image: N bytes", count=45, example="corrupt_image: 7 bytes"),),
    images=(
        ImageCount(kind="640x640", sent=195, ok=195, errors=0),
        ImageCount(kind="corrupt", sent=45, ok=0, errors=45),
    ),
    latency_from_schedule=percentiles([0.03, 0.1]),
    latency_from_send=percentiles([0.02, 0.09]),
    lateness=percentiles([0.0, 0.001]),
    peak_in_flight=3,
    sent_per_second=(12,) * 20,
)


def test_a_run_tells_what_was_sent_and_what_came_of_it() -> None:
    """Counts by kind of image, latencies by where they count from, errors by kind."""
    text = "\n".join(map(table_text, load_tables(RESULT)))

    assert "inspect: 12 requests/s for 20.0 s" in text
    assert ["corrupt", "45", "0", "45"] in [line.split() for line in text.splitlines()]
    assert ["all", "240", "195", "45"] in [line.split() for line in text.splitlines()]
    assert "45  500 corrupt_image: N bytes" in text
    assert "This machine sent some requests" not in text


def test_a_run_that_could_not_keep_its_schedule_says_so() -> None:
    """Numbers of a machine that was too slow are not passed off as the server's."""
    late = replace(RESULT, lateness=percentiles([0.5] * 100))

    assert "up to 500 ms late" in "\n".join(map(table_text, load_tables(late)))


def test_a_run_without_answers_has_no_latency() -> None:
    """Dashes, not zeros."""
    silent = replace(RESULT, latency_from_schedule=None, latency_from_send=None)

    assert ["actual", "send", "time", *"------"] in [
        line.split() for line in table_text(load_tables(silent)[1]).splitlines()
    ]


def test_a_run_as_json_has_every_number() -> None:
    """The same names as in Python."""
    read = json.loads(json_text(RESULT))

    assert (read["sent"], read["ok"], read["errors"][0]["count"]) == (240, 195, 45)
    assert read["latency_from_send"]["p99"] == 0.09


def test_a_long_moment_is_wrapped_under_its_beginning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seconds stay a column of their own; stdout stays empty."""
    monkeypatch.setenv("COLUMNS", "60")

    with drill_timeline() as tell:
        tell("slow-nms", Moment(seconds=25.04, what="triage: suppress of nms takes 603 ms, was 2 ms"))

    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "slow-nms         +  25.0 s  triage: suppress of nms takes\n"
        "                            603 ms, was 2 ms\n"
    )


def test_progress_without_a_terminal_is_silent_for_short_work() -> None:
    """A log file gets a line now and then, not two hundred bars."""
    log = io.StringIO()

    with progress_bar("load", file=log) as show:
        for step in range(100):
            show(step / 100, "words")

    assert log.getvalue() == ""
