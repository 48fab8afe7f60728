"""Too much, too little, and other than before."""

from __future__ import annotations

from functools import partial

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import attribute, both, every, fewer, later, traffic
from planted.scene import FAULT, Scene

SCENES: tuple[Scene, ...] = (
    Scene(
        name="three-times-the-traffic",
        fleet=partial(search, 29, 20.0),
        plant=lambda f: traffic(f, "search", 150.0),
        truth=Truth(checks=("traffic_surge",), places=(("search", "1"),), advice="limit|wanted"),
    ),
    Scene(
        name="over-the-limit",
        fleet=partial(inspection, 30),
        plant=lambda f: traffic(f, "inspect", 30.0),
        truth=Truth(checks=("qps_limit",), places=(("inspect",),), advice="client"),
    ),
    Scene(
        name="one-instance-less",
        fleet=partial(inspection, 31, 40.0),
        plant=lambda f: fewer(f, "detector", 1),
        truth=Truth(
            checks=("bad_deploy", "queue_saturation"),
            places=(("detector", "1"),),
            advice="roll back|instances",
        ),
    ),
    Scene(
        name="nobody-asks",
        fleet=partial(inspection, 32),
        plant=lambda f: traffic(f, "inspect", 0.0),
        truth=Truth(checks=("upstream_drop",), places=(("inspect", "1"),), advice="upstream"),
    ),
    Scene(
        name="queue-drains",
        fleet=partial(search, 33, 20.0),
        looks=190.0,
        since=300.0,
        plant=both(lambda f: traffic(f, "search", 140.0), lambda f: traffic(f, "search", 20.0, FAULT + 120)),
        truth=Truth(
            checks=("traffic_surge", "queue_saturation"),
            places=(("search", "1"), ("rank", "1")),
            advice="drain|ended|over",
        ),
    ),
    Scene(
        name="cached-no-more",
        fleet=partial(search, 34),
        plant=lambda f: later(f, lambda: setattr(f.models["thumb"], "cached", 0.05)),
        truth=Truth(checks=("cache_collapse",), places=(("thumb", "1"),), advice="inputs|evict"),
    ),
    Scene(
        name="some-large-images",
        fleet=partial(inspection, 35),
        plant=lambda f: every(
            f, "preprocess", lambda s: s.sizes.update({("decode", "megapixels"): (0.25, 10.0)})
        ),
        truth=Truth(checks=("larger_inputs",), places=(("preprocess", "1"),), advice="client"),
    ),
    Scene(
        name="noisy-images",
        fleet=partial(inspection, 36),
        plant=lambda f: every(f, "nms", lambda s: s.sizes.update({("suppress", "boxes"): (1.0, 6.0)})),
        truth=Truth(checks=("more_boxes",), places=(("nms", "1"),), advice="images"),
    ),
    Scene(
        name="damaged-images",
        fleet=partial(inspection, 37),
        plant=lambda f: every(f, "preprocess", attribute(fails=0.08, reason=("decode", "corrupt_image"))),
        truth=Truth(
            checks=("error_surge",), places=(("preprocess", "1", "decode", "corrupt_image"),), advice="client"
        ),
    ),
    Scene(
        name="queue-timeouts",
        fleet=partial(search, 38, 60.0),
        plant=both(
            lambda f: every(f, "rank", attribute(slower={"run": 1.9}, timeout=0.15)),
        ),
        truth=Truth(
            checks=("slow_stage", "queue_saturation", "error_surge", "slow_callee"),
            places=(("rank", "1"),),
            advice="instances|rank",
        ),
    ),
)
