"""What an incident cost, and what was done meanwhile: arithmetic with numbers that others counted. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from tritonobs.extensions.incidents.incident import Fleet, Incident, Place

MOST_ACTIONS: Final = 100
LEAD_SECONDS: Final = 600.0
"""What was done so long before the trouble began is shown, too: a load or a new limit may be how it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Failed and late requests to a model, over all versions and replicas, while the incident lasted.

    `late` are those that were answered, and later than promised.

    Raises:
        ValueError: a number is negative or not finite.
    """

    model: str
    failed: float
    late: float

    def __post_init__(self) -> None:
        _sound(self.failed, self.late)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """What an SLO was charged: `bad` requests while the incident lasted, of `period_valid` in its period.

    `period_valid` is None where too little of the period has been seen: a young SLO has no budget to spend.
    `objective_ratio` is the promised share of good requests.

    Raises:
        ValueError: a number is negative or not finite, or the objective is not between 0 and 1.
    """

    model: str
    version: str
    slo: str
    objective_ratio: Decimal
    bad: float
    period_valid: float | None

    def __post_init__(self) -> None:
        _sound(self.bad, self.period_valid or 0.0)
        if not 0 < self.objective_ratio < 1:
            raise ValueError(f"an objective is between 0 and 1, not {self.objective_ratio}")

    @property
    def budget_share(self) -> float | None:
        """The share of the budget of the whole period that these requests are; 1 is all of it."""
        if not self.period_valid:
            return None
        return self.bad / (float(1 - self.objective_ratio) * self.period_valid)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChanged:
    """A limit was changed; `old` and `new` are as the log of limits writes them, "" for none."""

    at: float
    who: str
    model: str
    version: str
    old: str
    new: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLoaded:
    """A version of a model was loaded, or unloaded, by a replica; "" for all of them."""

    at: float
    model: str
    version: str
    replica: str = ""
    unloaded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Silenced:
    """Someone silenced alerts whose labels are these."""

    at: float
    who: str
    until: float
    matchers: tuple[str, ...]
    models: tuple[str, ...] = ()
    """Those that the matchers name, or none."""
    comment: str = ""


Action: TypeAlias = LimitChanged | VersionLoaded | Silenced


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The bill. Requests are None where they are not known; shares of budgets are the largest first.

    `noticed_seconds` is from the beginning of the trouble to its first alert, `found_by` that alert's name.
    """

    seconds: float
    noticed_seconds: float
    found_by: str
    failed: float | None
    late: float | None
    charged: tuple[Charged, ...]
    done: tuple[Action, ...]


def cost(
    incident: Incident,
    now: float,
    fleet: Fleet,
    *,
    requests: Iterable[Requests] = (),
    charged: Iterable[Charged] = (),
    done: Iterable[Action] = (),
) -> Cost:
    """What it cost until it ended, or until `now`; of `done` what has to do with its place."""
    rows = {row.model: row for row in requests}
    end = now if incident.ended is None else incident.ended
    first = next((one for one in incident.alerts if one.counts), None)
    found_at = first.began if first else incident.began
    return Cost(
        seconds=max(0.0, end - incident.since),
        noticed_seconds=max(0.0, found_at - incident.since),
        found_by=first.alert.labels.get("alertname", "") if first else "",
        failed=_of_clients({name: row.failed for name, row in rows.items()}, fleet),
        late=_of_clients({name: row.late for name, row in rows.items()}, fleet),
        charged=tuple(sorted((one for one in charged if one.bad), key=_weight)),
        done=meanwhile(done, incident.place, incident.since, end, fleet),
    )


def meanwhile(
    done: Iterable[Action], place: Place, since: float, end: float, fleet: Fleet
) -> tuple[Action, ...]:
    """What was done about a place from shortly before `since` until `end`: each once, the latest ones."""
    near = {other for model in place.models for other in fleet.related(model)}

    def concerns(action: Action) -> bool:
        models = action.models if isinstance(action, Silenced) else (action.model,)
        own = {model for model in models if model}
        return not own or not place.models or bool(own & near)

    found = {one for one in done if since - LEAD_SECONDS <= one.at <= end and concerns(one)}
    return tuple(sorted(found, key=lambda one: (one.at, repr(one)))[-MOST_ACTIONS:])


def _of_clients(counts: Mapping[str, float], fleet: Fleet) -> float | None:
    """Requests of clients among those to models, of which a pipeline's are counted at each member again.

    Of models whose requests touch each other, what the outermost callers count; or the most of one, where a
    member has more than its callers: it has clients of its own.
    """
    if not counts:
        return None
    total = 0.0
    rest = set(counts)
    while rest:
        family, waiting = set[str](), [min(rest)]
        while waiting:
            model = waiting.pop()
            family.add(model)
            waiting += (fleet.related(model) & rest) - family
        rest -= family
        outer = sum(counts[model] for model in sorted(family) if not fleet.above(model) & family)
        total += max(outer, *(counts[model] for model in family))
    return total


def _weight(one: Charged) -> tuple[float, str, str, str]:
    return -(one.budget_share or 0.0), one.model, one.version, one.slo


def _sound(*numbers: float) -> None:
    for number in numbers:
        if not math.isfinite(number) or number < 0:
            raise ValueError(f"a count of requests is a number of at least 0, not {number}")
