"""http_sd: a fleet that had servers is never emptied by a bad moment."""

from __future__ import annotations

from types import SimpleNamespace

from tritonobs.plan.fleet import Replica
from tritonobs.plan.rules import RuleSettings
from tritonobs.serve.exposition import Targets


def _plan(*replicas: Replica) -> SimpleNamespace:
    own = {"cluster_labels": {"cluster": "east"}, "rules": RuleSettings()}
    return SimpleNamespace(replicas=replicas, **own)


GOOD = _plan(Replica(name="a", http_url="http://10.0.0.1:8000", metrics_url="http://10.0.0.1:8002/metrics"))
WRONG = _plan(Replica(name="a", http_url="", metrics_url="http://["))
NONE = _plan()
GROUPS = [
    {
        "targets": ["10.0.0.1:8002"],
        "labels": {"__scheme__": "http", "__metrics_path__": "/metrics", "cluster": "east", "replica": "a"},
    }
]


def _stale(targets: Targets) -> dict[str, float]:
    return {sample.name: sample.value for family in targets.collect() for sample in family.samples}


def test_the_last_good_list_holds_for_an_hour() -> None:
    """Whether there are none or they cannot be told; and the metric says how old it is."""
    now = [0.0]
    targets = Targets(lambda: now[0])
    assert targets.groups(GOOD) == GROUPS
    assert _stale(targets) == {"tritonobs_discovery_targets": 1, "tritonobs_discovery_stale_seconds": 0}
    for now[0], asked in ((60.0, NONE), (1800.0, WRONG), (3599.0, NONE)):
        assert targets.groups(asked) == GROUPS
        assert _stale(targets)["tritonobs_discovery_stale_seconds"] == now[0]
    now[0] = 3601.0
    assert targets.groups(NONE) is None
    assert targets.groups(GOOD) == GROUPS
    assert _stale(targets)["tritonobs_discovery_stale_seconds"] == 0


def test_without_a_good_list_there_is_no_answer_rather_than_an_empty_one() -> None:
    """After a restart, too: Prometheus keeps what it knows."""
    targets = Targets()
    assert targets.groups(NONE) is None
    assert targets.groups(WRONG) is None
