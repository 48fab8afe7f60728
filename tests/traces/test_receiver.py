"""The receiver follows the fleet file, and says what it cannot follow."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tritonobs.extensions.traces.receiver import Receiver
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    import pytest

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
