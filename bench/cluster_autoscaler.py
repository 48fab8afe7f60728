"""Ten minutes of real autoscalers, as they were built, whose metrics are missing in one way or another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml
from results import table

from support.control_plane import ControlPlane, wait
from support.external_metrics import FAILS, NO_ROW, ExternalMetrics, Old, Said
from support.fleets import build_objects
from support.pools import pool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BEGINS, _LOW, _MOST = 10, 1, 20
_LOOK_SECONDS = 1.0
_SHRINKS = "shrinks"
_HEADER = ("what the adapter answers", "times made smaller", "fewest servers", "ScalingActive")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A pool, what is wrong with it in words, and what the adapter answers for its load and its queue."""

    name: str
    says: str
    load: Said
    queue: Said

    def answers(self) -> Iterator[tuple[str, Said]]:
        for reason, said in (("load", self.load), ("ahead", self.load), ("queue", self.queue)):
            yield f"tritonobs_{self.name}_inspect_{reason}", said


_FAULTS: dict[str, Said] = {"error": FAILS, "no row": NO_ROW, "two minutes old": Old(_BEGINS)}
_CASES = (
    _Case(name=_SHRINKS, says=f"all metrics: {_LOW} server", load=_LOW, queue=_LOW),
    *(
        _Case(name=f"all-{at}", says=f"all metrics: {words}", load=said, queue=said)
        for at, (words, said) in enumerate(_FAULTS.items())
    ),
    *(
        _Case(name=f"one-{at}", says=f"queue: {words}; load: {_LOW} server", load=_LOW, queue=said)
        for at, (words, said) in enumerate(_FAULTS.items())
    ),
)


def measure(folder: Path, minutes: float) -> tuple[str, object, bool]:
    """How often each pool is made smaller; one whose metrics say so must be."""
    made = build_objects(folder / "built", _fleet()) / "base"
    scalers = [
        yaml.safe_load((made / f"horizontalpodautoscaler-{case.name}.yaml").read_text()) for case in _CASES
    ]
    with ControlPlane(folder, controllers=True) as plane, ExternalMetrics(folder) as metrics:
        for name in ("monitoring", "models"):
            plane.kubectl("create", "namespace", name)
        metrics.say(_BEGINS)
        pools = [pool(case.name, _BEGINS, model="inspect") for case in _CASES]
        plane.apply(*metrics.objects(), *pools, *scalers)
        wait(lambda: set(_active(plane).values()) == {"True"}, "autoscalers that have their metrics")
        for case in _CASES:
            metrics.answers.update(case.answers())
        ends = time.monotonic() + minutes * 60
        before = fewest = _sizes(plane)
        shrunk = dict.fromkeys(fewest, 0)
        while time.monotonic() < ends:
            time.sleep(_LOOK_SECONDS)
            sizes = _sizes(plane)
            for name, size in sizes.items():
                shrunk[name] += size < before[name]
            fewest = {name: min(size, fewest[name]) for name, size in sizes.items()}
            before = sizes
        active = _active(plane)
    rows = [[case.says, str(shrunk[case.name]), str(fewest[case.name]), active[case.name]] for case in _CASES]
    text = (
        f"HorizontalPodAutoscalers as they were built, in a real controller for {minutes:g} minutes; each "
        f"pool begins with {_BEGINS} servers. prometheus-adapter is a double. What is not a number, or "
        "infinite, does not reach it: the queries then give no row (`tests/rules/test_autoscaling.py`). KEDA "
        f"was not run.\n\n{table(_HEADER, rows)}"
    )
    held = all(not times for name, times in shrunk.items() if name != _SHRINKS)
    return text, {"shrunk": shrunk, "fewest": fewest, "active": active}, held and bool(shrunk[_SHRINKS])


def _fleet() -> str:
    entry = f"{{models: [inspect], namespace: models, min_replicas: 1, max_replicas: {_MOST}}}"
    entries = "".join(f"      {case.name}: {entry}\n" for case in _CASES)
    return (
        "fleet: shop\nreplicas: {kubernetes: {selector: app=triton, namespace: models}}\n"
        f"kubernetes:\n  objects:\n    autoscaling:\n{entries}models: {{inspect: {{qps_limit: 80}}}}\n"
    )


def _sizes(plane: ControlPlane) -> dict[str, int]:
    """How many servers each pool shall have."""
    pools = plane.objects("deployments", namespace="models")
    return {one["metadata"]["name"]: int(one["spec"]["replicas"]) for one in pools}


def _active(plane: ControlPlane) -> dict[str, str]:
    """What each autoscaler says of having its metrics."""
    scalers = plane.objects("horizontalpodautoscalers", namespace="models")
    return {
        one["metadata"]["name"]: next(
            (
                said["status"]
                for said in one.get("status", {}).get("conditions", ())
                if said["type"] == "ScalingActive"
            ),
            "",
        )
        for one in scalers
    }
