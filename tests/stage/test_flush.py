"""The flusher hands over exactly what was counted, and nothing it does can hurt requests or the server."""

import functools
import math
import operator
import os
import sys
import threading
import time

import pytest

from tritonobs.stage.cells import PATH
from tritonobs.testing import FakePbUtils

DURATION = "tritonobs_stage_duration_seconds"
REQUESTS = "tritonobs_requests_total"
DROPPED = "tritonobs_flush_dropped_total"
ERRORS = "tritonobs_flush_errors_total"
HEARTBEAT = "tritonobs_heartbeat_timestamp_seconds"


def test_no_scrape_between_two_calls_sees_a_bucket_above_a_larger_one(fake, make, wait):
    """Read at every single call while three stages grow; +Inf is never below the count's buckets."""
    torn = []

    def look():
        for stage in ("decode", "infer", "total"):
            buckets = sorted(
                (float(dict(labels)["le"]), value)
                for (name, labels), value in fake.samples().items()
                if name == f"{DURATION}_bucket" and dict(labels)["stage"] == stage
            )
            values = [value for _, value in buckets]
            if values != sorted(values):
                torn.append((stage, values))

    fake.before_call = look
    stages = make(fake, latency_buckets=(0.001, 0.005, 0.05, 0.5))
    for rounds in range(20):
        for seconds in (0.0005, 0.003, 0.04, 0.3, 20.0):
            for stage in ("decode", "infer", "total"):
                stages.observe(stage, seconds)
        assert wait(lambda done=rounds: fake.total(f"{DURATION}_bucket", le="0.001") == 3 * (done + 1))

    assert torn == []


def test_a_series_stands_at_zero_for_one_scrape_before_it_rises(fake, make, wait):
    """Prometheus sees a step only from a value it has seen, and an error is often the first of its series."""
    name = "tritonobs_stage_errors_total"
    stages = make(fake, scrape_seconds=300)
    stages.error("decode", "corrupt_image")

    assert wait(lambda: name in {sample for sample, _ in fake.samples()})
    flushed = fake.total(HEARTBEAT)
    assert wait(lambda: fake.total(HEARTBEAT) > flushed)
    assert fake.total(name) == 0

    stages._worker.flusher._scrape_seconds = 0
    assert wait(lambda: fake.total(name) == 1)


def test_outcomes_and_total_exist_before_the_first_request(fake, make, wait):
    """All five outcomes at 0: a ratio has both sides from the start."""
    make(fake)

    assert wait(lambda: len([1 for name, _ in fake.samples() if name == REQUESTS]) == 5)
    assert wait(lambda: f"{DURATION}_count" in {name for name, _ in fake.samples()})
    assert fake.total(REQUESTS) == 0


@pytest.mark.parametrize("sink", ["counters", "histogram"])
def test_finalize_hands_over_everything_then_waits_for_a_scrape_then_releases(fake, make, wait, sink):
    """Also what came in the last moment, and what was still held at 0."""
    stages = make(fake, scrape_seconds=0.5, flush_interval_seconds=60, parameters={"metrics_sink": sink})
    for _ in range(100):
        stages.observe("decode", 0.01)
        stages.outcome("ok")
    finalizing = threading.Thread(target=stages.finalize)
    finalizing.start()

    assert wait(lambda: fake.total(REQUESTS, outcome="ok") == 100)
    assert wait(lambda: fake.total(f"{DURATION}_count", stage="decode") == 100)
    assert finalizing.is_alive()
    finalizing.join()
    assert fake.samples() == {}
    assert (fake.metrics_alive, fake.families_alive) == (0, 0)


def test_finalize_of_an_idle_worker_does_not_wait(fake, make, wait):
    """What was scraped already needs no second scrape: many workers end one after the other without delay."""
    stages = make(fake)
    stages.outcome("ok")
    assert wait(lambda: fake.total(REQUESTS) == 1)
    stages._worker.flusher._scrape_seconds = 300
    stages._worker.flusher._changed -= 300

    stages.finalize()

    assert fake.families_alive == 0


def test_finalize_twice_is_finalize_once(fake, make):
    """And records after it go nowhere, quietly."""
    stages = make(fake)
    stages.finalize()
    stages.finalize()
    stages.outcome("ok")

    assert fake.samples() == {}


