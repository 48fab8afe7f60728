"""A Lease: one of several has it, nobody's clock is trusted, and it passes on when its holder is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.kubernetes import KubernetesDouble
from tritonobs.clients.kubernetes_api import LEASE_SECONDS, KubernetesApi, Lease
from tritonobs.errors import ClientError
from tritonobs.plan.kubernetes import ApiServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Clock:
    """Seconds that only a test lets pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Now."""
        return self.now


@pytest.fixture(name="cluster")
def _cluster() -> Iterator[KubernetesDouble]:
    with KubernetesDouble() as double:
        yield double


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


@pytest.fixture(name="candidate")
def _candidate(cluster: KubernetesDouble, tmp_path: Path, clock: Clock) -> Callable[[str], Lease]:
    (tmp_path / "token").write_text(cluster.token)

    def make(identity: str) -> Lease:
        server = ApiServer(url=cluster.url, token_file=tmp_path / "token", ca_file=tmp_path / "ca")
        api = KubernetesApi(server)
        return Lease(api, namespace="monitoring", name="tritonobs", identity=identity, clock=clock)

    return make


def test_the_first_takes_it_and_the_second_waits(candidate, cluster):
    """And everybody can see who has it."""
    first, second = candidate("a"), candidate("b")
    first.renew()
    second.renew()

    assert (first.held, second.held, second.holder) == (True, False, "a")
    (lease,) = cluster.objects("leases")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("a", LEASE_SECONDS)


def test_a_renewed_lease_is_never_taken(candidate, clock):
    """Long after its first time has run out."""
    first, second = candidate("a"), candidate("b")
    for _ in range(30):
        first.renew()
        second.renew()
        clock.now += 2

    assert (first.held, second.held) == (True, False)


def test_who_holds_it_no_longer_knows_before_another_takes_it(candidate, clock):
    """At no moment are there two, however long the first one slept."""
    first, second = candidate("a"), candidate("b")
    first.renew()
    taken_after = None
    for step in range(40):
        second.renew()
        assert not (first.held and second.held)
        if second.held and taken_after is None:
            taken_after = step * 0.5
        clock.now += 0.5

    assert taken_after is not None
    assert LEASE_SECONDS <= taken_after <= LEASE_SECONDS + 1
    first.renew()
    assert (first.held, first.holder) == (False, "b")


def test_a_lease_given_back_is_taken_at_once(candidate):
    """A daemon that is told to stop keeps nobody waiting."""
    first, second = candidate("a"), candidate("b")
    first.renew()
    second.renew()
    first.release()
    second.renew()

    assert (first.held, second.held) == (False, True)


def test_of_two_that_take_it_together_one_does(candidate, cluster, monkeypatch):
    """The server says 409 to the slower one."""
    first, second = candidate("a"), candidate("b")
    first.renew()
    first.release()
    find = cluster.find

    def find_and_be_overtaken(*where: str) -> object:
        found = find(*where)
        monkeypatch.setattr(cluster, "find", find)
        first.renew()
        return found

    monkeypatch.setattr(cluster, "find", find_and_be_overtaken)
    second.renew()

    assert (first.held, second.held) == (True, False)


def test_a_server_that_cannot_be_asked_is_an_error_and_takes_nothing_at_once(candidate, cluster, clock):
    """What is ours stays so until a request (3 s) before another could have taken it."""
    first = candidate("a")
    first.renew()
    cluster.refuse(500)
    with pytest.raises(ClientError):
        first.renew()
    assert first.held
    clock.now += LEASE_SECONDS - 3 - 0.1
    assert first.held
    clock.now += 0.2
    assert not first.held
