"""Outside of `Stages` blocks, in configuration, clients, the machine and the network: twenty, and in pairs.

These were written, with what triage must say of them, before any check was changed for such faults.
"""

from __future__ import annotations

from functools import partial

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import attribute, both, breathing, deploy, every, fewer, starved, traffic
from planted.scene import Scene
from planted.truths import MACHINE, ROLL, deployed, staged

_SLOWER, _FAILS = "longer|slower|takes", "error|fail"
BROKEN = attribute(invalid=0.12, reason=("decode", "corrupt_image"))
LARGE = lambda s: s.sizes.update({("decode", "megapixels"): (0.4, 8.0)})  # noqa: E731 (a plant, as the others)
REFUSES = Truth(
    checks=("error_surge",), places=(("preprocess", "1", "decode", "corrupt_image"),), advice="client"
)

SCENES: tuple[Scene, ...] = (
    Scene(
        name="nms-sleeps-before-its-block",
        fleet=partial(inspection, 101),
        plant=both(
            lambda f: breathing(f, 101),
            lambda f: deploy(f, "nms", attribute(before=0.012)),
        ),
        # The release is older than the time that is asked about.
        since=120.0,
        truth=deployed("nms", _SLOWER),
    ),
    Scene(
        name="preprocess-raises-before-its-block",
        fleet=partial(inspection, 102),
        plant=both(
            lambda f: breathing(f, 102),
            lambda f: deploy(f, "preprocess", attribute(raises_before=0.15)),
        ),
        # The release is older than the time that is asked about.
        since=130.0,
        truth=deployed("preprocess", _FAILS),
    ),
    Scene(
        name="detector-works-on-after-its-block",
        fleet=partial(inspection, 103, 6.0),
        plant=both(
            lambda f: breathing(f, 103),
            lambda f: deploy(f, "detector", attribute(after=0.020), anew=True),
        ),
        truth=deployed("detector", _SLOWER),
    ),
    Scene(
        name="inspect-raises-after-its-block",
        fleet=partial(inspection, 104),
        plant=both(
            lambda f: breathing(f, 104),
            lambda f: deploy(f, "inspect", attribute(raises_after=0.10)),
        ),
        truth=deployed("inspect", _FAILS),
    ),
    Scene(
        name="rank-loaded-anew-slower",
        fleet=partial(search, 105),
        plant=both(
            lambda f: breathing(f, 105),
            lambda f: deploy(f, "rank", attribute(slower={"run": 1.8}), anew=True),
        ),
        # The release is older than the time that is asked about.
        since=125.0,
        truth=deployed("rank", _SLOWER),
    ),
    Scene(
        name="embed-in-place-fails",
        fleet=partial(search, 106, load_times=True),
        plant=both(
            lambda f: breathing(f, 106),
            lambda f: deploy(f, "embed", attribute(fails=0.12, raises=True)),
        ),
        truth=deployed("embed", _FAILS),
    ),
    Scene(
        name="classify-in-place-slower",
        fleet=partial(search, 107, load_times=True),
        plant=both(
            lambda f: breathing(f, 107),
            lambda f: deploy(f, "classify", attribute(slower={"run": 2.6})),
        ),
        # The release is older than the time that is asked about.
        since=115.0,
        truth=deployed("classify", _SLOWER),
    ),
    Scene(
        name="nms-waits-outside-without-a-release",
        fleet=partial(inspection, 108),
        plant=both(
            lambda f: breathing(f, 108),
            lambda f: every(f, "nms", attribute(before=0.015)),
        ),
        since=130.0,
        truth=staged("nms", "1", model="nms"),
    ),
    Scene(
        name="rank-has-one-instance-less",
        fleet=partial(search, 109, 75.0),
        plant=both(
            lambda f: breathing(f, 109),
            lambda f: fewer(f, "rank", 1),
        ),
        truth=Truth(
            checks=("bad_deploy", "queue_saturation"), places=(("rank", "1"),), advice="roll back|instances"
        ),
    ),
    Scene(
        name="detector-has-a-batcher-that-waits",
        fleet=partial(inspection, 110),
        plant=both(
            lambda f: breathing(f, 110),
            lambda f: deploy(f, "detector", attribute(delay=0.12)),
        ),
        truth=Truth(
            checks=("bad_deploy", "batch_delay"),
            places=(("detector", "1"),),
            advice="roll back|max_queue_delay",
        ),
    ),
    Scene(
        name="clients-send-large-images",
        fleet=partial(inspection, 111),
        plant=both(
            lambda f: breathing(f, 111),
            lambda f: every(f, "preprocess", LARGE),
        ),
        truth=Truth(checks=("larger_inputs",), places=(("preprocess", "1"),), advice="client"),
    ),
    Scene(
        name="a-client-sends-broken-images",
        fleet=partial(inspection, 112),
        plant=both(
            lambda f: breathing(f, 112),
            lambda f: every(f, "preprocess", BROKEN),
        ),
        truth=REFUSES,
    ),
    Scene(
        name="a-rush-beside-a-reload",
        fleet=partial(search, 113, 55.0),
        plant=both(
            lambda f: breathing(f, 113),
            lambda f: deploy(f, "rank", attribute(), anew=True, cold=2),
            lambda f: traffic(f, "search", 165.0),
        ),
        truth=Truth(
            checks=("traffic_surge",),
            places=(("search", "1"), ("rank", "1")),
            advice="limit|wanted|instances",
        ),
    ),
    Scene(
        name="broken-images-beside-a-reload",
        fleet=partial(inspection, 114, load_times=True),
        plant=both(
            lambda f: breathing(f, 114),
            lambda f: deploy(f, "preprocess", BROKEN, cold=2),
        ),
        truth=REFUSES,
    ),
    Scene(
        name="neighbour-and-one-stage-stands-out",
        fleet=partial(inspection, 115),
        plant=both(
            lambda f: breathing(f, 115),
            lambda f: every(f, "detector", attribute(slower={"infer": 2.5})),
            lambda f: starved(f, 1.6),
        ),
        truth=Truth(checks=("cpu_starved",), places=(("", ""),), advice=MACHINE),
    ),
    Scene(
        name="neighbour-beside-a-reload",
        fleet=partial(inspection, 116),
        plant=both(
            lambda f: breathing(f, 116),
            lambda f: deploy(f, "nms", attribute(), anew=True, cold=2),
            lambda f: starved(f, 2.0),
        ),
        truth=Truth(checks=("cpu_starved", "slow_machine"), places=(("", ""),), advice=MACHINE),
    ),
    Scene(
        name="a-stage-that-burns-the-processors",
        fleet=partial(inspection, 117, 5.0),
        plant=both(
            lambda f: breathing(f, 117),
            lambda f: every(f, "detector", attribute(slower={"infer": 3.0})),
            lambda f: starved(f, 1.0),
        ),
        truth=staged("detector", "1", "detector", "infer", model="detector"),
    ),
    Scene(
        name="the-way-to-the-detector-is-slow",
        fleet=partial(inspection, 118),
        plant=both(
            lambda f: breathing(f, 118),
            lambda f: every(f, "inspect", attribute(added={"detector": 0.018})),
        ),
        truth=Truth(
            checks=("slow_stage",),
            places=(("inspect", "1", "detector"), ("detector", "1", "detector", "(call)")),
            advice="inspect|detector",
        ),
    ),
    Scene(
        name="a-release-beside-broken-images",
        fleet=partial(inspection, 119),
        plant=both(
            lambda f: breathing(f, 119),
            lambda f: deploy(f, "nms", attribute(before=0.012)),
            lambda f: every(f, "preprocess", BROKEN),
        ),
        truth=Truth(
            checks=("bad_deploy", "error_surge"),
            places=(("nms", "1"), ("preprocess", "1")),
            advice=f"{ROLL}|client",
        ),
        also=Truth(
            checks=("bad_deploy", "error_surge"),
            places=(("nms", "1"), ("preprocess", "1")),
            advice=f"{ROLL}|client",
        ),
    ),
    Scene(
        name="a-good-release-beside-a-bad-one",
        fleet=partial(inspection, 120, load_times=True),
        plant=both(
            lambda f: breathing(f, 120),
            lambda f: deploy(f, "preprocess", attribute(), cold=2),
            lambda f: deploy(f, "nms", attribute(before=0.012)),
        ),
        truth=deployed("nms", _SLOWER),
    ),
)
