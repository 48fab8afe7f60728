"""The fake Triton is as strict as release 24.10, and dies of what that dies of."""

import math
import threading

import pytest

from tritonobs.testing import FakePbUtils, TritonModelException


def _metric(fake, kind, labels=None, buckets=None, name="x"):
    family = fake.MetricFamily(name=name, description="d", kind=getattr(fake.MetricFamily, kind))
    return family, family.Metric(labels=labels, buckets=buckets)


@pytest.mark.parametrize(
    ("kind", "verb"),
    [
        ("COUNTER", "set"),
        ("COUNTER", "observe"),
        ("GAUGE", "observe"),
        ("HISTOGRAM", "increment"),
        ("HISTOGRAM", "set"),
    ],
)
def test_a_verb_is_refused_by_the_wrong_kind(kind, verb):
    """Each refusal is kept, because on a real server it may be the last."""
    fake = FakePbUtils()
    _family, metric = _metric(fake, kind, buckets=[1.0] if kind == "HISTOGRAM" else None)

    with pytest.raises(TritonModelException):
        getattr(metric, verb)(1)

    assert len(fake.refusals) == 1


def test_a_counter_cannot_go_down_but_can_be_poisoned():
    """Triton refuses -1 and takes NaN, for ever."""
    fake = FakePbUtils()
    _family, metric = _metric(fake, "COUNTER")
    with pytest.raises(TritonModelException):
        metric.increment(-1)

    metric.increment(math.nan)
    metric.increment(1)

    assert math.isnan(fake.total("x"))


@pytest.mark.parametrize(
    "labels",
    [{"a": 1}, {"__a": "b"}, {"1a": "b"}, {"a-b": "c"}],
    ids=["not text", "reserved", "digit", "dash"],
)
def test_labels_triton_cannot_carry_are_refused(labels):
    """Names as Prometheus defines them, values as text."""
    with pytest.raises(TritonModelException):
        _metric(FakePbUtils(), "COUNTER", labels=labels)


@pytest.mark.parametrize(
    ("kind", "buckets"),
    [("HISTOGRAM", None), ("HISTOGRAM", (1.0, 2.0)), ("COUNTER", [1.0])],
    ids=["none given", "a tuple", "on a counter"],
)
def test_buckets_are_a_list_and_for_histograms(kind, buckets):
    """What Python's side of Triton refuses, harmlessly."""
    fake = FakePbUtils()
    with pytest.raises(TypeError):
        _metric(fake, kind, buckets=buckets)

    assert fake.refusals == []


def test_a_name_has_one_kind():
    """For every model of the server."""
    fake = FakePbUtils()
    _metric(fake, "COUNTER")

    with pytest.raises(TritonModelException, match="already exists with different type"):
        _metric(fake, "GAUGE")


def test_a_histogram_reads_like_one():
    """Cumulative buckets with `le`, count and sum."""
    fake = FakePbUtils()
    _family, metric = _metric(fake, "HISTOGRAM", {"a": "b"}, [0.5, 1.0])
    for value in (0.5, 0.75, 2):
        metric.observe(value)

    assert fake.samples() == {
        ("x_bucket", (("a", "b"), ("le", "0.5"))): 1,
        ("x_bucket", (("a", "b"), ("le", "1"))): 2,
        ("x_bucket", (("a", "b"), ("le", "+Inf"))): 3,
        ("x_count", (("a", "b"),)): 3,
        ("x_sum", (("a", "b"),)): 3.25,
    }


def test_two_threads_in_one_metric_kill_the_server():
    """Even where the second only waits a moment."""
    fake = FakePbUtils()
    _family, metric = _metric(fake, "COUNTER")
    with fake.hanging():
        threads = [threading.Thread(target=metric.increment, args=(1,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        while fake.crashes == []:
            pass
    for thread in threads:
        thread.join()

    assert fake.crashes == ["increment of x in two threads at once"]


def test_releasing_a_shared_series_kills_the_server_at_its_next_use():
    """Two workers with the same labels; the first to go takes the other's memory along."""
    fake = FakePbUtils()
    old_family, old = _metric(fake, "COUNTER", {"a": "b"})
    _new_family, new = _metric(fake, "COUNTER", {"a": "b"})
    del old, old_family

    new.increment(1)

    assert fake.crashes == ["increment of x after its series was released"]
