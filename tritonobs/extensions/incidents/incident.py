"""What an alert is about, and an incident: its alerts, place and causes, and which changes matter to people.

Labels come from outside: a name is data, compared and shortened, never read as anything else.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tritonobs import names
from tritonobs.delivery.payload import Alert
from tritonobs.delivery.view import ALERTNAME, SEVERITY
from tritonobs.plan.graph import Edges, callers, calls_per_request, direct_calls
from tritonobs.timings.cause import Cause

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

QUIET_SECONDS: Final = 300.0
"""An incident in which nothing fires for so long is over; what begins later is another one.

Alertmanager keeps a warning back for three minutes, and news of a group of warnings for five
(`render/alertmanager.py`): by then all that began before the end has come.
"""
ID: Final = re.compile(r"[0-9]{8}-[0-9]{4}-[0-9a-f]{10}")
"""When the incident's first alert began (UTC), and a hash of which it was: fit for a URL and a file name."""
CauseKey = tuple[str, ...]


INFO: Final = 1
PAGE: Final = 3
_RANKS: Final = {"none": 0, "info": INFO, "warning": 2, "critical": PAGE}
SEVERITIES: Final = tuple(_RANKS)
"""From what no one is sent to what wakes people; a severity of others counts as a warning."""

TEST_ALERT: Final = "TritonobsTest"
_OURS: Final = "Triton"
_LONGEST: Final = 256

AREAS: Final[Mapping[str, str]] = {
    name: area
    for area, alerts in {
        "servers": (
            *("TritonServerDown", "TritonServersLost", "TritonMetricsEmpty", "TritonRestartLoop"),
            *("TritonHostMemoryPressure", "TritonServerScrapedTwice", "TritonRequestsUncounted"),
            *(*names.AGENT_ALERTS, *names.SHARD_ALERTS),
        ),
        "accelerators": (
            *("TritonAcceleratorFault", "TritonAcceleratorMemoryPressure"),
            *("TritonAcceleratorThrottled", "TritonAcceleratorSaturated"),
        ),
        # Of the limit of the whole fleet; those of models have a model.
        "traffic": (
            *(names.ALERT_QPS_ABOVE_LIMIT, "TritonQpsNearLimit"),
            *("TritonQpsSpike", "TritonQpsWillExceedLimit"),
        ),
        "limits": ("TritonLimitSourceLost", "TritonLimitRefused", "TritonLimitsDisagree"),
        "pools": (
            *("TritonPoolShort", "TritonAutoscalerBlind"),
            *("TritonAutoscalerAtMaximum", "TritonAutoscalerFlapping"),
        ),
        "serve": (
            *("TritonobsServeDown", "TritonobsFleetFileInvalid", "TritonobsTaskFailing"),
            *("TritonobsNobodyDelivers", "TritonobsTracesLost", "TritonobsTracesIncomplete"),
        ),
        "delivery": ("TritonobsDeliveryFailing", "TritonobsRobotMuted"),
        "prometheus": ("TritonobsRulesFailing", "TritonobsRulesLate"),
    }.items()
    for name in alerts
}
"""What alerts without a model are about. Alerts of one area can be of one fault."""
OF_HOSTS: Final = frozenset({"servers", "accelerators"})
"""Areas whose alerts are about the host in `instance` where they name no replica."""

