"""Spans become requests: nested as they called each other, with the times of their phases."""

from __future__ import annotations

import pytest

from support.effort import lines_run
from support.spans import BEGIN_NS, body, request
from tritonobs.extensions.traces.call import WAIT_SECONDS, Assembler
from tritonobs.extensions.traces.otlp import read_value


def batch(*spans):
    """What the receiver reads of a body."""
    return read_value(body(*spans))[0]


def phases(call):
    """The milliseconds of each phase."""
    return {name: round(part.seconds * 1e3, 3) for name, part in call.phases.items()}


def test_phases_lie_between_the_events():
    """Queue until the computation starts; input, infer and output within it; request around all."""
    (traced,) = Assembler().add(batch(*request("detector", queue=0.002, compute=0.01)))
    assert phases(traced.call) == {"request": 12.0, "queue": 2.0, "input": 1.0, "infer": 8.0, "output": 1.0}
    assert (traced.replica, traced.call.model, traced.call.outcome) == ("a", "detector", "ok")


def test_pipelines_hold_what_they_call():
    """Both sorts: with a computation of its own (BLS) and without (ensemble)."""
    for computed in (True, False):
        spans = request("inspect", inner=("preprocess", "nms"), computed=computed)
        (traced,) = Assembler().add(batch(*spans))
        assert [call.model for call in traced.call.everything()] == ["inspect", "preprocess", "nms"]
        assert traced.call.outcome == "ok"
        assert ("queue" in traced.call.phases) is computed


def test_a_request_waits_for_its_last_span_whatever_comes_first():
    """A server sends every five seconds what has ended by then."""
    spans = request("inspect", inner=("preprocess", "nms"))
    assembler = Assembler()
    found = [assembler.add(batch(span)) for span in spans]
    assert [len(each) for each in found] == [0] * (len(spans) - 1) + [1]
    backwards = Assembler().add(batch(*reversed(spans)))
    assert backwards == found[-1]


def test_requests_of_one_client_may_share_a_trace():
    """Each has its own outermost span; they may end in any order."""
    first = request("a", trace="ab" * 16, caller="12" * 8)
    second = request("b", trace="ab" * 16, caller="12" * 8, at=BEGIN_NS + 1000)
    assembler = Assembler()
    one = assembler.add(batch(*second[:1], *first))
    two = assembler.add(batch(*second[1:]))
    assert [[traced.call.model for traced in each] for each in (one, two)] == [["a"], ["b"]]
    assert [phases(traced.call)["queue"] for traced in two] == [1.0]
    assert assembler.lost == {}


@pytest.mark.parametrize(("caller", "asked_for"), [("", False), ("00f067aa0ba902b7", True)])
def test_a_request_with_a_traceparent_is_told_from_a_sampled_one(caller, asked_for):
    """Triton 24.10 traces all of them, so each stands for itself."""
    (traced,) = Assembler().add(batch(*request("detector", caller=caller)))
    assert traced.asked_for is asked_for


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        pytest.param({"answered": False}, "rejected", id="the queue was full"),
        pytest.param({"computed": False}, "uncomputed", id="from the cache, or too late"),
    ],
)
def test_what_was_not_computed_is_told_apart(more, outcome):
    """As Triton 24.10 shows it: no end of the request, or no computation."""
    (traced,) = Assembler().add(batch(*request("detector", **more)))
    assert traced.call.outcome == outcome


def test_times_of_a_clock_that_was_set_are_thrown_away():
    """Backwards, or forwards by more than an hour."""
    assembler = Assembler()
    for queue in (-5.0, 4000.0):
        assert assembler.add(batch(*request("detector", queue=queue))) == ()
    assert assembler.lost == {"clock": 6}


def test_requests_without_an_end_are_given_up_by_number_and_by_time():
    """A server that is killed leaves them; what waits has a bound."""
    now = [0.0]
    assembler = Assembler(most_waiting=10, clock=lambda: now[0])
    for _ in range(10):
        assembler.add(batch(*request("detector")[:2]))
    assert assembler.lost == {"incomplete": 10}
    now[0] = WAIT_SECONDS + 1
    assembler.add(batch(*request("detector")))
    assert assembler.lost == {"incomplete": 20}


def test_spans_that_are_their_own_parents_end():
    """Nobody sends circles but an attacker."""
    spans = request("detector")
    spans[1]["parentSpanId"] = spans[1]["spanId"]
    assert Assembler().add(batch(*spans)) == ()
    outer = spans[2]
    outer["parentSpanId"] = outer["spanId"]
    assert Assembler().add(batch(outer)) == ()


def test_spans_are_looked_at_once_whoever_shares_their_trace():
    """Five times the requests in one trace cost five times as much, not twenty-five."""
    assert _cost(500) < 5.5 * _cost(100)


def _cost(requests):
    """Lines of Python run for so many requests in one trace."""
    spans = [span for _ in range(requests) for span in request("a", trace="ab" * 16, caller="12" * 8)[1:]]
    whole, found = batch(*spans), list[object]()
    cost = lines_run(lambda: found.extend(Assembler().add(whole)))
    assert len(found) == requests
    return cost


def test_a_tower_of_calls_is_cut():
    """Fifty deep is more than anybody nests."""
    spans = request("bottom")
    outer, below = spans[-1], spans[-2]
    tower = [outer]
    for _ in range(2000):
        copy = {**below, "spanId": f"f{len(tower):015x}", "parentSpanId": tower[-1]["spanId"]}
        copy["traceId"] = outer["traceId"]
        tower.append(copy)
    (traced,) = Assembler().add(batch(*tower))
    assert len(list(traced.call.everything())) == 51
