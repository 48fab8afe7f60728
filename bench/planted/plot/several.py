"""Two faults at once, faults after faults, and loads that fail."""

from __future__ import annotations

from functools import partial

from planted.fault import Truth
from planted.fleets import inspection, search
from planted.plants import attribute, both, dead, deploy, every, leak, traffic, unload
from planted.scene import FAULT, Scene
from planted.truths import staged
from tritonobs.clients.triton import RepositoryEntry

SCENES: tuple[Scene, ...] = (
    Scene(
        name="damaged-and-slow",
        fleet=partial(inspection, 49),
        plant=both(
            lambda f: every(f, "preprocess", attribute(fails=0.1, reason=("decode", "corrupt_image"))),
            lambda f: every(f, "detector", attribute(slower={"infer": 2.5})),
        ),
        truth=Truth(
            checks=("error_surge", "slow_stage"),
            places=(("preprocess", "1"), ("detector", "1")),
            advice="client|detector",
        ),
        also=Truth(
            checks=("slow_stage", "error_surge"),
            places=(("detector", "1"), ("preprocess", "1")),
            advice="client|detector",
        ),
    ),
    Scene(
        name="deploy-and-dead-worker",
        fleet=partial(inspection, 50),
        plant=both(
            lambda f: deploy(f, "preprocess", attribute(added={"letterbox": 0.03})),
            lambda f: dead(f, "nms", at=FAULT + 20),
        ),
        truth=Truth(
            checks=("dead_worker", "bad_deploy"),
            places=(("nms", "1"), ("preprocess", "1")),
            advice="load|roll back",
            dated=False,
        ),
        also=Truth(
            checks=("bad_deploy", "dead_worker"),
            places=(("preprocess", "1"), ("nms", "1")),
            advice="load|roll back",
        ),
    ),
    Scene(
        name="slow-after-large-images",
        fleet=partial(inspection, 51),
        plant=both(
            lambda f: every(
                f,
                "preprocess",
                lambda s: s.sizes.update({("decode", "megapixels"): (0.5, 12.0)}),
                FAULT - 220,
                FAULT - 110,
            ),
            lambda f: every(f, "detector", attribute(slower={"infer": 2.0})),
        ),
        truth=staged("detector", "1", "detector", "infer", model="detector"),
    ),
    Scene(
        name="errors-after-errors",
        fleet=partial(inspection, 52),
        plant=both(
            lambda f: every(
                f,
                "preprocess",
                attribute(fails=0.3, reason=("decode", "corrupt_image")),
                FAULT - 240,
                FAULT - 120,
            ),
            lambda f: every(f, "preprocess", attribute(fails=0.12, reason=("decode", "corrupt_image"))),
        ),
        truth=Truth(
            checks=("error_surge",), places=(("preprocess", "1", "decode", "corrupt_image"),), advice="client"
        ),
    ),
    Scene(
        name="same-stage-again",
        fleet=partial(inspection, 53),
        plant=both(
            lambda f: every(f, "detector", attribute(slower={"infer": 4.0}), FAULT - 250, FAULT - 130),
            lambda f: every(f, "detector", attribute(slower={"infer": 2.2})),
        ),
        truth=staged("detector", "1", "detector", "infer", model="detector"),
    ),
    Scene(
        name="errors-after-a-rush",
        fleet=partial(search, 54, 20.0),
        plant=both(
            lambda f: traffic(f, "search", 140.0, FAULT - 280),
            lambda f: traffic(f, "search", 20.0, FAULT - 190),
            lambda f: every(f, "search", attribute(fails=0.1, reason=("parse", "bad_query"))),
        ),
        truth=Truth(
            checks=("error_surge",), places=(("search", "1", "parse", "bad_query"),), advice="log|client"
        ),
    ),
    Scene(
        name="missing-file",
        fleet=partial(inspection, 55),
        plant=lambda f: unload(f, "nms"),
        entries=(
            RepositoryEntry(
                name="nms",
                version="1",
                state="UNAVAILABLE",
                reason="Internal: FileNotFoundError: no file '/models/nms/labels.txt'\n\n"
                "At:\n  /models/nms/1/model.py(21): initialize\n",
            ),
        ),
        truth=Truth(
            checks=("model_gone",), places=(("nms", "1"),), advice="roll back|load", sentence="labels.txt"
        ),
    ),
    Scene(
        name="leaked-initialize-alone",
        fleet=partial(inspection, 56),
        plant=lambda f: leak(f, "detector"),
        truth=None,
    ),
)
