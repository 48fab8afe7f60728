"""The people that a message mentions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.delivery.view import AlertView
    from tritonobs.plan.notify import Mention


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The people, and the text that the message must contain for DingTalk to notify them."""

    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    everyone: bool = False

    @property
    def text(self) -> str:
        """`@138… @lee`."""
        return " ".join(f"@{who}" for who in (*self.mobiles, *self.user_ids))


def matching(rules: Iterable[Mention], labels: Mapping[str, str]) -> tuple[Mention, ...]:
    """The rules that want people called for an alert with these labels."""
    return tuple(
        rule for rule in rules if all(labels.get(label, "") in values for label, values in rule.match)
    )


def called(alerts: Iterable[AlertView]) -> Called:
    """Everybody to be called for these alerts, each once."""
    rules = [rule for alert in alerts for rule in alert.mentions]
    return Called(
        mobiles=tuple(dict.fromkeys(mobile for rule in rules for mobile in rule.mobiles)),
        user_ids=tuple(dict.fromkeys(user for rule in rules for user in rule.user_ids)),
        everyone=any(rule.everyone for rule in rules),
    )
