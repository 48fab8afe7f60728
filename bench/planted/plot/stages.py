"""Stages, called models and machines that take longer."""

from __future__ import annotations

from functools import partial

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import attribute, every, later
from planted.scene import Scene
from planted.truths import MACHINE, staged

SCENES: tuple[Scene, ...] = (
    Scene(
        name="small-stage-4x",
        fleet=partial(inspection, 39),
        plant=lambda f: every(f, "nms", attribute(slower={"suppress": 4.0})),
        truth=staged("nms", "1", "nms", "suppress", model="nms"),
    ),
    Scene(
        name="small-stage-few-requests",
        fleet=partial(inspection, 40, 1.0),
        looks=170.0,
        plant=lambda f: every(f, "preprocess", attribute(slower={"letterbox": 3.5})),
        truth=staged("preprocess", "1", "preprocess", "letterbox", model="preprocess"),
    ),
    Scene(
        name="service-it-waits-for",
        fleet=partial(search, 41),
        plant=lambda f: every(f, "search", attribute(added={"parse": 0.020})),
        truth=staged("search", "1", "parse", model="search"),
    ),
    Scene(
        name="callee-nobody-instrumented",
        fleet=partial(search, 42),
        plant=lambda f: every(f, "rank", attribute(slower={"run": 2.1})),
        truth=Truth(checks=("slow_stage",), places=(("rank", "1"),), advice="rank"),
    ),
    Scene(
        name="way-to-the-callee",
        fleet=partial(search, 43),
        plant=lambda f: every(f, "search", attribute(added={"embed": 0.025})),
        truth=Truth(
            checks=("slow_stage",),
            places=(("search", "1", "embed"), ("embed", "1", "embed", "(call)")),
            advice="search|embed",
        ),
    ),
    Scene(
        name="alone-and-uninstrumented",
        fleet=partial(search, 44),
        plant=lambda f: every(f, "classify", attribute(slower={"run": 3.0})),
        truth=Truth(checks=("slow_stage",), places=(("classify", "1"),), advice="classify"),
    ),
    Scene(
        name="one-machine-busy",
        fleet=partial(inspection, 45),
        plant=lambda f: later(
            f, lambda: [setattr(s, "everything", 2.4) for s in f.replicas[0].states.values()]
        ),
        truth=Truth(
            checks=("slow_replica", "slow_machine"),
            places=(
                ("inspect", "1", "triton-1:8002"),
                ("preprocess", "1", "triton-1:8002"),
                ("detector", "1", "triton-1:8002"),
                ("", "", "triton-1:8002"),
            ),
            advice="machine|what else",
        ),
    ),
    Scene(
        name="every-machine-busy",
        fleet=partial(inspection, 46),
        plant=lambda f: later(
            f, lambda: [setattr(s, "everything", 1.6) for r in f.replicas for s in r.states.values()]
        ),
        truth=Truth(checks=("slow_machine",), places=(("", ""),), advice=MACHINE),
    ),
    Scene(
        name="long-tail",
        fleet=partial(inspection, 47, 16.0),
        plant=lambda f: every(f, "detector", attribute(tail=(0.03, 14.0))),
        truth=staged("detector", "1", "detector", "infer", model="detector"),
    ),
    Scene(
        name="callee-mix",
        fleet=partial(search, 48),
        plant=lambda f: every(f, "search", attribute(slower={"render": 5.0})),
        truth=staged("search", "1", "render", model="search"),
    ),
)