Key = tuple[str, str, str]
"""A cluster, what kind of thing, and its name."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What is known of the fleet: calls of pipelines, replicas, the labels that say what an alert is of."""

    edges: Edges
    replicas: frozenset[str] = frozenset()
    replica_label: str = names.REPLICA
    cluster_label: str = names.CLUSTER
    cluster: str = ""

    @classmethod
    def of(cls, plan: Plan) -> Fleet:
        """That of a fleet file."""
        return cls(
            edges=direct_calls(plan.models),
            replicas=frozenset(replica.name for replica in plan.replicas),
            replica_label=plan.rules.replica_label,
            cluster_label=plan.rules.cluster_label,
            cluster=plan.cluster if plan.rules.cluster_label else "",
        )

    def has(self, cluster: str) -> bool:
        """Whether what is of this cluster ("": not said) may be of the fleet; others may share its names."""
        return not cluster or not self.cluster or cluster == self.cluster

    def related(self, model: str) -> frozenset[str]:
        """The model, all that it calls and all that call it, however deep: their requests touch each other.

        Two members of a pipeline are not: each fails by itself.
        """
        return self._related.get(model) or frozenset({model})

    def above(self, model: str) -> frozenset[str]:
        """All that call the model, however deep."""
        return self._above.get(model, frozenset())

    @cached_property
    def _below(self) -> Edges:
        return calls_per_request(self.edges)

    @cached_property
    def _above(self) -> Mapping[str, frozenset[str]]:
        return {model: frozenset(found) for model, found in callers(self._below).items()}

    @cached_property
    def _related(self) -> Mapping[str, frozenset[str]]:
        return {
            model: frozenset({model, *above, *self._below.get(model, ())})
            for model, above in self._above.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What an alert or a cause is about; what it does not say is empty. An `area` replaces a model."""

    cluster: str = ""
    model: str = ""
    version: str = ""
    replica: str = ""
    area: str = ""

    @property
    def subject(self) -> Key:
        """The one thing it is about: its model, else its replica, else its area."""
        return next(iter(self.keys))

    @property
    def keys(self) -> tuple[Key, ...]:
        """All things it touches, the subject first."""
        kinds = (("model", self.model), ("replica", self.replica), ("area", self.area))
        return tuple((self.cluster, kind, name) for kind, name in kinds if name)


def where(labels: Mapping[str, str], fleet: Fleet) -> Where | None:
    """What an alert is about; None for one that no incident takes.

    Those are the Watchdog, test alerts, alerts that are sent to no one, and alerts of others that name
    neither a model nor a replica of the fleet.
    """
    name = labels.get(ALERTNAME, "")
    if name in {names.WATCHDOG, TEST_ALERT} or rank(labels) == 0:
        return None
    model, replica = _short(labels, names.MODEL), _short(labels, fleet.replica_label)
    ours = len(name) > len(_OURS) and name.startswith(_OURS)
    if not ours and model not in fleet.edges and replica not in fleet.replicas:
        return None
    area = "" if model else AREAS.get(name, "servers" if replica else name[:_LONGEST])
    if area in OF_HOSTS and not replica:
        replica = _short(labels, names.INSTANCE)
    return Where(
        cluster=_short(labels, fleet.cluster_label),
        model=model,
        version=_short(labels, names.VERSION) if model else "",
        replica=replica,
        area=area,
    )


def rank(labels: Mapping[str, str]) -> int:
    """How bad an alert is: its place in `SEVERITIES`."""
    return _RANKS.get(labels.get(SEVERITY, ""), _RANKS["warning"])


def _short(labels: Mapping[str, str], label: str) -> str:
    return labels.get(label, "")[:_LONGEST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Everything that an incident touches, each sorted; `areas` are of alerts without model and replica."""

    models: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    replicas: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()

    @classmethod
    def of(cls, wheres: Iterable[Where]) -> Place:
        """That of all of them together."""
        every = frozenset(wheres)
        return cls(
            models=tuple(sorted({one.model for one in every if one.model})),
            versions=tuple(sorted({(one.model, one.version) for one in every if one.version})),
            replicas=tuple(sorted({one.replica for one in every if one.replica})),
            areas=tuple(sorted({one.area for one in every if not one.model and not one.replica})),
        )

    def wider(self, told: Place, fleet: Fleet) -> bool:
        """Whether something is here that was not to be expected from `told`.

        Pipelines of a model that was named, and their members, were. So was the first replica or version: it
        only says more exactly where it is.
        """
        covered = {near for model in told.models for near in fleet.related(model)}
        known = {model for model, _ in told.versions}
        beyond = (
            set(self.models) - covered,
            {(model, version) for model, version in self.versions if model in known} - set(told.versions),
            set(self.replicas) - set(told.replicas) if told.replicas else set[str](),
            set(self.areas) - set(told.areas),
        )
        return any(beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An alert within an incident. Times are Unix seconds.

    `began` is its first beginning and `latest` its last one, `times` how many there were; `ended` is None
    while it fires. `starts` is the first beginning as Prometheus told it, which may lie in the future, `seen`
    and `heard` are when the alert was heard of first and last. `side` is where a verdict put it; if it is
    `assumed`, the alert is newer than that verdict, and a later one may put it elsewhere.
    """

    key: str
    alert: Alert
    where: Where
    rank: int
    starts: float
    began: float
    latest: float
    seen: float
    heard: float
    ended: float | None = None
    fired: bool = True
    times: int = 1
    side: str = ""
    assumed: bool = False

    @property
    def settled(self) -> str:
        """The side where a verdict put it; "" where none did."""
        return "" if self.assumed else self.side

    @property
    def firing(self) -> bool:
        """Whether it is on."""
        return self.ended is None

    @property
    def counts(self) -> bool:
        """Whether it can make an incident: it fired, and someone is to act on it."""
        return self.fired and self.rank > INFO

    @property
    def order(self) -> tuple[float, str]:
        """By when it began; the same for every process that sees the same alerts."""
        return self.began, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One fault, as far as is known. Times are Unix seconds.

    It began with its first alert. `ended` is when the last alert that counts was over, None while one fires;
    `closed_at` is when no other had come for long enough. `worst` is the severity of all its alerts, `now`
    that of those that fire ("" when none does). `eased` is since when none of the worst severity fires
    although others do. `causes` are those of the last verdict that had any; the first explains it. `joined`
    are ids under which it was known before it turned out to be this one. `opened` is when this process first
    knew it, `anchor` the alert that its id is made of. `summed_up` fills in what follows from its alerts.
    """

    id: str
    anchor: str
    opened: float
    began: float
    ended: float | None = None
    closed_at: float | None = None
    worst: str = ""
    now: str = ""
    eased: float | None = None
    place: Place = field(default_factory=Place)
    alerts: tuple[Episode, ...] = ()
    causes: tuple[Cause, ...] = ()
    joined: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether it is over for good: what begins now is another incident."""
        return self.closed_at is not None

    @property
    def cause(self) -> Cause | None:
        """What explains it, where triage knows that."""
        return self.causes[0] if self.causes else None

    @property
    def since(self) -> float:
        """When the trouble began: as its cause says, or with the first alert."""
        said = self.cause.since if self.cause else None
        return self.began if said is None else min(said, self.began)

    @property
    def keys(self) -> frozenset[str]:
        """The fingerprints of its alerts."""
        return frozenset(one.key for one in self.alerts)


def ident(key: str, starts: float) -> str:
    """The id of an incident that this alert began: the same in every process that sees the alert."""
    moment = datetime.fromtimestamp(max(0.0, starts), timezone.utc)
    digest = hashlib.sha256(f"{key} {starts:.3f}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{moment:%Y%m%d-%H%M}-{digest[:10]}"


def find(incidents: Collection[Incident], name: str) -> Incident | None:
    """The incident with this id, or that which it turned out to be, or that another process calls so."""
    known = (one for one in incidents if name == one.id or name in one.joined)
    other = (one for one in incidents if any(ident(each.key, each.starts) == name for each in one.alerts))
    return next(known, next(other, None))


def summed_up(base: Incident, alerts: Iterable[Episode], now: float) -> Incident:
    """The incident with these alerts, of which one counts at least; all else is that of `base`."""
    episodes = tuple(sorted(alerts, key=lambda one: one.order))
    counted = [one for one in episodes if one.counts]
    firing = [one for one in counted if one.firing]
    worst, still = (max((one.rank for one in those), default=0) for those in (counted, firing))
    ends = [one.ended for one in counted if one.ended is not None]
    ended = None if firing else max(ends)
    quiet = ended is not None and now - ended >= QUIET_SECONDS
    closed_at = now if base.closed_at is None else base.closed_at
    eased = [one.ended for one in counted if one.ended is not None and one.rank == worst]
    return replace(
        base,
        began=episodes[0].began,
        ended=ended,
        closed_at=closed_at if quiet else None,
        worst=SEVERITIES[worst],
        now=SEVERITIES[still] if firing else "",
        eased=max(eased) if firing and still < worst else None,
        place=Place.of(one.where for one in episodes),
        alerts=episodes,
    )


def chat_incidents(incidents: Iterable[Incident], keys: Collection[str], now: float) -> tuple[Incident, ...]:
    """The incidents as a chat knows them that only gets the alerts with these fingerprints.

    Routes send alerts to several chats. A chat hears of an incident when it gets an alert of it that counts,
    and the incident is over for it when those alerts are.
    """
    found = []
    for incident in incidents:
        own = [one for one in incident.alerts if one.key in keys]
        if len(own) == len(incident.alerts):
            found.append(incident)
        elif any(one.counts for one in own):
            found.append(summed_up(incident, own, now))
    return tuple(found)


class What(enum.Enum):
    """What changed."""

    BEGAN = "began"
    CAUSE = "cause"
    """Another cause than before, or the first that is known."""
    SEVERITY = "severity"
    """It became worse than it ever was."""
    PLACE = "place"
    """It is wider than what was known: models, versions, replicas or areas."""
    EASED = "eased"
    """It is going back: the worst alerts are over, others are not."""
    AGAIN = "again"
    """It had eased or ended, and is as bad again."""
    JOINED = "joined"
    """Another incident turned out to be this one."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that matters."""

    incident: str
    what: What


def cause_key(cause: Cause) -> CauseKey:
    """What makes it another cause: the check and the place. Its numbers move with every look."""
    return (cause.check, *cause.place[:2], *(cause.place[2:3] if not cause.model else ()))


def changes(before: Incident | None, after: Incident, fleet: Fleet) -> tuple[Change, ...]:
    """What matters of the difference between an incident then and now, or of a new one."""
    found: list[What] = []
    if before is None:
        found.append(What.BEGAN)
    else:
        was, cause = before.cause, after.cause
        if cause and (was is None or cause_key(was) != cause_key(cause)):
            found.append(What.CAUSE)
        if SEVERITIES.index(after.worst) > SEVERITIES.index(before.worst):
            found.append(What.SEVERITY)
        if after.place.wider(before.place, fleet):
            found.append(What.PLACE)
        if after.eased is not None and before.eased is None:
            found.append(What.EASED)
        back = before.eased is not None and after.eased is None and after.ended is None
        if back or (before.closed and not after.closed):
            found.append(What.AGAIN)
        if not set(before.joined).issuperset(after.joined):
            found.append(What.JOINED)
    if after.closed and not (before and before.closed):
        found.append(What.ENDED)
    return tuple(Change(incident=after.id, what=what) for what in found)