def test_old_and_new_worker_overlap_without_sharing_a_series(fake, make, wait):
    """A reload in place: the old one releases what is its own while the new one counts on."""
    old = make(fake)
    old.outcome("ok", 3)
    new = make(fake, {**FakePbUtils.ARGS, "model_instance_name": "m_0_1"})
    new.outcome("ok", 4)
    assert wait(lambda: fake.total(REQUESTS) == 7)

    old.finalize()
    new.outcome("ok", 5)

    assert wait(lambda: fake.total(REQUESTS, worker=new.worker) == 9)
    assert fake.total(REQUESTS, worker=old.worker) == 0


def test_the_heartbeat_is_the_time_of_the_last_flush(fake, make, wait):
    """Set by differences, without drift, also when the clock is set back."""
    make(fake)
    wait(lambda: fake.calls > 200)

    assert fake.total(HEARTBEAT) == pytest.approx(time.time(), abs=5)
    assert fake.total("tritonobs_flush_seconds_total") > 0


def _said(caplog):
    """What is wrong with Triton; the first stages of a process also say how they record."""
    return [message for message in caplog.messages if not message.startswith("record path: ")]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(FakePbUtils(metrics=False), id="no MetricFamily"),
        pytest.param(None, id="no pb_utils at all"),
    ],
)
def test_a_triton_without_metrics_costs_no_request(make, caplog, broken):
    """One message, and recording goes on into nothing."""
    stages = make(broken)
    for _ in range(1000):
        stages.observe("decode", 0.01)
    stages.finalize()

    (message,) = _said(caplog)
    assert message.startswith("this process does not belong to Triton's Python backend")
    assert message.endswith("stage metrics are off")


def test_an_old_triton_is_told_from_a_process_that_is_none_of_its_own(make, wait, caplog, monkeypatch):
    """Only there the release is to blame."""
    monkeypatch.setitem(sys.modules, "c_python_backend_utils", object())
    make(FakePbUtils(metrics=False))

    assert wait(lambda: _said(caplog))
    assert _said(caplog) == [
        "this Triton has no metrics for models, which 23.05 and newer have: stage metrics are off"
    ]


def test_a_triton_that_refuses_everything_is_asked_once(make, caplog):
    """Every refusal may harm the server, so the first family is the probe."""
    fake = FakePbUtils()
    fake.fails = RuntimeError("metrics not supported")
    stages = make(fake)
    stages.outcome("ok")
    stages.finalize()

    assert fake.calls == 1
    assert "metrics not supported" in caplog.text


def test_a_metric_that_fails_is_left_alone_and_the_others_go_on(make, wait):
    """Its family is called no more, the failure is counted, nothing is raised."""
    fake = FakePbUtils()
    taken = fake.MetricFamily(name=REQUESTS, description="theirs", kind=fake.MetricFamily.GAUGE)
    stages = make(fake)
    stages.outcome("ok")
    stages.observe("decode", 0.01)

    assert wait(lambda: fake.total(ERRORS) == 1)
    assert wait(lambda: fake.total(f"{DURATION}_count", stage="decode") == 1)
    stages.outcome("error")
    stages.observe("decode", 0.01)
    assert wait(lambda: fake.total(f"{DURATION}_count", stage="decode") == 2)
    assert len(fake.refusals) == 1
    assert taken.name == REQUESTS


def test_a_triton_that_hangs_holds_up_neither_requests_nor_finalize(monkeypatch, make, wait):
    """Memory stays constant, and when Triton comes back everything is handed over."""
    monkeypatch.setattr("tritonobs.stage.stages._GIVE_UP_SECONDS", 0.1)
    fake = FakePbUtils()
    stages = make(fake)
    wait(lambda: fake.total(HEARTBEAT))
    with fake.hanging():
        for _ in range(10_000):
            stages.observe("decode", 0.01)
            stages.outcome("ok")
        stages.finalize()
        assert stages._worker.flusher.is_alive()

    stages._worker.flusher.join()
    assert fake.crashes == []


def test_a_triton_without_histograms_gets_counters_of_the_same_names(make, wait, caplog):
    """23.05 to 24.07."""
    fake = FakePbUtils(histograms=False)
    stages = make(fake, parameters={"metrics_sink": "histogram"})
    stages.observe("decode", 0.3)

    assert wait(lambda: fake.total(f"{DURATION}_bucket", stage="decode", le="0.5") == 1)
    assert "24.08" in caplog.text


