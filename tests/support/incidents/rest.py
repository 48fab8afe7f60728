"""Stages, caches, engines, pages, cards, pools and limits: what is wrong beside requests and servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from support.fleet_sim.spans import FOREVER
from support.fleet_sim.world import product_rules
from support.incidents.deploys import BURNS, failing, slow
from support.incidents.incident import Incident
from support.incidents.shop import HOUR, MINUTE, Shop, during
from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.fleet_sim.curves import Curve

AT: Final = 4 * HOUR
_KUBERNETES, _PROMETHEUS, _CARDS, _AGENT = "kube-state-metrics", "prometheus", "dcgm", "agent-b"
_SCALER: Final = {"namespace": "models", "horizontalpodautoscaler": "triton-large"}
_SCALER_SERIES: Final = "kube_horizontalpodautoscaler_"


def _after(minutes: float) -> float:
    return AT + minutes * MINUTE


def _shop(hours: float = 7, *, servers: int = 2, **how: Any) -> Shop:
    """A model of which something is to tell, and another one."""
    shop = Shop(hours, servers=servers)
    shop.add("nms", **{"qps": 8.0, "limit": 30, **how})
    shop.add("ocr", qps=4)
    return shop


def _stage(seconds: float, **how: Any) -> Shop:
    """A stage that takes so long for 40 min, of requests that may take 0.1 s."""
    stages = {"decode": 0.004, "encode": during(AT, 40 * MINUTE, seconds, otherwise=0.01)}
    return _shop(9, stages=stages, **how)


def _cache() -> Shop:
    shop = _shop(stages={})
    for server in shop.servers:
        for name, usual, now in ((names.TRITON_CACHE_HITS, 3, 0.2), (names.TRITON_CACHE_MISSES, 1, 3.8)):
            shop.counts(server, name, during(AT, 40 * MINUTE, now, otherwise=usual), model="nms", version="1")
    return shop


def _empty() -> Shop:
    shop = Shop(7, servers=0)
    shop.servers = [
        shop.server("triton-1", restarts=[(AT - 30, AT)], empty=[(AT, _after(30))]),
        shop.server("triton-2"),
        shop.server("triton-3"),
    ]
    shop.add("nms", qps=9, limit=30)
    shop.add("ocr", qps=4)
    return shop


def _frozen() -> Shop:
    """Both servers are restarted with an option that ends Triton's counters, and again without it."""
    shop = Shop(7, servers=0)
    restarts = [(AT - 30, AT), (_after(30) - 30, _after(30))]
    shop.servers = [shop.server(f"triton-{number}", restarts=restarts) for number in (1, 2)]
    for model, qps in (("nms", 8.0), ("ocr", 4.0)):
        shop.add(model, qps=qps, uncounted=[(AT, _after(30))])
    return shop


def _other_bounds() -> Shop:
    """A new version times its requests with buckets of which none ends at the threshold."""
    shop = Shop(7)
    shop.add("nms", "1", qps=8, loaded=[(0, AT)])
    shop.add("nms", "2", qps=8, loaded=[(AT, FOREVER)], bounds=(0.02, 0.075, 0.25, 1.0))
    shop.add("ocr", qps=4)
    return shop


def _page(job: str, rows: Iterable[tuple[str, Curve, dict[str, str]]]) -> Shop:
    shop = _shop()
    shop.page_of(job, source=job)
    for name, value, labels in rows:
        shop.exports(name, value, source=job, **labels)
    return shop


def _growing(minutes: float, per_second: float) -> Curve:
    return lambda seconds: (seconds - AT).clip(0, minutes * MINUTE) * per_second // 1


def _rules(counter: str, minutes: float, chosen: Callable[[dict[str, Any]], bool]) -> Shop:
    """Groups of our rules fail or are late, one in four of their turns."""
    return _page(
        _PROMETHEUS,
        [
            (counter, _growing(minutes, 1 / 60), {"rule_group": f"/etc/prometheus/rules/x.yml;{one['name']}"})
            for one in product_rules(15)
            if chosen(one)
        ],
    )


def _cards(count: int, **series: Curve) -> Shop:
    return _page(
        _CARDS,
        [
            (f"DCGM_FI_{name}", value, {"UUID": f"GPU-{card}", "gpu": str(card), "Hostname": "node-1"})
            for name, value in series.items()
            for card in range(count)
        ],
    )


def _fault() -> Shop:
    """One of the two cards of a server is lost, and half of what it gets fails until it is restarted."""
    shop = Shop(9, servers=0)
    over = _after(25)
    shop.servers = [
        shop.server("triton-1", restarts=[(over, over + 40)]),
        *(shop.server(f"triton-{number}") for number in (2, 3)),
    ]
    shop.add("nms", qps=9, limit=30, each={0: {"raised": failing(0.5, AT, 25)}})
    shop.page_of(_CARDS, source=_CARDS)
    for card, code in (("0", 0.0), ("1", during(AT, 25 * MINUTE, 79))):
        labels = {"UUID": f"GPU-{card}", "gpu": card, "Hostname": "node-1"}
        shop.exports("DCGM_FI_DEV_XID_ERRORS", code, source=_CARDS, **labels)
    return shop


