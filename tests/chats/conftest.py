"""A plan, and the vendors' words as the chats' modules read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs.chats.chat import Heard
from tritonobs.chats.registry import robot_chat
from tritonobs.extensions.lab.robot.robot import RobotRules
from tritonobs.extensions.lab.robot.vendors import VENDORS
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.chats.chat import Reply
    from tritonobs.extensions.lab.robot.vendors import Refusal
    from tritonobs.plan.fleet import Plan

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def plan() -> Plan:
    """That of the example."""
    return build_plan(load_fleet(ROOT / "examples" / "fleet.yaml"), ROOT)


@pytest.fixture
def read() -> Callable[[str, Refusal], Reply]:
    """What a refusal means, by the words of the vendor's double."""

    def heard(chat: str, why: Refusal) -> Reply:
        rules = RobotRules(token="t", vendor=VENDORS[chat])
        said = rules.refusal(why)
        headers = {name.lower(): value for name, value in said.headers.items()}
        return robot_chat(chat).read(
            Heard(status=said.status, headers=headers, body=rules.vendor.written(said))
        )

    return heard
