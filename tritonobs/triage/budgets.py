"""Error budgets whose alert fires, compared with the requests of the incident's window. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.triage.cause import titled
from tritonobs.units import parse_moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.clients.prometheus import FiringAlert
    from tritonobs.triage.view import View

# The rules append the tier, Fast to Long: an objective may have several.
_ALERT = "TritonErrorBudgetBurn"
_OBJECTIVE = (names.MODEL, names.VERSION, names.SLO)
_SIGMAS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """An objective whose alert fires: requests of this window, bad ones, and the share that may be bad.

    `lately` is the burn rate of the rules' shortest window, which may begin before this one.
    """

    model: str
    version: str
    slo: str
    valid: float
    bad: float
    allowed: float
    lately: float
    since: float | None

    @property
    def rate(self) -> float:
        """How many times as fast as it may the budget burns in this window."""
        return self.bad / self.valid / self.allowed if self.valid and self.allowed else 0.0

    @property
    def missed(self) -> bool:
        """Whether more requests of this window were bad than the objective allows, and than chance."""
        expected = self.allowed * self.valid
        # Without the 1, a window without requests would miss its objective by 0 >= 0.
        return self.bad >= 1 + expected + _SIGMAS * math.sqrt(expected)


def burning_alerts(view: View) -> Iterator[Burn]:
    """Each objective once, however many of its alerts fire."""
    seen: set[tuple[str, ...]] = set()
    for alert in view.snapshot.alerts:
        key = tuple(alert.labels.get(label, "") for label in _OBJECTIVE)
        if alert.state != "firing" or not alert.name.startswith(_ALERT) or key in seen:
            continue
        seen.add(key)
        labels = dict(zip(_OBJECTIVE, key, strict=True))
        # A model that was not asked about, or an answer that did not come, is not one without bad requests.
        if view.value("slo_valid", labels) is None or "slo_bad" not in view.snapshot.now:
            continue
        valid, bad, allowed, lately = (
            view.value(name, labels) or 0.0 for name in ("slo_valid", "slo_bad", "budgets", "burning")
        )
        yield Burn(
            model=key[0],
            version=key[1],
            slo=key[2],
            valid=valid,
            # A record takes back what it charged too early: a short window may hold only what is taken back.
            bad=max(0.0, bad),
            allowed=allowed,
            lately=lately,
            since=_moment(alert),
        )


def burning_still(view: View) -> Iterator[str]:
    """What fires for what was before: objectives that this window keeps."""
    for burn in burning_alerts(view):
        if not burn.missed:
            rate = f"{burn.lately:.3g} times as fast as it may" if burn.lately else "by its longer windows"
            yield (
                f"the budget of {titled((burn.model, burn.version))}, objective {burn.slo}, still burns "
                f"{rate} for what was before; "
                f"of this window's {burn.valid:.0f} requests {burn.bad:.0f} missed it"
            )


def _moment(alert: FiringAlert) -> float | None:
    """When the alert's condition began to hold; None where Prometheus does not report it."""
    try:
        return parse_moment(alert.active_at).timestamp()
    except ValueError:
        return None
