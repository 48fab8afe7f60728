"""The limits in force: the fleet file's, with those of annotations in their place; every change is logged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.clients.kubernetes import Kind, KubernetesClient
from tritonobs.clients.kubernetes_api import KubernetesApi
from tritonobs.errors import ClientError
from tritonobs.limits.annotations import AnnotationFeed
from tritonobs.limits.events import Events
from tritonobs.limits.keeper import LogKeeper
from tritonobs.names import MODEL_ANNOTATION
from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import Watched
from tritonobs.plan.limits import with_overrides
from tritonobs.tasks.supervisor import Supervisor

_log = logging.getLogger(__name__)
_FEED, _LOG, _EVENTS = "annotations", "limits log", "events"


class LiveLimits(Collector):
    """What the daemon knows of limits beyond the fleet file it loaded. Its tasks are the supervisor's.

    `speaks` says whether this daemon, of several, is the one that tells objects what became of their limits.
    """

    def __init__(
        self, path: Path, plan: Plan, supervisor: Supervisor, speaks: Callable[[], bool] = lambda: True
    ) -> None:
        self._supervisor = supervisor
        self._speaks = speaks
        self._keeper = LogKeeper(path)
        self._watched: Watched | None = None
        self._feed: AnnotationFeed | None = None
        self._merged: tuple[Plan, object, Plan] | None = None
        supervisor.keep(_LOG, self._keeper.write)
        self.apply(plan)

    def apply(self, plan: Plan) -> None:
        """Use a fleet file that was loaded again."""
        self._keeper.file_changed()
        if plan.kubernetes.watched != self._watched:
            self._restart(plan)
        elif self._feed:
            self._feed.use_models(plan.models)

    def merged(self, plan: Plan) -> Plan:
        """The plan with what annotations say now."""
        feed = self._feed
        if feed is None:
            return plan
        limits, last = feed.limits, self._merged
        if last is None or last[0] is not plan or last[1] != limits:
            self._merged = last = (plan, limits, with_overrides(plan, limits))
        return last[2]

    def close(self) -> None:
        """Follow nothing any more."""
        self._supervisor.drop(_LOG)
        self._leave()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """How well the annotations can be followed; nothing where none are."""
        if self._watched is None:
            return
        connected = GaugeMetricFamily(
            names.LIMIT_SOURCE_UP, "1 while the source of limits can be read.", labels=("source",)
        )
        connected.add_metric(("kubernetes",), int(self._feed is not None and self._feed.connected))
        yield connected
        yield GaugeMetricFamily(
            names.LIMIT_ANNOTATIONS_REFUSED,
            "Annotations that are not valid limits.",
            value=self._feed.refused if self._feed else 0,
        )

    def _restart(self, plan: Plan) -> None:
        self._leave()
        # Kept even where nobody can be asked: `collect` then tells 0, which alerts can see.
        self._watched = watched = plan.kubernetes.watched
        if watched is None:
            return
        try:
            clients = {
                kind.name: _client(watched, Kind(api=kind.api, name=kind.name, plural=kind.plural))
                for kind in watched.kinds
            }
            events = Events(KubernetesApi(watched.server), self._speaks) if watched.events else None
        except ClientError as error:
            _log.warning("annotations are not followed: %s", error)
            return
        self._feed = AnnotationFeed(
            clients,
            plan.models,
            self._keeper.log,
            self._keeper.annotated,
            annotation=watched.annotation,
            announce=events.tell if events else None,
        )
        for kind, follower in self._feed.followers.items():
            self._supervisor.keep(_task(kind), follower.follow)
        if events:
            self._supervisor.keep(_EVENTS, events.post)

    def _leave(self) -> None:
        self._supervisor.drop(_EVENTS)
        if self._feed:
            for kind in self._feed.followers:
                self._supervisor.drop(_task(kind))
            self._feed.close()
        self._feed = None


def _task(kind: str) -> str:
    return _FEED if kind == "Deployment" else f"{_FEED} {kind}"


def _client(watched: Watched, kind: Kind) -> KubernetesClient:
    return KubernetesClient(
        KubernetesApi(watched.server),
        kind,
        namespace=watched.namespace,
        prefixes=(watched.annotation, MODEL_ANNOTATION),
    )
