"""The log of limits is kept beside everything else: what cannot be written waits, in its order."""

from __future__ import annotations

import asyncio
import fcntl
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import TimedOut, TritonobsError
from tritonobs.limits import in_force as module
from tritonobs.limits.in_force import LogKeeper
from tritonobs.limits.log import LimitsLog
from tritonobs.plan.fleet import QpsLimit
from tritonobs.plan.limits import Annotated

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet file with one limit; its log is beside it."""
    path = tmp_path / "fleet.yaml"
    path.write_text(
        'fleet: s\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {qps_limit: 8}}\n'
    )
    return path


def _annotated(qps: int) -> Annotated:
    limit = QpsLimit(model="m", version="", qps=Decimal(qps), origin="n/m max-qps")
    return Annotated(limits={"n/m max-qps": limit}, writers={}, complaints=())


def _written(fleet: Path) -> list[tuple[str, str]]:
    return [(one.source, one.new) for one in LimitsLog(fleet.with_name("fleet.limits.jsonl")).read()[0]]


def test_what_could_not_be_written_is_written_later_in_order(fleet: Path) -> None:
    """While the log cannot be opened nothing is lost, not even what came and went."""
    log = fleet.with_name("fleet.limits.jsonl")

    async def main() -> None:
        keeper = LogKeeper(fleet)
        keeper.file_changed()
        await keeper.write()
        log.rename(log.with_suffix(".away"))
        log.mkdir()
        for qps in (20, 30, 40):
            keeper.annotated(_annotated(qps))
        for _ in range(3):
            with pytest.raises((TritonobsError, OSError)):
                await asyncio.wait_for(keeper.write(), 5)
        log.rmdir()
        log.with_suffix(".away").rename(log)
        await asyncio.wait_for(keeper.write(), 5)

    asyncio.run(main())
    assert _written(fleet) == [
        ("file", "8"),
        ("annotation", "20"),
        ("annotation", "30"),
        ("annotation", "40"),
    ]


def test_a_lock_that_is_held_delays_and_freezes_nothing(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop goes on meanwhile; once the lock is free, what waits is written."""
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.2)
    log = fleet.with_name("fleet.limits.jsonl")

    async def main() -> None:
        keeper = LogKeeper(fleet)
        with log.open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            keeper.file_changed()
            for _ in range(2):
                with pytest.raises((TimedOut, TritonobsError)):
                    await keeper.write()
        monkeypatch.setattr(module, "_PATIENCE_SECONDS", 30.0)
        await keeper.write()

    asyncio.run(main())
    assert _written(fleet) == [("file", "8")]
