"""Prometheus, `tritonobs serve`, robots, and what else is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from support.incidents.incident import Incident
from support.incidents.shop import HOUR, MINUTE, Shop, during

if TYPE_CHECKING:
    from collections.abc import Callable

AT: Final = 2 * HOUR


def _after(minutes: float) -> float:
    return AT + minutes * MINUTE


def _fleet(hours: float = 4, **how: Any) -> Shop:
    shop = Shop(hours, **how)
    shop.add("nms", qps=8, limit=30)
    shop.add("ocr", qps=2)
    return shop


def _with(change: Callable[[Shop], object], **how: Any) -> Shop:
    shop = _fleet(**how)
    change(shop)
    return shop


def _starts() -> Shop:
    """Servers, `serve` and the first scrapes of each, one after the other."""
    shop = Shop(2, servers=0)
    shop.servers = [
        shop.server(f"triton-{number}", discovered=(0, 2 * HOUR), life=(60.0 * number, 2 * HOUR))
        for number in (1, 2, 3)
    ]
    shop.add("nms", qps=9, limit=30)
    shop.add("ocr", qps=3)
    shop.serve_silent((0, 45))
    return shop


def _shown(name: str, minutes: float = 15, value: float = 1, otherwise: float = 0, **labels: str) -> Shop:
    return _with(
        lambda shop: shop.exports(name, during(AT, minutes * MINUTE, value, otherwise=otherwise), **labels)
    )


def _delivery(shop: Shop) -> None:
    shop.exports("tritonobs_delivery_waiting_calls", during(AT, 600, 3), robot="oncall")
    shop.exports(
        "tritonobs_delivery_errors_total",
        lambda seconds: ((seconds - AT).clip(0, 600)) / 5,
        robot="oncall",
        code="timeout",
    )


def _memory() -> Shop:
    def change(shop: Shop) -> None:
        for server in shop.servers:
            shop.shows(server, "nv_cpu_memory_total_bytes", 100.0)
            shop.shows(server, "nv_cpu_memory_used_bytes", during(AT, 1200, 97, otherwise=60))

    return _with(change)


def _language() -> Shop:
    def change(shop: Shop) -> None:
        own = {"model": "ocr", "version": "1"}
        for server in shop.servers:
            shop.shows(server, "vllm:gpu_cache_usage_perc", during(AT, 1200, 0.99, otherwise=0.4), **own)
            shop.shows(server, "vllm:num_requests_waiting", during(AT, 1200, 6), **own)
            shop.shows(server, "vllm:num_requests_running", 8, **own)

    return _with(change)


def _records_lost(shop: Shop) -> None:
    shop.counts(
        shop.servers[0], "tritonobs_flush_dropped_total", during(AT, 600, 20), model="nms", version="1"
    )


INCIDENTS: Final = (
    Incident(
        name="serve-killed",
        says="`tritonobs serve` is away for 20 min",
        world=lambda: _with(lambda shop: shop.serve_silent((AT, _after(20)))),
        begins=AT,
        ends=_after(20),
        needs=("TritonobsServeDown",),
    ),
    Incident(
        name="serve-restarted",
        says="`tritonobs serve` is away for 30 s",
        world=lambda: _with(lambda shop: shop.serve_silent((AT, AT + 30))),
        begins=AT,
        ends=AT + 30,
    ),
    Incident(
        name="prometheus-away",
        says="Prometheus is away for 7 min",
        world=lambda: _with(lambda shop: shop.prometheus_away((AT, _after(7))), hours=5),
        begins=AT,
        ends=_after(7),
    ),
    Incident(
        name="prometheus-starts",
        says="a new Prometheus, which scrapes every 60 s",
        world=lambda: _fleet(2, scrape_seconds=60),
        begins=0,
        ends=None,
    ),
    Incident(
        name="all-start",
        says="Prometheus, serve and three servers start within three minutes",
        world=_starts,
        begins=0,
        ends=None,
    ),
    Incident(
        name="robot-muted",
        says="DingTalk mutes a robot for ten minutes",
        world=lambda: _shown("tritonobs_robot_muted", 10, robot="oncall"),
        begins=AT,
        ends=_after(10),
        needs=("TritonobsRobotMuted",),
    ),
    Incident(
        name="robot-failing",
        says="a robot cannot be reached for ten minutes",
        world=lambda: _with(_delivery),
        begins=AT,
        ends=_after(10),
        needs=("TritonobsDeliveryFailing",),
    ),
    Incident(
        name="bad-fleet-file",
        says="the fleet file is wrong for 15 min",
        world=lambda: _shown("tritonobs_config_valid", value=0, otherwise=1),
        begins=AT,
        ends=_after(15),
        needs=("TritonobsFleetFileInvalid",),
    ),
    Incident(
        name="limit-source-lost",
        says="annotations cannot be read for 15 min",
        world=lambda: _shown("tritonobs_limit_source_up", value=0, otherwise=1, source="kubernetes"),
        begins=AT,
        ends=_after(15),
        needs=("TritonLimitSourceLost",),
    ),
    Incident(
        name="records-lost",
        says="a model loses stage records for ten minutes",
        world=lambda: _with(_records_lost),
        begins=AT,
        ends=_after(10),
        needs=("TritonStageMetricsFailing",),
    ),
    Incident(
        name="cache-full",
        says="the KV cache of a language model is full for 20 min, and requests wait",
        world=_language,
        begins=AT,
        ends=_after(20),
        needs=("TritonKvCacheFull",),
    ),
    Incident(
        name="memory-pressure",
        says="the memory of both servers is nearly used up for 20 min",
        world=_memory,
        begins=AT,
        ends=_after(20),
        needs=("TritonHostMemoryPressure",),
    ),
)
