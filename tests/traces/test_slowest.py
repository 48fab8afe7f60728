"""The slowest requests of the last hour, and how they are shown."""

from __future__ import annotations

import pytest

from support.spans import BEGIN_NS, body, request
from tritonobs.extensions.traces.call import Assembler
from tritonobs.extensions.traces.otlp import read_value
from tritonobs.extensions.traces.slowest import ANSWER, KEPT, MOST_MODELS, Answer, Slowest
from tritonobs.extensions.traces.waterfall import sentence, slow_lines, slow_page, slow_table, waterfall
from tritonobs.report.console import table_text

BEGIN = BEGIN_NS / 1e9
TRACE = "0af7651916cd43dd8448eb211c80319c"


def traced(name="detector", *, at=BEGIN, **more):
    """A request that began then."""
    (found,) = Assembler().add(read_value(body(*request(name, at=int(at * 1e9), **more)))[0])
    return found


@pytest.fixture(name="clock")
def _clock():
    return [BEGIN]


@pytest.fixture(name="slowest")
def _slowest(clock):
    return Slowest(clock=lambda: clock[0])


def test_the_slowest_twenty_stay(slowest):
    """Of a hundred, slowest first."""
    for milliseconds in range(100):
        slowest.add(traced(compute=milliseconds / 1e3))
    found = [round(slow.seconds * 1e3) for slow in slowest.of("detector", 600)]
    assert found == [100 - place for place in range(KEPT)]


def test_a_call_inside_a_pipeline_is_kept_with_the_whole_request(slowest):
    """Where did this request wait?"""
    slowest.add(traced("inspect", inner=("preprocess", "nms")))
    (slow,) = slowest.of("nms", 600)
    assert (slow.call.model, slow.traced.call.model) == ("nms", "inspect")
    assert slowest.models() == ("inspect", "nms", "preprocess")


def test_only_the_time_that_is_asked_for_counts(slowest, clock):
    """And after an hour a request is gone."""
    slowest.add(traced())
    clock[0] = BEGIN + 700
    slowest.add(traced(at=BEGIN + 700))
    assert [len(slowest.of("detector", since)) for since in (600, 3600)] == [1, 2]
    for _ in range(13):
        clock[0] += 300
        slowest.add(traced(at=clock[0]))
    assert len(slowest.of("detector", 10_000)) == 12
    clock[0] += 3601
    assert slowest.models() == ()


def test_the_slowest_of_a_moment_are_there_although_others_were_slower(slowest, clock):
    """What came before and after it in the same five minutes."""
    for second in range(110, 290):
        clock[0] = BEGIN + second
        slowest.add(traced(at=clock[0], compute=0.1 if 130 <= second < 160 else 1.0))
    clock[0] = BEGIN + 290
    found = slowest.of("detector", 290 - 131, 290 - 160)
    assert len(found) == KEPT
    assert {round(slow.seconds, 1) for slow in found} == {0.1}
    assert {round(slow.seconds, 1) for slow in slowest.of("detector", 290)} == {1.0}


def test_a_window_of_seconds_has_its_own_although_others_of_the_half_minute_were_slower(slowest, clock):
    """A machine stands still before it and after it: a dozen requests are slow each time."""
    for tenth in range(1200, 1500):
        clock[0] = BEGIN + tenth / 10
        stalled = 1200 <= tenth < 1212 or 1480 <= tenth < 1492
        slowest.add(traced(at=clock[0], compute=2.0 if stalled else 0.1))
    clock[0] = BEGIN + 150
    found = slowest.of("detector", 150 - 125, 150 - 147)
    assert len(found) == KEPT
    assert {round(slow.seconds, 1) for slow in found} == {0.1}


def test_a_thousand_models_fill_a_bounded_room(slowest, clock):
    """Those that were there first stay, until an hour has passed."""
    for number in range(MOST_MODELS + 10):
        slowest.add(traced(f"m{number}"))
    assert len(slowest.models()) == MOST_MODELS
    clock[0] += 3700
    slowest.add(traced("new", at=clock[0]))
    assert slowest.models() == ("new",)


def test_json_and_back_is_the_same(slowest):
    """What the receiver answers is what the command draws."""
    slowest.add(traced("inspect", inner=("preprocess", "nms")))
    answer = Answer(models=slowest.models(), requests=slowest.of("nms", 600))
    assert ANSWER.validate_json(ANSWER.dump_json(answer)) == answer


def test_a_waterfall_shows_which_call_waited(slowest):
    """Bars on one axis, the model that was asked about among its callers, and the answer in a sentence."""
    slowest.add(traced("inspect", trace=TRACE, queue=0.08, compute=0.1, inner=("nms",)))
    (slow,) = slowest.of("inspect", 600)
    text = table_text(waterfall(slow))
    assert text.splitlines()[0] == "inspect version 1 on a: 180 ms, 01:13:20 UTC, trace"
    assert sentence(slow) == "Most of it went waiting in the queue of inspect: 80 ms, 44% of 180 ms."
    rows = [line.strip() for line in text.splitlines() if line.strip().startswith(("inspect ", "nms "))]
    assert [row.split()[0] for row in rows[1:]] == ["inspect", "nms"]
    assert "░" * 14 in rows[1]
    assert TRACE in table_text(slow_table("inspect", [slow])).replace("\n", "").replace(" ", "")


def test_a_verdict_names_the_slowest_and_where_they_waited(slowest):
    """Three of them, and the command for the rest; nothing where nothing was traced."""
    for milliseconds in range(5):
        slowest.add(traced(queue=milliseconds / 10, compute=0.01))
    assert list(slow_lines("detector", slowest.of("detector", 600))) == [
        "Slowest traced requests to detector:",
        *(
            f"  {took} ms on a at 01:13:20 UTC. Most of it went waiting in the queue of detector: "
            f"{waited} ms, {share} of {took} ms."
            for took, waited, share in ((410, 400, "98%"), (310, 300, "97%"), (210, 200, "95%"))
        ),
        "  > tritonobs traces slow --model detector",
    ]
    assert list(slow_lines("detector", ())) == []


def test_the_page_shows_every_request_and_takes_names_for_data(slowest):
    """A model called like a script draws a name."""
    slowest.add(traced("<script>alert(1)</script>"))
    slowest.add(traced("<script>alert(1)</script>", compute=0.2))
    page = slow_page("<script>alert(1)</script>", slowest.of("<script>alert(1)</script>", 600))
    assert page.count("<h2>") == 2
    assert "<script>" not in page
    assert 'class="queue"' in page
