"""A server that dies again and again, as the drill has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tritonobs.clients.prometheus import Target
from tritonobs.extensions.lab import faults
from tritonobs.extensions.lab.drill import servers
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import DRILLS
from tritonobs.extensions.lab.stack import native
from tritonobs.extensions.lab.stack.processes import wait_for

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from conftest import World


class Supervised:
    """Starts the double again where the stack would, and tells Prometheus' view of it."""

    def __init__(self, world: World, sleeper: Callable[..., subprocess.Popen[bytes]]) -> None:
        self.rig = Rig(world.folders, "here")
        self.started: list[subprocess.Popen[bytes]] = []
        self._world, self._sleeper = world, sleeper

    def start_again(self, service: Any, _: object) -> None:
        """Another process in place of the dead one."""
        assert service.name == "triton"
        folders = self._world.folders
        self.started.append(self._sleeper(folders, {faults.VARIABLE: str(folders.faults_file)}))

    def alive(self) -> bool:
        """Whether the server runs."""
        return self.rig.part("triton").process() is not None

    def targets(self) -> tuple[Target, ...]:
        """What Prometheus would scrape."""
        health = "up" if self.alive() else "down"
        url = self.rig.replica.metrics_url
        return (
            Target(url=url, health=health, last_error="", interval="", labels={}),
            Target(url="http://else", health="unknown", last_error="", interval="", labels={}),
        )


@pytest.fixture(name="supervised")
def _supervised(
    started: World, sleeper: Callable[..., subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Supervised]:
    supervised = Supervised(started, sleeper)
    monkeypatch.setattr(native, "start_again", supervised.start_again)
    monkeypatch.setattr(supervised.rig.prometheus, "targets", supervised.targets)
    yield supervised
    for process in supervised.started:
        process.kill()
        process.communicate()


def test_a_crashing_server_stays_dead_at_last_and_runs_again_afterwards(
    supervised: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two restarts make three deaths, which is what the rule counts; the drill ends with a server."""
    monkeypatch.setattr(servers, "_LIFE_SECONDS", 0.1)
    with DRILLS["restart-loop"].cause(supervised.rig):
        wait_for(lambda: (len(supervised.started) == 2 and not supervised.alive()) or None, "the end", 30.0)
        assert not supervised.alive()

    assert (len(supervised.started), supervised.alive()) == (3, True)


def test_a_crashing_server_is_mended_in_the_middle_too(supervised: Supervised) -> None:
    """A drill that is given up at once leaves a server that runs."""
    with DRILLS["restart-loop"].cause(supervised.rig):
        pass

    assert supervised.alive()
    assert len(supervised.started) <= 1
