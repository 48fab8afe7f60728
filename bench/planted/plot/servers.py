"""Workers and replicas that die, stand still or vanish."""

from __future__ import annotations

from functools import partial

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import attribute, blank, both, dead, down, every, gone, leak, revived
from planted.scene import FAULT, Scene
from planted.truths import LOAD, staged

SCENES: tuple[Scene, ...] = (
    Scene(
        name="half-stopped-model",
        fleet=partial(inspection, 21),
        plant=lambda f: dead(f, "detector", frozen=True),
        truth=Truth(checks=("dead_worker",), places=(("detector", "1"),), advice=LOAD),
    ),
    Scene(
        name="killed-worker",
        fleet=partial(inspection, 22),
        plant=lambda f: dead(f, "nms"),
        truth=Truth(checks=("dead_worker",), places=(("nms", "1"),), advice=LOAD),
    ),
    Scene(
        name="killed-and-loaded",
        fleet=partial(inspection, 23),
        plant=both(lambda f: dead(f, "preprocess"), lambda f: revived(f, "preprocess", FAULT + 70)),
        truth=Truth(checks=("dead_worker",), places=(("preprocess", "1"),), advice="log|memory"),
    ),
    Scene(
        name="leaked-initialize-then-slow-stage",
        fleet=partial(inspection, 24),
        plant=both(
            lambda f: leak(f, "detector", FAULT - 40),
            lambda f: every(f, "preprocess", attribute(added={"decode": 0.030})),
        ),
        truth=staged("preprocess", "1", "preprocess", "decode", model="preprocess"),
    ),
    Scene(
        name="replica-not-listed",
        fleet=partial(inspection, 25),
        plant=gone,
        truth=Truth(
            checks=("replica_down",),
            places=(("", "", "triton-2:8002"),),
            advice="discovery|target|restart|load balancer",
        ),
    ),
    Scene(
        name="replica-refuses",
        fleet=partial(inspection, 26),
        plant=down,
        errors={"triton-2:8002": "connect: connection refused"},
        truth=Truth(checks=("replica_down",), places=(("", "", "triton-2:8002"),), advice="restart"),
    ),
    Scene(
        name="empty-page",
        fleet=partial(inspection, 27),
        plant=blank,
        truth=Truth(checks=("scrape_problem",), places=(("", "", "triton-2:8002"),), advice="page|path"),
    ),
    Scene(
        name="foreign-replica-hangs",
        fleet=partial(search, 28),
        plant=down,
        errors={"triton-2:8002": "context deadline exceeded"},
        truth=Truth(
            checks=("replica_down",), places=(("", "", "triton-2:8002"),), advice="stack trace|restart"
        ),
    ),
)