def _language(minutes: float, per_second: float) -> Shop:
    """Longer prompts come: so many tokens a second on each of two servers."""
    shop = Shop(6)
    shop.add("llm", qps=2, promised=False, tokens={"tokens_in": 1000}, bounds=None)
    own = {"model": "llm", "version": "1"}
    for server in shop.servers:
        asked = during(AT, minutes * MINUTE, per_second, otherwise=250)
        shop.counts(server, "vllm:prompt_tokens_total", asked, **own)
    return shop


def _preempted() -> Shop:
    shop = Shop(6)
    shop.add("llm", qps=2, promised=False, bounds=None)
    for server in shop.servers:
        preempted = during(AT, 20 * MINUTE, 0.4)
        shop.counts(server, "vllm:num_preemptions_total", preempted, model="llm", version="1")
    return shop


def _pool() -> Shop:
    """Two of six pods are evicted; what takes their place finds no room for 40 min."""
    shop = Shop(7, servers=4)
    for number in (5, 6):
        shop.servers.append(shop.server(f"pod-{number}-old", life=(0, AT)))
        shop.servers.append(shop.server(f"pod-{number}-new", life=(_after(40), FOREVER)))
    for server in shop.servers:
        shop.add("nms", on=[server], qps=3)
    shop.page_of(_KUBERNETES, source=_KUBERNETES)
    for name, value in (
        ("spec_replicas", 6),
        ("status_replicas_available", during(AT, 40 * MINUTE, 4, otherwise=6)),
        ("status_replicas_updated", 6),
    ):
        own = {"namespace": "models", "deployment": "triton-large"}
        shop.exports(f"kube_deployment_{name}", value, source=_KUBERNETES, **own)
    return shop


def _autoscaler(**series: Curve) -> Shop:
    return _page(_KUBERNETES, [(_SCALER_SERIES + name, value, _SCALER) for name, value in series.items()])


def _blind() -> Shop:
    own = {**_SCALER, "condition": "ScalingActive", "status": "false"}
    name = f"{_SCALER_SERIES}status_condition"
    return _page(_KUBERNETES, [(name, during(AT, 20 * MINUTE), own)])


def _disagree() -> Shop:
    shop = _shop()
    own = {"model": "nms", "version": ""}
    shop.exports(names.QPS_LIMIT, 25, (AT, _after(30)), source="serve-2", **own)
    return shop


def _refused() -> Shop:
    shop = _shop()
    shop.exports("tritonobs_limit_annotations_refused", during(AT, 20 * MINUTE, 1))
    return shop


def _zone(*, agent: bool) -> Shop:
    """Samples of two servers of four do not arrive; the servers work on."""
    away = [(AT, _after(20))]
    shop = Shop(7, servers=0)
    shop.servers = [
        shop.server(f"triton-{number}", unsent=away if number > 2 else ()) for number in (1, 2, 3, 4)
    ]
    shop.add("nms", qps=12, limit=30)
    shop.add("ocr", qps=4)
    if agent:
        shop.page_of("agents", source="agent-a", shard="a")
        shop.page_of("agents", source=_AGENT, shard="b")
        shop.serve_silent(*away, source=_AGENT)
    return shop


