"""Caches of language models: when a full one is told, for how long, and what is put back for want of room."""

from support.case import Case, all_fire, silent
from support.simulate import World

FULL, BACK = "TritonKvCacheFull", "TritonPreemptions"
USED = "replica_model_version:tritonobs_kv_cache_used:ratio"
WAITING = "replica_model_version:tritonobs_llm_requests_waiting:sum"
PREEMPTED, PAUSED = (
    "model_version:tritonobs_llm_preemptions:rate5m",
    "model_version:tritonobs_llm_requests_paused:mean5m",
)
REQUESTS, OWNER = "model_version:triton_requests:rate5m", "subject:tritonobs_owner:info"
LLM = {"model": "llm", "version": "1"}
TEAM = {"team": "chat", "severity": "warning"}


def caches():
    """One server's cache fills at minute 5 and requests wait until 12; another was full before."""
    world = World(minutes=20).gauge(OWNER, 1, **LLM, team="chat")
    for replica, used in (("a", [(5, 0.5), (99, 0.97)]), ("b", [(2, 0.9), (2.5, 0.97), (99, 0.9)])):
        world.gauge(USED, used, **LLM, replica=replica)
        world.gauge(WAITING, [(5, 0), (12, 1), (99, 0)], **LLM, replica=replica)
    return world


def put_back():
    """Versions from minute 2 to 10: just above and just below what is told, put back or paused."""
    world = World(minutes=20)
    for version, preempted, paused in (("1", 0.201, 0), ("2", 0.199, 0), ("3", 0, 1.1), ("4", 0, 1)):
        row = {"model": "llm", "version": version}
        world.gauge(OWNER, 1, **row, team="chat").gauge(REQUESTS, 4, **row)
        world.gauge(PREEMPTED, [(2, 0), (10, preempted), (99, 0)], **row)
        world.gauge(PAUSED, [(2, 0), (10, paused), (99, 0)], **row)
    return world


AT_A = {**LLM, **TEAM, "replica": "a"}
TOLD = tuple({"model": "llm", "version": version, **TEAM} for version in ("1", "3"))

CASES = (
    Case(
        says="a full cache is told when requests have waited for two minutes and one more, and ends in two",
        world=caches(),
        rules=(FULL,),
        given=(USED, WAITING, OWNER),
        checks=(
            silent(FULL, 7.5),
            all_fire(FULL, 8, AT_A),
            all_fire(FULL, 13.75, AT_A),
            silent(FULL, 20, since=14),
        ),
    ),
    Case(
        says="more than one in twenty put back, or more than one paused, is told after five minutes",
        world=put_back(),
        rules=(BACK,),
        given=(PREEMPTED, PAUSED, REQUESTS, OWNER),
        checks=(
            silent(BACK, 6.75),
            all_fire(BACK, 7, *TOLD),
            all_fire(BACK, 14.75, *TOLD),
            silent(BACK, 20, since=15),
        ),
    ),
)
