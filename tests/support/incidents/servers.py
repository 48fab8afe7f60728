"""Servers, workers and models that die, stand still, vanish or come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from support.fleet_sim.spans import FOREVER
from support.incidents.deploys import PAGES
from support.incidents.incident import Incident
from support.incidents.shop import HOUR, MINUTE, USUAL, Shop, during

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.fleet_sim.series import Array
    from support.fleet_sim.spans import Span

AT: Final = 2 * HOUR
_DOWN, _LOOP, _DEAD = "TritonServerDown", "TritonRestartLoop", "TritonWorkerDead"
_UNLOADED, _MISSING, _LOST = "TritonModelUnloaded", "TritonModelMissing", "TritonServersLost"


def _after(minutes: float) -> float:
    return AT + minutes * MINUTE


def _fleet(
    hours: float = 4.5,
    servers: int = 4,
    broken: Mapping[str, Mapping[str, Any]] | None = None,
    **how: Any,
) -> Shop:
    """Two models on servers, of which some are `broken`, by name."""
    shop = Shop(hours, servers=0, **how)
    shop.servers = [
        shop.server(name, **(broken or {}).get(name, {}))
        for name in (f"triton-{number}" for number in range(1, servers + 1))
    ]
    shop.add("nms", qps=3 * servers, limit=6 * servers)
    shop.add("ocr", qps=servers)
    return shop


def _silent(*spans: Span, servers: Sequence[int] = (1,)) -> dict[str, dict[str, Any]]:
    return {f"triton-{number}": {"silent": spans} for number in servers}


def _restarts(*spans: Span, servers: Sequence[int] = (1,)) -> dict[str, dict[str, Any]]:
    return {f"triton-{number}": {"restarts": spans} for number in servers}


def _models(hours: float = 4.5, servers: int = 2, seed: int = 1, **how: Any) -> Shop:
    shop = Shop(hours, servers=servers, seed=seed)
    shop.add("detector", **{"qps": 8.0, **how})
    shop.add("ocr", qps=4)
    return shop


def _worker(kind: str, minutes: float) -> Shop:
    """One worker of two on the first of two servers: its share of requests fails, or waits for ever."""
    broken = {kind: during(AT, minutes * MINUTE, 0.5)} if kind == "dead" else {}
    own = {"stuck": [(AT, _after(minutes))], "reloads": (_after(minutes),), **broken}
    return _models(11, each={0: own}, qps=8.0)


def _unloaded(hours: float, spans: Sequence[Span], servers: Sequence[int] = (0, 1)) -> Shop:
    return _models(hours, each={number: {"loaded": spans} for number in servers})


def _rollout() -> Shop:
    shop = Shop(5, servers=3)
    for number, server in enumerate(shop.servers):
        over = AT + 120 * number
        shop.add("nms", "1", qps=4, on=[server], loaded=[(0, over)])
        shop.add("nms", "2", qps=4, on=[server], loaded=[(over, FOREVER)])
    shop.add("ocr", qps=4)
    return shop


def _pods() -> Shop:
    shop = Shop(5, servers=0)
    for number in range(15):
        born = 1200.0 * number
        shop.servers.append(shop.server(f"pod-{number}", life=(born, born + 4800)))
    shop.add("nms", qps=16)
    return shop


def _discovery() -> Shop:
    shop = Shop(4, servers=0)
    shop.servers = [shop.server(f"triton-{number}", discovered=(0, AT)) for number in (1, 2, 3)]
    shop.add("nms", qps=6)
    shop.add("ocr", qps=6)
    return shop


def _slow_machine() -> Shop:
    shop = Shop(10, servers=3)
    for model in ("detector", "ocr"):
        usual = {"slow": during(AT, 40 * MINUTE, 1, otherwise=USUAL["slow"]), "slow_seconds": 0.09}
        shop.add(model, qps=15, each={0: usual})
    return shop


def _hangs(seconds: Sequence[float]) -> Shop:
    """A server stands still again and again, and a second later works off what has queued."""
    spans = [(AT + 601.4 * turn, AT + 601.4 * turn + long) for turn, long in enumerate(seconds)]

    def traffic(at: Array) -> Array:
        rate = np.full(len(at), 8.0)
        for begin, end in spans:
            rate[(at >= begin) & (at < end + 1)] = 0
            rate[(at >= end + 1) & (at < end + 2)] = 8 * (end + 2 - begin)
        return rate

    shop = Shop(4.5, servers=0, scrape_seconds=5)
    shop.servers = [shop.server("triton-1", silent=spans)]
    shop.add("nms", qps=traffic, limit=10)
    shop.add("ocr", qps=1)
    return shop


INCIDENTS: Final = (
    Incident(
        name="server-killed",
        says="one server of four is down for 20 min",
        world=lambda: _fleet(broken=_restarts((AT, _after(20)))),
        begins=AT,
        ends=_after(20),
        needs=(_DOWN,),
    ),
    Incident(
        name="server-frozen",
        says="one server of four does not answer for 10 min",
        world=lambda: _fleet(broken=_silent((AT, _after(10)))),
        begins=AT,
        ends=_after(10),
        needs=(_DOWN,),
    ),
    Incident(
        name="server-hangs-briefly",
        says="the only server stands still six times for 4 to 25 s, at 80 % of the limit",
        world=lambda: _hangs((4, 7, 10, 13, 17, 25)),
        begins=AT,
        ends=_after(51),
        only=frozenset(),
    ),
    Incident(
        name="zone-down",
        says="three servers of nine are down for 30 min",
        world=lambda: _fleet(servers=9, broken=_restarts((AT, _after(30)), servers=(1, 2, 3))),
        begins=AT,
        ends=_after(30),
        needs=(_DOWN,),
    ),
    Incident(
        name="fleet-down",
        says="all three servers are down for 20 min",
        world=lambda: _fleet(servers=3, broken=_restarts((AT, _after(20)), servers=(1, 2, 3))),
        begins=AT,
        ends=_after(20),
        needs=(_DOWN,),
    ),
    Incident(
        name="server-flaps",
        says="one server of four cannot be reached for 70 s of every 5 min, for 5 h",
        world=lambda: _fleet(
            hours=9, broken=_silent(*((AT + 300 * turn, AT + 300 * turn + 70) for turn in range(60)))
        ),
        begins=AT,
        ends=AT + 300 * 59 + 70,
        needs=(_DOWN,),
    ),
    Incident(
        name="restart-loop",
        says="a server restarts every two minutes for 20 min",
        world=lambda: _fleet(
            broken=_restarts(*((AT + 120 * turn, AT + 120 * turn + 20) for turn in range(10)))
        ),
        begins=AT,
        ends=AT + 120 * 9 + 20,
        needs=(_LOOP, _DOWN),
    ),
    Incident(
        name="restart-of-all",
        says="all servers are restarted at once and back after 40 s",
        world=lambda: _fleet(broken=_restarts((AT, AT + 40), servers=(1, 2, 3, 4))),
        begins=AT,
        ends=AT + 40,
    ),
    Incident(
        name="scrapes-lost",
        says="a quarter of the scrapes of one server is lost, all the time",
        world=lambda: _fleet(broken={"triton-1": {"lost": 0.25}}),
        begins=0,
        ends=None,
    ),
    Incident(
        name="discovery-empty",
        says="discovery forgets every server",
        world=_discovery,
        begins=AT,
        ends=None,
        needs=(_LOST,),
    ),
    Incident(
        name="server-taken-away",
        says="one server of four leaves discovery for good",
        world=lambda: _fleet(broken={"triton-4": {"life": (0, AT)}}),
        begins=AT,
        ends=None,
    ),
    Incident(
        name="pods-come-and-go",
        says="an autoscaler starts and ends pods",
        world=_pods,
        begins=0,
        ends=None,
    ),
    Incident(
        name="rollout",
        says="a good version 2 takes the place of 1, server by server",
        world=_rollout,
        begins=AT,
        ends=_after(6),
        afterwards=frozenset({"TritonVersionNotLoaded"}),
    ),
    Incident(
        name="worker-killed",
        says="one worker of two servers' is dead for 20 min and fails what it gets",
        world=lambda: _worker("dead", 20),
        begins=AT,
        ends=_after(20),
        needs=(_DEAD,),
    ),
    Incident(
        name="worker-hangs",
        says="a worker stands still for 10 min",
        world=lambda: _worker("stuck", 10),
        begins=AT,
        ends=_after(10),
        needs=(_DEAD,),
    ),
    Incident(
        name="worker-revived",
        says="a worker dies and its model is loaded again after 70 s",
        world=lambda: _worker("dead", 70 / 60),
        begins=AT,
        ends=_after(70 / 60),
        needs=(_DEAD, *PAGES),
    ),
    Incident(
        name="model-unloaded",
        says="a model is unloaded everywhere for 20 min, its callers go on",
        world=lambda: _unloaded(4.5, [(0, AT), (_after(20), FOREVER)]),
        begins=AT,
        ends=_after(20),
        needs=(_UNLOADED,),
    ),
    Incident(
        name="model-gone",
        says="a model is unloaded for good and its callers give up",
        world=lambda: _unloaded(5, [(0, AT)]),
        begins=AT,
        ends=None,
        needs=(_UNLOADED,),
    ),
    Incident(
        name="model-lost-by-one",
        says="one server of two loses a model for 25 min",
        world=lambda: _unloaded(4.5, [(0, AT), (_after(25), FOREVER)], servers=(0,)),
        begins=AT,
        ends=_after(25),
        needs=(_MISSING,),
    ),
    Incident(
        name="reload-loop",
        says="a model is loaded again every 40 s for 20 min (info: TritonModelReloaded)",
        world=lambda: _models(reloads=tuple(AT + 40 * turn for turn in range(30))),
        begins=AT,
        ends=AT + 40 * 29,
    ),
    Incident(
        name="slow-machine",
        says="all models of one server of three take three times as long for 40 min",
        world=_slow_machine,
        begins=AT,
        ends=_after(40),
        needs=("TritonReplicaSlow",),
    ),
)
