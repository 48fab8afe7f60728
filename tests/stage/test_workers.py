"""One worker a model instance: none for a model that fails to load, one for two `Stages`, none in a child."""

import json
import logging
import multiprocessing
import os
import threading

import pytest

from tritonobs.stage import Stages
from tritonobs.testing import FakePbUtils

DURATION = "tritonobs_stage_duration_seconds"
REQUESTS = "tritonobs_requests_total"
DROPPED = "tritonobs_flush_dropped_total"


@pytest.fixture
def server_log(tmp_path):
    """A file that has what this process and its children log."""
    handler = logging.FileHandler(tmp_path / "log")
    logging.getLogger("tritonobs.stage").addHandler(handler)
    yield tmp_path / "log"
    logging.getLogger("tritonobs.stage").removeHandler(handler)
    handler.close()


class _Model:
    def __init__(self, fake, fails=None, before_return=lambda: None):
        self.fake, self.fails, self.before_return = fake, fails, before_return

    def initialize(self, args):
        """As Triton calls it."""
        self.stages = Stages(args, self.fake, flush_interval_seconds=0.001)
        self.before_return()
        if self.fails:
            raise self.fails


class _Derived(_Model):
    def initialize(self, args):
        """What its base does, and then something that fails."""
        super().initialize(args)
        raise ValueError("no weights")


@pytest.mark.parametrize("failing", [lambda fake: _Model(fake, ValueError("no weights")), _Derived])
def test_an_initialize_that_fails_has_made_no_metric(fake, failing):
    """Nobody would release it: Triton ends the process without a call of finalize."""
    model = failing(fake)
    with pytest.raises(ValueError, match="no weights"):
        model.initialize(FakePbUtils.ARGS)
    model.stages._worker.flusher.join(10)

    assert not model.stages._worker.flusher.is_alive()
    assert fake.calls == 0
    model.stages.finalize()


def test_no_metric_is_made_while_initialize_runs(fake, monkeypatch):
    """What is recorded meanwhile, by a warm-up, is handed over afterwards."""
    monkeypatch.setenv("TRITONOBS_SCRAPE_INTERVAL_SECONDS", "0")
    calls = []
    model = _Model(fake)

    def warm_up():
        model.stages.observe("decode", 0.01)
        threading.Event().wait(0.1)
        calls.append(fake.calls)

    model.before_return = warm_up
    model.initialize(FakePbUtils.ARGS)

    assert calls == [0]
    assert fake.snapshot().total(f"{DURATION}_count", stage="decode") == 1
    model.stages.finalize()


def test_finalize_in_an_initialize_that_is_about_to_fail_ends_at_once(fake):
    """The wrapper that authors know from other libraries does no harm."""
    model = _Model(fake, ValueError("no weights"))
    model.before_return = lambda: Stages.finalize(model.stages)
    with pytest.raises(ValueError, match="no weights"):
        model.initialize(FakePbUtils.ARGS)

    assert fake.calls == 0


def test_two_stages_of_one_model_share_their_numbers(fake, make, caplog):
    """Two workers would double every sum over workers; the log says so."""
    first, second = make(fake), make(fake, max_label_sets=1)
    first.outcome("ok", 2)
    second.outcome("ok", 3)

    assert second.worker == first.worker
    assert fake.snapshot().total(REQUESTS) == 5
    assert len([1 for name, _ in fake.samples() if name == REQUESTS]) == 5
    assert "model m has stages in this process already" in caplog.text
    second.finalize()
    first.finalize()
    assert fake.samples() == {}


def test_another_model_or_triton_has_stages_of_its_own(fake, make, caplog):
    """Only the same instance of the same version in the same Triton is shared."""
    workers = {
        make(fake).worker,
        make(fake, {**FakePbUtils.ARGS, "model_version": "2"}).worker,
        make(fake, {**FakePbUtils.ARGS, "model_name": "n"}).worker,
        make(FakePbUtils()).worker,
    }

    assert len(workers) == 4
    # The first stages of a process say how they record.
    assert [said for said in caplog.messages if not said.startswith("record path: ")] == []


def _record(stages):
    for _ in range(5):
        stages.outcome("ok", 2)
        with stages.time("decode"):
            pass
    stages.finalize()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("recorder")