def test_the_histogram_keeps_values_on_a_bound_in_their_bucket(fake, make, wait):
    """Though it passes means, which rounding could push over the edge."""
    stages = make(fake, parameters={"metrics_sink": "histogram", "latency_buckets": "0.1, 0.3"})
    for _ in range(999):
        stages.observe("decode", 0.1)
        stages.observe("decode", 0.3)

    assert wait(lambda: fake.total(f"{DURATION}_count", stage="decode") == 1998)
    assert fake.total(f"{DURATION}_bucket", stage="decode", le="0.1") == 999
    assert fake.total(f"{DURATION}_bucket", stage="decode", le="0.3") == 1998
    assert fake.total(f"{DURATION}_sum", stage="decode") == pytest.approx(999 * 0.4)


def test_the_histogram_keeps_values_just_above_a_bound_above_it(fake, make):
    """The mean of seven of them is the bound itself, which belongs to the bucket below."""
    above = math.nextafter(0.1, 1)
    # One by one, as the record path adds them: `sum` of Python 3.12 is more exact.
    assert functools.reduce(operator.add, [above] * 7) / 7 == 0.1
    settings = {"metrics_sink": "histogram", "latency_buckets": "0.1, 0.3"}
    stages = make(fake, parameters=settings, flush_interval_seconds=60.0)
    for _ in range(7):
        stages.observe("decode", above)

    fake.flush()
    assert fake.total(f"{DURATION}_bucket", stage="decode", le="0.1") == 0
    assert fake.total(f"{DURATION}_bucket", stage="decode", le="0.3") == 7


def test_what_a_histogram_cannot_take_is_dropped_evenly_and_counted(fake, make, wait):
    """20,000 wait, the rest is counted as queue_full; passed and dropped together are all."""
    stages = make(fake, parameters={"metrics_sink": "histogram", "latency_buckets": "0.1, 0.3"})
    stages.observe("decode", 0.05, n=60_000)
    stages.observe("infer", 0.2, n=20_000)

    def passed(stage):
        return fake.total(f"{DURATION}_count", stage=stage)

    assert wait(
        lambda: passed("decode") + passed("infer") + fake.total(DROPPED, reason="queue_full") == 80_000
    )
    assert passed("decode") == pytest.approx(15_000, abs=2)
    assert passed("infer") == pytest.approx(5_000, abs=2)


def test_a_fork_leaves_the_metrics_to_its_parent(fake, make, wait, monkeypatch):
    """A child that ends the stages ends nothing: it has no flusher and no Triton."""
    stages = make(fake)
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        stages.finalize()

    stages.outcome("error")
    assert wait(lambda: fake.total(REQUESTS) == 1)


def test_nothing_is_touched_at_interpreter_exit(fake, make, wait):
    """A model that forgot finalize: the way to Triton is gone by then, a call would crash the process."""
    stages = make(fake)
    assert wait(lambda: fake.total(HEARTBEAT))

    stages._worker.flusher.abandon()
    stages._worker.flusher.join()
    assert fake.families_alive > 0
    calls = fake.calls
    stages.outcome("ok")
    stages.finalize()

    assert fake.calls == calls


def test_a_metric_says_how_the_worker_records(fake, make):
    """`compiled`, or `python`, which costs five times as much: nobody sees it from outside otherwise."""
    make(fake)

    fake.flush()
    assert fake.total("tritonobs_stage_info", path=PATH) == 1


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((True, "", "INFO"), id="compiled"),
        pytest.param((False, "1", "INFO"), id="asked for"),
        pytest.param((False, "", "WARNING"), id="not compiled"),
    ],
)
def test_the_log_of_the_first_stages_says_which_record_path_is_in_use(fake, make, caplog, monkeypatch, case):
    """A warning where it is the slow one and nobody asked for it; once a process."""
    compiled, asked, level = case
    monkeypatch.setattr("tritonobs.stage.stages.COMPILED", compiled)
    monkeypatch.setenv("TRITONOBS_PURE_PYTHON", asked)
    with caplog.at_level("INFO", logger="tritonobs.stage"):
        make(fake)
        make(fake, {**FakePbUtils.ARGS, "model_instance_name": "other_0_0", "model_name": "other"})

    said = [one for one in caplog.records if one.message.startswith("record path: ")]
    assert [one.levelname for one in said] == [level]
