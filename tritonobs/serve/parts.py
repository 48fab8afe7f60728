"""What an extension adds to `tritonobs serve`: routes, and tasks of the supervisor it is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from prometheus_client.registry import Collector
from starlette.routing import Route

from tritonobs.delivery.composer import Said
from tritonobs.delivery.payload import Alert, Sieve
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot
from tritonobs.registry import extensions, resolved
from tritonobs.tasks import Supervisor

Say = Callable[[str, Sequence[Alert]], Awaitable[bool]]
"""Deliver these alerts to the robot of this name; whether a message with all of them was accepted."""


class Part(Protocol):
    """Made by `Extension.serve` from a plan and the supervisor, inside the event loop.

    A part that inherits it has no sieve, no series, no news and no lines of its own until it says so.
    """

    @property
    def sieve(self) -> Sieve | None:
        """What decides which alerts of a digest wait; None for a part that has no say in it."""
        return None

    @property
    def series(self) -> Collector | None:
        """What it shows on the metrics page of `serve`; None for nothing."""
        return None

    def may_say(self, say: Say, leads: Callable[[], bool]) -> None:
        """A way to the robots for news that no call brings, and whether this process delivers; given once."""

    def routes(self) -> list[Route]:
        """Its routes, asked for once."""

    async def above(self, alerts: Sequence[Alert], robot: Robot) -> Sequence[Said]:
        """Lines above these alerts in a message of this robot: what is wrong, and what to do."""
        del alerts, robot
        return ()

    def apply(self, plan: Plan) -> None:
        """Use another plan: the fleet file changed, or other replicas were found."""

    def close(self) -> None:
        """End; the supervisor is closed already."""


def parts(plan: Plan, supervisor: Supervisor) -> tuple[Part, ...]:
    """The part of every extension that has one."""
    return tuple(resolved(one.serve)(plan, supervisor) for one in extensions().values() if one.serve)