def test_what_forked_children_record_is_counted_as_dropped(fake, make, server_log):
    """No number of theirs arrives, each of them says so once, and the parent goes on."""
    stages = make(fake)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_record, args=(stages,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    stages.outcome("error")

    page = fake.snapshot()
    assert [child.exitcode for child in children] == [0, 0]
    assert page.total(DROPPED, reason="forked") == 2 * 5 * 3
    assert page.total(REQUESTS) == 1
    assert server_log.read_text().count("does not reach Triton") == 2


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("recorder")
def test_a_child_forked_in_the_middle_of_a_record_does_not_hang(fake, make):
    """Its parent's lock is held by a thread that the child does not have."""
    stages = make(fake)
    stopping = threading.Event()

    def record():
        while not stopping.is_set():
            stages.observe("decode", 0.01)

    threads = [threading.Thread(target=record) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            stages.observe("decode", 0.01)
            os._exit(0)
        children.append(pid)
    codes = [os.waitpid(pid, 0)[1] for pid in children]
    stopping.set()
    for thread in threads:
        thread.join()

    assert codes == [0] * 20
    assert fake.snapshot().total(DROPPED, reason="forked") == 20


BUCKETS = "latency_buckets"


@pytest.mark.parametrize(
    ("parameters", "argument", "expected"),
    [
        pytest.param({}, (0.00005, 0.5), ["+Inf", "0.5", "5e-05"], id="code"),
        pytest.param({BUCKETS: "0.00002, 0.07"}, (1.0,), ["+Inf", "0.07", "2e-05"], id="the model's"),
        pytest.param({BUCKETS: "3", f"{BUCKETS}.2": "2"}, None, ["+Inf", "2"], id="this version's"),
        pytest.param({BUCKETS: "3", f"{BUCKETS}.1": "2"}, None, ["+Inf", "3"], id="another version's"),
    ],
)
def test_bounds_come_from_the_version_the_model_or_the_code(fake, make, parameters, argument, expected):
    """In this order; each below a millisecond where it likes, and written in the fewest digits."""
    values = {name: {"string_value": text} for name, text in parameters.items()}
    config = json.dumps({"parameters": values})
    args = {**FakePbUtils.ARGS, "model_version": "2", "model_config": config}
    make(fake, args, latency_buckets=argument)

    page = fake.snapshot()
    shown = {dict(labels)["le"] for name, labels in page if name == f"{DURATION}_bucket"}
    assert sorted(shown) == expected


@pytest.mark.parametrize("bounds", [(), (0.5, 0.1), (0.0,), (float("nan"),), ("fast",), tuple(range(1, 102))])
def test_bounds_in_code_that_cannot_be_used_are_the_authors_mistake(fake, bounds):
    """Said where it is made, at the first load; a configuration that is wrong only costs its effect."""
    with pytest.raises(ValueError, match=r"seconds|fast"):
        Stages(FakePbUtils.ARGS, fake, latency_buckets=bounds)


def test_bounds_that_a_histogram_writes_in_another_way_are_named(fake, make, caplog):
    """Triton writes 16 digits, so an SLO's target of 70 ms would match nothing in Prometheus 2."""
    make(fake, parameters={"metrics_sink": "histogram", BUCKETS: "0.07, 0.5"})

    assert "0.07 as 0.07000000000000001" in caplog.text
    assert "0.5 as" not in caplog.text


@pytest.mark.parametrize(
    ("sink", "scrape", "flush"),
    [
        *(("counters", *seconds) for seconds in [(0, 0.5), (2, 1), (5, 2.5), (60, 5)]),
        *(("histogram", *seconds) for seconds in [(0, 0.5), (5, 1), (60, 1)]),
    ],
)
def test_numbers_are_handed_over_twice_a_scrape(fake, make, sink, scrape, flush):
    """Within 0.5 and 5 seconds; more often would only cost calls of Triton.

    Observations wait for a flush, of which each takes 5,000: with histograms there is one a second.
    """
    stages = make(fake, scrape_seconds=scrape, flush_interval_seconds=None, parameters={"metrics_sink": sink})

    assert stages._worker.flusher._interval_seconds == flush
    stages._worker.flusher._scrape_seconds = 0
