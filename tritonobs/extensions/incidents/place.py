"""What an alert is about, which alerts can be of one fault, and the place of an incident.

Labels come from outside: a name is data, compared and shortened, never read as anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tritonobs import names
from tritonobs.plan.graph import Edges, calls_per_request, direct_calls

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

ALERTNAME: Final = "alertname"
SEVERITY: Final = "severity"
INFO: Final = 1
_RANKS: Final = {"none": 0, "info": INFO, "warning": 2, "critical": 3}
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
_OF_HOSTS: Final = frozenset({"servers", "accelerators"})
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

    @classmethod
    def of(cls, plan: Plan) -> Fleet:
        """That of a fleet file."""
        return cls(
            edges=direct_calls(plan.models),
            replicas=frozenset(replica.name for replica in plan.replicas),
            replica_label=plan.rules.replica_label,
            cluster_label=plan.rules.cluster_label,
        )

    def related(self, model: str) -> frozenset[str]:
        """The model, all that it calls and all that call it, however deep: their requests touch each other.

        Two members of a pipeline are not: each fails by itself.
        """
        return self._below.get(model, frozenset()) | self.above(model) | {model}

    def above(self, model: str) -> frozenset[str]:
        """All that call the model, however deep."""
        return self._above.get(model, frozenset())

    @cached_property
    def _below(self) -> Mapping[str, frozenset[str]]:
        return {model: frozenset(called) for model, called in calls_per_request(self.edges).items()}

    @cached_property
    def _above(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for model, called in self._below.items():
            for member in called:
                found.setdefault(member, set()).add(model)
        return {model: frozenset(callers) for model, callers in found.items()}


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
    if area in _OF_HOSTS and not replica:
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

    def beyond(self, told: Place, fleet: Fleet) -> tuple[str, ...]:
        """What is here and was not to be expected from `told`.

        Pipelines of a model that was named, and their members, were. So was the first replica or version: it
        only says more exactly where it is.
        """
        covered = {near for model in told.models for near in fleet.related(model)}
        models = [model for model in self.models if model not in covered]
        replicas = [name for name in self.replicas if told.replicas and name not in told.replicas]
        known = {model for model, _ in told.versions}
        versions = [
            f"{model} {version}"
            for model, version in self.versions
            if model in known and (model, version) not in told.versions
        ]
        return (*models, *versions, *replicas, *(area for area in self.areas if area not in told.areas))
