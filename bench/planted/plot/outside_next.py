"""Twenty more outside of `Stages` blocks: written after the checks had changed for the first twenty."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import (
    attribute,
    both,
    breathing,
    dead,
    deploy,
    every,
    later,
    second,
    starved,
    traffic,
)
from planted.plot.outside import LARGE
from planted.scene import FAULT, Scene
from planted.truths import MACHINE, ROLL, deployed, staged

if TYPE_CHECKING:
    from collections.abc import Callable

    from planted.fleet import Fleet

_SLOWER, _FAILS = "longer|slower|takes", "error|fail"


def _breathes(seed: int, *plants: Callable[[Fleet], None]) -> Callable[[Fleet], None]:
    return both(lambda f: breathing(f, seed), *plants)


def _restarted(fleet: Fleet) -> None:
    """Both servers restart, one after the other: all is loaded anew, and as good as before."""
    for place, each in enumerate(fleet.replicas):
        for model in fleet.models.values():
            later(
                fleet,
                lambda each=each, model=model: fleet.load(each, model, anew=True),  # type: ignore[misc] # a lambda's default has no type
                FAULT + 20.0 * place,
            )


def _configured(fleet: Fleet, model: str, **values: object) -> None:
    """A model is loaded with other settings."""

    def act() -> None:
        fleet.models[model] = replace(fleet.models[model], **values)  # type: ignore[arg-type] # fields by name have no types
        for each in fleet.replicas:
            fleet.load(each, fleet.models[model])

    later(fleet, act)


def _calls_fail(fleet: Fleet) -> None:
    every(fleet, "inspect", attribute(fails=0.12, reason=("detector", "call_failed")))


SCENES: tuple[Scene, ...] = (
    Scene(
        name="rank-version-2-fails",
        fleet=partial(search, 121),
        plant=_breathes(121, lambda f: second(f, "rank", attribute(fails=0.15, raises=True))),
        truth=deployed("rank", _FAILS, "2"),
    ),
    Scene(
        name="embed-on-one-server-slower",
        fleet=partial(search, 122, load_times=True),
        plant=_breathes(
            122, lambda f: deploy(f, "embed", attribute(slower={"run": 3.0}), replicas=1, anew=True)
        ),
        truth=Truth(checks=("bad_deploy",), places=(("embed", "1"),), advice=ROLL),
    ),
    Scene(
        name="preprocess-has-a-queue-timeout",
        fleet=partial(inspection, 123, 36.0),
        plant=_breathes(123, lambda f: deploy(f, "preprocess", attribute(timeout=0.012))),
        since=125.0,
        truth=deployed("preprocess", _FAILS),
    ),
    Scene(
        name="thumb-has-no-cache-any-more",
        fleet=partial(search, 124, load_times=True),
        plant=_breathes(124, lambda f: _configured(f, "thumb", cached=0.01)),
        truth=Truth(
            checks=("bad_deploy", "cache_collapse"), places=(("thumb", "1"),), advice="roll back|inputs|evict"
        ),
    ),
    Scene(
        name="nms-keeps-unlikely-boxes",
        fleet=partial(inspection, 125),
        plant=_breathes(
            125,
            lambda f: deploy(f, "nms", lambda s: s.sizes.update({("suppress", "boxes"): (1.0, 7.0)})),
        ),
        truth=Truth(
            checks=("bad_deploy", "more_boxes"), places=(("nms", "1"),), advice="roll back|images|confidence"
        ),
    ),
    Scene(
        name="both-servers-restart",
        fleet=partial(inspection, 126, load_times=True),
        plant=_breathes(126, _restarted),
        truth=None,
    ),
    Scene(
        name="detector-slow-long-after-its-reload",
        fleet=partial(inspection, 127, load_times=True),
        plant=_breathes(
            127,
            lambda f: deploy(f, "detector", attribute(), at=FAULT - 200, cold=2),
            lambda f: every(f, "detector", attribute(slower={"infer": 2.3})),
        ),
        truth=staged("detector", "1", "detector", "infer", model="detector"),
    ),
    Scene(
        name="large-images-beside-a-reload",
        fleet=partial(inspection, 128, load_times=True),
        plant=_breathes(128, lambda f: deploy(f, "preprocess", LARGE, cold=2)),
        truth=Truth(checks=("larger_inputs",), places=(("preprocess", "1"),), advice="client"),
    ),
    Scene(
        name="detector-slow-beside-a-reload-of-preprocess",
        fleet=partial(inspection, 129),
        plant=_breathes(
            129,
            lambda f: deploy(f, "preprocess", attribute(), anew=True, cold=2),
            lambda f: every(f, "detector", attribute(slower={"infer": 2.5})),
        ),
        truth=staged("detector", "1", "detector", "infer", model="detector"),
    ),
    Scene(
        name="over-the-limit-beside-a-reload",
        fleet=partial(inspection, 130),
        plant=_breathes(
            130,
            lambda f: deploy(f, "inspect", attribute(), cold=2),
            lambda f: traffic(f, "inspect", 34.0),
        ),
        truth=Truth(checks=("qps_limit",), places=(("inspect",),), advice="client"),
    ),
    Scene(
        name="clients-that-vanish",
        fleet=partial(search, 131),
        plant=_breathes(131, lambda f: traffic(f, "search", 0.0)),
        truth=Truth(checks=("upstream_drop",), places=(("search", "1"),), advice="upstream"),
    ),
    Scene(
        name="neighbour-on-one-of-two",
        fleet=partial(inspection, 132),
        plant=_breathes(
            132,
            lambda f: starved(f, 2.2, cpu=0.98, replicas=1),
            lambda f: later(
                f,
                lambda: f.state(f.replicas[0], "nms").slower.update({"suppress": 3.0}),
                FAULT + 1,
            ),
        ),
        truth=Truth(
            checks=("cpu_starved", "slow_replica"),
            places=(
                ("", "", "triton-1:8002"),
                ("inspect", "1", "triton-1:8002"),
                ("preprocess", "1", "triton-1:8002"),
                ("detector", "1", "triton-1:8002"),
                ("nms", "1", "triton-1:8002"),
            ),
            advice="what else|machine",
        ),
    ),
    Scene(
        name="host-slow-and-idle",
        fleet=partial(inspection, 133),
        plant=_breathes(133, lambda f: starved(f, 1.7, cpu=0.45)),
        truth=Truth(checks=("slow_machine",), places=(("", ""),), advice=MACHINE),
    ),
    Scene(
        name="neighbour-and-a-killed-worker",
        fleet=partial(inspection, 134),
        plant=_breathes(134, lambda f: starved(f, 1.9), lambda f: dead(f, "nms", at=FAULT + 15)),
        truth=Truth(
            checks=("dead_worker", "cpu_starved"),
            places=(("nms", "1"), ("", "")),
            advice="load|what else",
            dated=False,
        ),
        also=Truth(
            checks=("dead_worker", "cpu_starved"), places=(("nms", "1"), ("", "")), advice="load|what else"
        ),
    ),
    Scene(
        name="calls-of-the-detector-fail-on-the-way",
        fleet=partial(inspection, 135),
        plant=_breathes(135, _calls_fail),
        truth=Truth(
            checks=("error_surge",),
            places=(("inspect", "1", "detector", "call_failed"),),
            advice="log|client",
        ),
    ),
    Scene(
        name="the-way-to-embed-is-slow-from-one-server",
        fleet=partial(search, 136, 20.0),
        plant=_breathes(
            136,
            lambda f: later(f, lambda: f.state(f.replicas[1], "search").added.update({"embed": 0.060})),
        ),
        truth=Truth(
            checks=("slow_replica", "slow_stage"),
            places=(
                ("search", "1", "triton-2:8002"),
                ("search", "1", "embed"),
                ("embed", "1", "embed", "(call)"),
            ),
            advice="triton-2|search|embed",
        ),
    ),
    Scene(
        name="two-bad-releases",
        fleet=partial(inspection, 137, load_times=True),
        plant=_breathes(
            137,
            lambda f: deploy(f, "nms", attribute(before=0.014), anew=True),
            lambda f: deploy(f, "preprocess", attribute(raises_before=0.12)),
        ),
        truth=Truth(checks=("bad_deploy",), places=(("nms", "1"), ("preprocess", "1")), advice=ROLL),
        also=Truth(checks=("bad_deploy",), places=(("nms", "1"), ("preprocess", "1")), advice=ROLL),
    ),
    Scene(
        name="a-bad-release-and-more-traffic",
        fleet=partial(inspection, 138),
        plant=_breathes(
            138,
            lambda f: deploy(f, "nms", attribute(before=0.014), anew=True),
            lambda f: traffic(f, "inspect", 13.0),
        ),
        since=120.0,
        truth=deployed("nms", _SLOWER),
    ),
    Scene(
        name="a-bad-release-on-a-busy-machine",
        fleet=partial(inspection, 139),
        plant=_breathes(
            139,
            lambda f: deploy(f, "detector", attribute(after=0.030)),
            lambda f: starved(f, 1.15, cpu=0.97),
        ),
        truth=deployed("detector", _SLOWER),
    ),
    Scene(
        name="rank-waits-for-a-service-beside-a-reload-of-embed",
        fleet=partial(search, 140, load_times=True),
        plant=_breathes(
            140,
            lambda f: deploy(f, "embed", attribute(), anew=True, cold=2),
            lambda f: every(f, "rank", attribute(before=0.030)),
        ),
        truth=Truth(checks=("slow_stage",), places=(("rank", "1"),), advice="rank"),
    ),
)
