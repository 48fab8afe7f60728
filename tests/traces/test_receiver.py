"""The receiver follows the fleet file, and says what it cannot follow; what a traced request represents."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.spans import body, request
from tritonobs.clients.triton import TraceSetting
from tritonobs.errors import Unreachable
from tritonobs.extensions.traces import receiver as module
from tritonobs.extensions.traces.call import Assembler
from tritonobs.extensions.traces.otlp import read_value
from tritonobs.extensions.traces.receiver import Rates, Receiver
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan


_HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {}}\n'


def _plan(more: str) -> Plan:
    return build_plan(read_text(_HEAD + more, "fleet.yaml").spec, Path("/etc/shop"))


def test_a_changed_collector_needs_a_restart_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Bodies wait for the collector of the start: they are not sent to another one meanwhile."""
    after = _plan('traces: {forward: "http://collector:4318/v1/traces"}\n')

    async def follow() -> None:
        supervisor = Supervisor()
        receiver = Receiver(_plan(""), supervisor)
        for plan in (_plan(""), after, after):
            receiver.apply(plan)
        supervisor.close()
        receiver.close()

    asyncio.run(follow())

    assert [record.getMessage() for record in caplog.records] == [
        "traces.forward is now 'http://collector:4318/v1/traces': in force when the receiver starts again"
    ]


SECOND = 10**9


class _Server:
    """A replica with one rate."""

    def __init__(self):
        self.rate, self.asked, self.away = 100, 0, False

    def trace_setting(self, _model):
        self.asked += 1
        if self.away:
            raise Unreachable("gone")
        return TraceSetting(level=("TIMESTAMPS",), rate=self.rate, count=-1, mode="opentelemetry", url="")


@pytest.fixture(name="rig")
def _rig(monkeypatch):
    """Rates of one server, and a clock for both its sides."""
    server, now = _Server(), [1000.0]
    monkeypatch.setattr(module.time, "time_ns", lambda: int(now[0] * SECOND))
    return Rates({"a": server}, clock=lambda: now[0]), server, now


def traced(at_seconds=1000.0, **more):
    """A request that began then."""
    spans = request("m", at=int(at_seconds * SECOND), **more)
    (found,) = Assembler().add(read_value(body(*spans))[0])
    return found


def test_a_sampled_request_stands_for_as_many_as_the_rate_says(rig):
    """The rate of the model that the client called."""
    rates, server, _ = rig
    assert [rates.weight(traced()) for _ in range(50)] == [100.0] * 50
    assert server.asked == 1


def test_a_request_with_a_traceparent_stands_for_itself(rig):
    """Triton traces all of them, and nobody needs to be asked."""
    rates, server, _ = rig
    assert rates.weight(traced(caller="00f067aa0ba902b7")) == 1.0
    assert server.asked == 0


def test_a_new_rate_counts_for_what_began_after_it_was_seen(rig):
    """A batch still holds requests of the seconds before."""
    rates, server, now = rig
    rates.weight(traced())
    server.rate, now[0] = 10, 1006.0
    assert rates.weight(traced(1005.0)) == 100.0
    assert rates.weight(traced(1006.5)) == 10.0


def test_a_server_that_is_away_keeps_its_last_rate(rig):
    """And is not asked again for half a minute."""
    rates, server, now = rig
    rates.weight(traced())
    server.away = True
    for second in (1006.0, 1012.0, 1018.0):
        now[0] = second
        assert rates.weight(traced(second)) == 100.0
    assert server.asked == 2


@pytest.mark.parametrize("known", [True, False])
def test_an_unknown_rate_counts_once_and_is_counted(rig, known):
    """A server that never answered, and one that the fleet file does not name."""
    rates, server, _ = rig
    server.away = True
    request_ = traced() if known else replace(traced(), replica="stranger")
    assert (rates.weight(request_), rates.weight(request_), rates.unknown) == (1.0, 1.0, 2)
    assert server.asked == int(known)
