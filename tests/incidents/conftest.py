"""A small fleet, lives of alerts, causes of triage."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from support.alertmanager_sim.alertmanager import Life
from support.incidents.conversations import EPOCH
from support.incidents.serving import serving
from tritonobs.extensions.incidents import part
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.incidents.part import Incidents
from tritonobs.tasks import Supervisor
from tritonobs.timings.cause import Area, Cause

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What triage says."""

    causes: tuple[Cause, ...] = ()
    following: tuple[Cause, ...] = ()


@pytest.fixture(scope="session")
def fleet() -> Fleet:
    """A pipeline of two members, a second one that shares one of them, and two models of their own."""
    return Fleet(
        edges={
            "inspect": {"preprocess": 1, "nms": 2},
            "audit": {"nms": 1},
            "preprocess": {},
            "nms": {},
            "ocr": {},
            "search": {},
        },
        replicas=frozenset({"triton-1", "triton-2", "triton-3"}),
    )


@pytest.fixture(scope="session")
def life() -> Callable[..., Life]:
    """Makes lives of alerts: name, when it begins and ends, its labels; a page unless it says otherwise."""

    def make(name: str, since: float, until: float | None = None, **labels: str) -> Life:
        return Life(labels={"alertname": name, "severity": "critical", **labels}, since=since, until=until)

    return make


@pytest.fixture(scope="session")
def cause() -> Callable[..., Cause]:
    """Makes causes: the check, its place, since when; `since` is of the world of lives."""

    def make(
        check: str, *place: str, since: float | None = None, confidence: float = 0.9, area: Area = ""
    ) -> Cause:
        return Cause(
            check=check,
            place=place,
            area=area,
            sentence=f"{check} at {'/'.join(place)}",
            confidence=confidence,
            next_steps=(f"mend {check}", "or else"),
            since=None if since is None else EPOCH + since,
        )

    return make


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    """Makes verdicts: causes, and what follows from them."""

    def make(*causes: Cause, following: tuple[Cause, ...] = ()) -> Verdict:
        return Verdict(causes=causes, following=following)

    return make


@pytest.fixture
def begin(tmp_path, monkeypatch) -> Callable[..., object]:
    """Make the part of `serve` with a verdict, and run a test inside its event loop."""
    for waits in ("_PATIENCE_SECONDS", "_SIFT_SECONDS", "_RECALL_SECONDS", "_LOOK_SECONDS"):
        # A busy machine takes longer; a test of what comes too late has its own.
        monkeypatch.setattr(part, waits, 20.0)

    def begin(judged, test, incidents="") -> object:
        with serving(judged, tmp_path, incidents) as plan:

            async def run() -> object:
                supervisor = Supervisor()
                one = Incidents(plan, supervisor)
                try:
                    return await test(one, {robot.name: robot for robot in plan.notify.robots})
                finally:
                    supervisor.close()
                    one.close()

            return asyncio.run(run())

    return begin
