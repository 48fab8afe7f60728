"""Tracing switched on servers that run: which rate, what it follows, and that everything is put back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonobs.clients.triton import TraceSetting
from tritonobs.errors import Unreachable
from tritonobs.extensions.traces.switch import (
    MOST_TRACES_A_SECOND,
    Change,
    Follower,
    Traffic,
    choose,
    danger,
    hindrance,
    prime_at_least,
    prime_at_most,
    set_rate,
    traffic_of,
    worth_changing,
)

RECEIVER = "http://obs:9900/v1/traces"
OFF = TraceSetting(level=("OFF",), rate=1000, count=-1, mode="opentelemetry", url=RECEIVER)


@dataclass
class _Server:
    """A replica that answers as Triton 24.10 does: a model inherits what was not set for it."""

    counts: dict[str, int] = field(default_factory=dict)
    own: dict[str, TraceSetting] = field(default_factory=dict)
    every: TraceSetting = OFF
    away: bool = False

    def _look(self) -> None:
        if self.away:
            raise Unreachable("GET http://a:8000: connection refused")

    def trace_setting(self, model: str = "") -> TraceSetting:
        self._look()
        return self.own.get(model, self.every)

    def trace(self, model: str, setting: dict[str, object]) -> TraceSetting:
        self._look()
        now = self.trace_setting(model)
        if setting.get("trace_level", 0) is None:
            self.own.pop(model, None)
            return self.every
        now = replace(now, level=tuple(setting["trace_level"]))
        if setting.get("trace_rate"):
            now = replace(now, rate=int(setting["trace_rate"]))
        if setting.get("trace_count"):
            now = replace(now, count=int(setting["trace_count"]))
        self.own[model] = now
        return now

    def stats(self):
        self._look()
        return [
            SimpleNamespace(name=name, version="1", successes=count, failures=0)
            for name, count in self.counts.items()
        ]

    def repository_index(self):
        return ()


def follower(server, **more):
    """One round every ten seconds."""
    now = [0.0]

    def clock():
        now[0] += 10
        return now[0]

    return Follower(replica="a", traffic=Traffic(server=server, clock=clock, **more))


@pytest.mark.parametrize(
    ("requests", "rates"),
    [
        pytest.param({"m": 1.0}, {"m": 1}, id="of a quiet model all are traced"),
        pytest.param({"m": 100.0}, {"m": 29}, id="1000 samples in 5 m of a busy one, and a prime"),
        pytest.param({"m": 0.0}, {"m": 1}, id="of a model that nobody asks the first one is"),
        pytest.param(
            {f"m{n}": 100.0 for n in range(20)},
            {f"m{n}": 101 for n in range(20)},
            id="20 traces a second a server go before 1000 samples each",
        ),
    ],
)
def test_a_rate_gives_enough_samples_and_not_too_many_traces(requests, rates):
    """The two numbers that `auto` promises."""
    assert choose(requests) == rates


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 50_000), min_size=1, max_size=30))
def test_no_server_makes_too_many_traces(requests):
    """Whatever its models are asked."""
    rates = choose(requests)
    assert sum(qps / rates[model] for model, qps in requests.items()) <= MOST_TRACES_A_SECOND * 1.0001
    for model, qps in requests.items():
        alone = choose({model: qps})[model]
        assert qps / alone >= min(qps, 1000 / 300) * 0.999


def test_primes_are_near():
    """A rate shares no rhythm with a client that alternates."""
    assert [prime_at_most(n) for n in (0, 1, 2, 4, 30, 100)] == [1, 1, 2, 3, 29, 97]
    assert [prime_at_least(n) for n in (0, 1, 2, 4, 30, 100)] == [1, 1, 2, 5, 31, 101]


def test_small_changes_of_traffic_change_no_rate():
    """Each step makes the weights of a few seconds wrong."""
    assert [worth_changing(100, wanted) for wanted in (100, 81, 124, 79, 126)] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_rates_follow_the_traffic_and_go_back():
    """What a model had of its own comes back; what it inherited it inherits again."""
    own = replace(OFF, level=("TIMESTAMPS",), rate=7, count=500)
    server = _Server(counts={"busy": 0, "own": 0}, own={"own": own})
    one = follower(server)
    assert one.round() == ()
    server.counts = {"busy": 1000, "own": 10}
    first = one.round()
    assert first == (Change(replica="a", model="busy", rate=29), Change(replica="a", model="own", rate=1))
    server.counts = {"busy": 2010, "own": 20}
    assert one.round() == ()
    server.counts = {"busy": 7010, "own": 30}
    assert one.round() == (Change(replica="a", model="busy", rate=149),)
    assert server.own["busy"].on
    assert server.own["own"].count == -1, "a count that is used up would end the samples"
    one.put_back()
    assert server.own == {"own": own}
    assert one.put_back() == ()


def test_a_server_that_starts_again_gets_its_rate_again():
    """It forgot everything, and counts from 0."""
    server = _Server(counts={"m": 0})
    one = follower(server)
    one.round()
    server.counts = {"m": 1000}
    one.round()
    server.own, server.counts = {}, {"m": 0}
    assert one.round() == (Change(replica="a", model="m", rate=1),)


def test_a_server_that_is_away_is_told_and_does_not_stop_the_others():
    """Every round anew; what could not be put back is named."""
    server = _Server(counts={"m": 0})
    one = follower(server)
    one.round()
    server.counts = {"m": 1000}
    one.round()
    server.away = True
    gone = "GET http://a:8000: connection refused"
    assert one.round() == (Change(replica="a", model="", trouble=gone),)
    assert one.put_back() == (Change(replica="a", model="m", trouble=gone),)


def test_only_the_models_that_were_named_are_changed():
    """`--model`."""
    server = _Server(counts={"m": 0, "n": 0})
    one = follower(server, models=("m",))
    one.round()
    one.round()
    assert set(server.own) == {"m"}


def test_on_and_off_set_what_was_asked():
    """No more, no less."""
    server = _Server()
    set_rate(server, ("m",), 10)
    assert (server.own["m"].on, server.own["m"].rate) == (True, 10)
    set_rate(server, ("m",), 0)
    assert not server.own["m"].on


@pytest.mark.parametrize(
    ("traffic", "rate", "said"),
    [
        pytest.param({}, 1, "", id="nothing is known"),
        pytest.param({"m": 12.0, "n": 8.0}, 1, "", id="20 a second"),
        pytest.param({"m": 3000.0}, 150, "", id="20 a second of many"),
        pytest.param(
            {"m": 2000.0, "n": 1000.0},
            2,
            "1 in 2 requests would be 1,500 traces/s; more than 20 may end the server (Triton 24.10 "
            "crashed at 30): --rate 150 or more, --rate auto, or --force",
            id="too many, all models together",
        ),
    ],
)
def test_a_rate_that_may_end_a_server_is_refused_with_one_that_may_not(traffic, rate, said):
    """The rate it names is safe, and the one below is not."""
    assert danger(traffic, rate) == said
    if said:
        assert danger(traffic, 150) == "" != danger(traffic, 149)


def test_traffic_is_what_came_while_it_was_watched():
    """Of the models asked for; a server that does not answer is left out."""
    busy, away = _Server(counts={"m": 5, "n": 7}), _Server(away=True)

    def requests(seconds):
        busy.counts = {"m": busy.counts["m"] + 1000 * (seconds > 0), "n": 900}

    found = traffic_of({"a": busy, "b": away}, ("m",), sleep=requests)

    assert set(found) == {"a"}
    assert set(found["a"]) == {"m"}
    assert found["a"]["m"] > 1000


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        pytest.param(OFF, "", id="all is well"),
        pytest.param(
            replace(OFF, mode="triton", url=""),
            "it writes traces to files (mode triton); restart it with --trace-config=mode=opentelemetry "
            "--trace-config=opentelemetry,url=http://obs:9900/v1/traces",
            id="started without traces",
        ),
        pytest.param(
            replace(OFF, url="http://tempo:4318/v1/traces"),
            "it sends traces to http://tempo:4318/v1/traces; for http://obs:9900/v1/traces restart it with "
            "--trace-config=mode=opentelemetry --trace-config=opentelemetry,url=http://obs:9900/v1/traces",
            id="they go elsewhere",
        ),
    ],
)
def test_what_needs_a_restart_is_said(setting, said):
    """With the flags."""
    assert hindrance(setting, RECEIVER) == said
