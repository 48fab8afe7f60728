"""Deployments: bad ones, slow ones, and one that only warms up."""

from __future__ import annotations

from functools import partial

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import attribute, deploy, second
from planted.scene import Scene
from planted.truths import ROLL, deployed

SCENES: tuple[Scene, ...] = (
    Scene(
        name="deploy-21-percent-errors",
        fleet=partial(inspection, 11),
        plant=lambda f: deploy(f, "preprocess", attribute(fails=0.21, reason=("normalise", "internal"))),
        truth=deployed("preprocess", "error|fail"),
    ),
    Scene(
        name="deploy-15-ms",
        fleet=partial(inspection, 12),
        plant=lambda f: deploy(f, "nms", attribute(added={"suppress": 0.015})),
        truth=deployed("nms", "longer|slower|takes"),
    ),
    Scene(
        name="deploy-one-replica-slow",
        fleet=partial(inspection, 13),
        plant=lambda f: deploy(f, "detector", attribute(slower={"infer": 2.2}), replicas=1),
        truth=Truth(checks=("bad_deploy", "slow_replica"), places=(("detector", "1"),), advice=ROLL),
    ),
    Scene(
        name="deploy-warm-up-only",
        fleet=partial(inspection, 14, 2.0),
        plant=lambda f: deploy(f, "detector", attribute(), cold=40),
        since=120.0,
        looks=60.0,
        truth=Truth(checks=("reload",), places=(("detector", "1"),), advice="warm"),
    ),
    Scene(
        name="deploy-raises-all",
        fleet=partial(inspection, 15),
        plant=lambda f: deploy(f, "nms", attribute(fails=1.0, raises=True)),
        truth=deployed("nms", "error|fail"),
    ),
    Scene(
        name="deploy-between-stages",
        fleet=partial(inspection, 16),
        plant=lambda f: deploy(f, "inspect", attribute(added={"": 0.030})),
        truth=deployed("inspect", "longer|slower|takes"),
    ),
    Scene(
        name="deploy-foreign-pipeline",
        fleet=partial(search, 17),
        plant=lambda f: deploy(f, "search", attribute(fails=0.08, reason=("parse", "value_error"))),
        truth=deployed("search", "error|fail"),
    ),
    Scene(
        name="deploy-letterbox-doubles",
        fleet=partial(inspection, 18),
        looks=240.0,
        since=300.0,
        plant=lambda f: deploy(f, "preprocess", attribute(slower={"letterbox": 6.0})),
        truth=deployed("preprocess", "longer|slower|takes"),
    ),
    Scene(
        name="version-2-errors",
        fleet=partial(inspection, 19),
        plant=lambda f: second(f, "nms", attribute(fails=0.12, raises=True)),
        truth=Truth(
            checks=("slow_version", "bad_deploy"), places=(("nms", "2"),), advice=ROLL, sentence="error|fail"
        ),
    ),
    Scene(
        name="version-2-slower",
        fleet=partial(inspection, 20),
        plant=lambda f: second(f, "detector", attribute(slower={"infer": 2.0})),
        truth=Truth(checks=("slow_version", "bad_deploy"), places=(("detector", "2"),), advice=ROLL),
    ),
)