INCIDENTS: Final = (
    Incident(
        name="stage-slow",
        says="a stage takes nine tenths of the time that requests may take, and they meet it, for 40 min",
        world=lambda: _stage(0.09),
        begins=AT,
        ends=_after(40),
        needs=("TritonStageSlow",),
    ),
    Incident(
        name="stage-slow-burns",
        says="a stage takes so long that three of five requests are too slow, for 40 min",
        world=lambda: _stage(0.2, slow=slow(0.6, AT, 40)),
        begins=AT,
        ends=_after(40),
        needs=BURNS,
    ),
    Incident(
        name="cache-collapse",
        says="the response cache answers one in twenty instead of three in four, for 40 min",
        world=_cache,
        begins=AT,
        ends=_after(40),
        needs=("TritonCacheCollapse",),
    ),
    Incident(
        name="metrics-empty",
        says="one server of three comes back with an empty metrics page, for 30 min",
        world=_empty,
        begins=AT,
        ends=_after(30),
        needs=("TritonMetricsEmpty",),
    ),
    Incident(
        name="counters-frozen",
        says="servers run for 30 min with an option that ends Triton's counters",
        world=_frozen,
        begins=AT,
        ends=_after(30),
        needs=("TritonCountersFrozen",),
    ),
    Incident(
        name="slo-not-measured",
        says="a new version times its requests without the threshold of its SLO",
        world=_other_bounds,
        begins=AT,
        ends=None,
        needs=("TritonSliMissing",),
    ),
    Incident(
        name="rules-fail",
        says="a group of rules fails for 15 min",
        world=lambda: _rules(
            "prometheus_rule_evaluation_failures_total", 15, lambda one: one["name"].endswith("alerts.slo")
        ),
        begins=AT,
        ends=_after(15),
        needs=("TritonobsRulesFailing",),
    ),
    Incident(
        name="rules-late",
        says="Prometheus is too slow for all groups of 15 s, for 20 min",
        world=lambda: _rules(
            "prometheus_rule_group_iterations_missed_total", 20, lambda one: one["interval"] == "15s"
        ),
        begins=AT,
        ends=_after(20),
        needs=("TritonobsRulesLate",),
    ),
    Incident(
        name="card-fault",
        says="a server loses one of its two cards and fails half of its requests for 25 min",
        world=_fault,
        begins=AT,
        ends=_after(25),
        needs=(*BURNS, "TritonAcceleratorFault"),
    ),
    Incident(
        name="cards-throttled",
        says="all eight cards of a host slow down for heat, for 40 min",
        world=lambda: _cards(8, DEV_CLOCK_THROTTLE_REASONS=during(AT, 40 * MINUTE, 64)),
        begins=AT,
        ends=_after(40),
        needs=("TritonAcceleratorThrottled",),
    ),
    Incident(
        name="cards-full",
        says="98 % of the memory of two cards is used for 40 min",
        world=lambda: _cards(
            2,
            DEV_FB_USED=during(AT, 40 * MINUTE, 78400, otherwise=60000),
            DEV_FB_FREE=during(AT, 40 * MINUTE, 1600, otherwise=20000),
        ),
        begins=AT,
        ends=_after(40),
        needs=("TritonAcceleratorMemoryPressure",),
    ),
    Incident(
        name="cards-busy",
        says="two cards work without a break for 40 min (info: TritonAcceleratorSaturated)",
        world=lambda: _cards(2, DEV_GPU_UTIL=during(AT, 40 * MINUTE, 99, otherwise=50)),
        begins=AT,
        ends=_after(40),
        only=frozenset(),
    ),
    Incident(
        name="tokens-above",
        says="prompts of 1.6 times the limit of tokens for 20 min",
        world=lambda: _language(20, 800),
        begins=AT,
        ends=_after(20),
        needs=("TritonTokensAboveLimit",),
        lasts="TritonTokensAboveLimit",
    ),
    Incident(
        name="tokens-near",
        says="prompts of nine tenths of the limit of tokens for 40 min",
        world=lambda: _language(40, 450),
        begins=AT,
        ends=_after(40),
        needs=("TritonTokensNearLimit",),
    ),
    Incident(
        name="preemptions",
        says="a language model puts two of five requests back for 20 min",
        world=_preempted,
        begins=AT,
        ends=_after(20),
        needs=("TritonPreemptions",),
    ),
    Incident(
        name="pool-short",
        says="two pods of six are evicted and find no room for 40 min",
        world=_pool,
        begins=AT,
        ends=_after(40),
        needs=("TritonPoolShort",),
    ),
    Incident(
        name="autoscaler-at-maximum",
        says="an autoscaler wants all it may have for 40 min",
        world=lambda: _autoscaler(
            status_desired_replicas=during(AT, 40 * MINUTE, 8, otherwise=5), spec_max_replicas=8
        ),
        begins=AT,
        ends=_after(40),
        needs=("TritonAutoscalerAtMaximum",),
    ),
    Incident(
        name="autoscaler-blind",
        says="an autoscaler has no metric for 20 min",
        world=_blind,
        begins=AT,
        ends=_after(20),
        needs=("TritonAutoscalerBlind",),
    ),
    Incident(
        name="autoscaler-flaps",
        says="an autoscaler wants three more servers and lets them go, every six minutes for two hours",
        world=lambda: _autoscaler(
            status_desired_replicas=lambda s: (
                5 + 3 * ((s >= AT) & (s < _after(120)) & ((s - AT) % 360 < 180))
            ),
            spec_max_replicas=20,
        ),
        begins=AT,
        ends=_after(120),
        needs=("TritonAutoscalerFlapping",),
    ),
    Incident(
        name="limits-disagree",
        says="a second tritonobs serve has another limit for 30 min",
        world=_disagree,
        begins=AT,
        ends=_after(30),
        needs=("TritonLimitsDisagree",),
    ),
    Incident(
        name="limit-refused",
        says="an annotation is no limit for 20 min",
        world=_refused,
        begins=AT,
        ends=_after(20),
        needs=("TritonLimitRefused",),
    ),
    Incident(
        name="zone-unseen",
        says="samples of two servers of four do not reach Prometheus for 20 min",
        world=lambda: _zone(agent=False),
        begins=AT,
        ends=_after(20),
        needs=("TritonServerDown",),
    ),
    Incident(
        name="agent-away",
        says="the agent of two servers of four is away for 20 min",
        world=lambda: _zone(agent=True),
        begins=AT,
        ends=_after(20),
        needs=("TritonobsAgentMissing",),
        agents='job="agents"',
    ),
)
