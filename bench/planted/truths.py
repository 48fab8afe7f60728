"""What is accepted as the first cause, said shortly."""

from __future__ import annotations

from planted.fault import Truth

ROLL = "roll back|go back"
LOAD = r"load"
MACHINE = "what else runs"
DEPLOY = ("bad_deploy",)


def deployed(model: str, sentence: str, version: str = "1") -> Truth:
    """A bad deployment of this model."""
    return Truth(checks=DEPLOY, places=((model, version),), advice=ROLL, sentence=sentence)


def staged(*place: str, model: str) -> Truth:
    """A slow stage at this place."""
    return Truth(checks=("slow_stage",), places=(place,), advice=model)
