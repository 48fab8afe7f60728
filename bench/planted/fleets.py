"""The fleets of the scenes."""

from __future__ import annotations

from planted.fleet import Fleet
from planted.model import Model


def inspection(seed: int, qps: float = 8.0, replicas: int = 2, *, load_times: bool = False) -> Fleet:
    """A pipeline of three models and an ensemble over the same, as in the examples."""
    fleet = Fleet(
        [
            Model(
                name="preprocess",
                parts={"decode": 0.012, "letterbox": 0.004, "normalise": 0.005},
                instances=2,
                sizes={("decode", "megapixels"): 1.0},
            ),
            Model(name="detector", parts={"infer": 0.022}, instances=2),
            Model(
                name="nms",
                parts={"filter": 0.001, "suppress": 0.003},
                instances=1,
                sizes={("suppress", "boxes"): 12.0},
            ),
            Model(
                name="inspect",
                parts={"preprocess": "preprocess", "detector": "detector", "nms": "nms"},
                instances=4,
            ),
            Model(
                name="inspect_ensemble",
                parts={"preprocess": "preprocess", "detector": "detector", "nms": "nms"},
                ensemble=True,
            ),
        ],
        seed=seed,
        replicas=replicas,
        load_times=load_times,
    )
    fleet.limits["inspect"] = 3 * qps
    fleet.ask("inspect", qps)
    fleet.ask("inspect_ensemble", qps / 4)
    return fleet


def search(seed: int, qps: float = 12.0, *, load_times: bool = False) -> Fleet:
    """Somebody else's: a BLS model over backends that report no stages, and a model with a cache."""
    fleet = Fleet(
        [
            Model(
                name="search",
                parts={"parse": 0.002, "embed": "embed", "rank": "rank", "render": 0.003},
                instances=6,
            ),
            Model(name="embed", parts={"run": 0.009}, staged=False, instances=2),
            Model(name="rank", parts={"run": 0.022}, staged=False, instances=2),
            Model(name="thumb", parts={"resize": 0.010, "write": 0.004}, cached=0.6, instances=2),
            Model(name="classify", parts={"run": 0.006}, staged=False),
        ],
        seed=seed,
        load_times=load_times,
    )
    fleet.ask("search", qps)
    fleet.ask("thumb", qps / 2)
    fleet.ask("classify", qps)
    return fleet
