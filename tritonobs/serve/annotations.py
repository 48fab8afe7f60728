"""Follows the `tritonobs.dev/max-qps` annotations of Deployments; keeps what they said while it cannot.

Every change goes to the log of limits. After a restart the limits are those the log ends with, until the API
server has answered: a limit does not vanish because two things were restarted at once.
"""

from __future__ import annotations

import logging
import random
import threading
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Protocol

from tritonobs.clients.kubernetes import Change, Deployment, Expired, Listing
from tritonobs.errors import ClientError, SecretUnusable, SpecInvalid
from tritonobs.plan.annotations import Annotated, annotated_limits, overrides
from tritonobs.plan.fleet import QpsLimit
from tritonobs.serve.audit import ANNOTATION, Author, LimitsLog, state
from tritonobs.spec.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tritonobs.plan.fleet import Model

_log = logging.getLogger(__name__)
_WATCH_SECONDS = 240
_LONGEST_PAUSE_SECONDS = 30.0


class Deployments(Protocol):
    """Who can tell about Deployments; `clients.kubernetes.KubernetesClient` does."""

    def list(self) -> Listing:
        """Every Deployment."""

    def watch(self, resource_version: str, *, seconds: int) -> Iterator[Change]:
        """What changes afterwards."""

    def close(self) -> None:
        """Nothing more is asked."""


class AnnotationFeed:
    """One thread that lists and watches; `limits` may be read from any other."""

    def __init__(self, client: Deployments, models: tuple[Model, ...], log: LimitsLog) -> None:
        self._client = client
        self._models = models
        self._limits_log = log
        self._lock = threading.Lock()
        self._seen: dict[str, Deployment] | None = None
        self._now = Annotated(limits=_remembered(log), writers={}, complaints=())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="annotations", daemon=True)
        self.connected = False
        """Whether the API server answered when it was last asked."""

    @property
    def limits(self) -> Mapping[tuple[str, str], QpsLimit]:
        """What the annotations say now, or said last, by model and version."""
        return overrides(self._now.limits.values())

    @property
    def refused(self) -> int:
        """How many annotations cannot be meant as they stand."""
        return len(self._now.complaints)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """Follow no longer. A watch that is waiting for the server ends with the process."""
        self._stop.set()
        self._client.close()

    def use_models(self, models: tuple[Model, ...]) -> None:
        """Judge the annotations anew, by another fleet file."""
        with self._lock:
            self._models = models
            self._judge()

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                listing = self._client.list()
                self.connected, failures = True, 0
                self._replace(listing)
                self._follow(listing.resource_version)
            except Expired as gone:
                _log.info("%s; listing anew", gone)
            except (ClientError, SecretUnusable) as error:
                if not self._stop.is_set():
                    self._trouble(error)
            failures += 1
            # Spread out, so that many daemons do not come back to a restarted API server at one moment.
            pause = min(2.0**failures, _LONGEST_PAUSE_SECONDS) * random.uniform(0.25, 0.5)  # noqa: S311 (no secret)
            self._stop.wait(pause)

    def _follow(self, version: str) -> None:
        while not self._stop.is_set():
            for change in self._client.watch(version, seconds=_WATCH_SECONDS):
                version = change.resource_version
                self._take(change)
                if self._stop.is_set():
                    return

    def _trouble(self, error: Exception) -> None:
        level = logging.WARNING if self.connected else logging.DEBUG
        self.connected = False
        _log.log(level, "annotations cannot be followed, their last limits stay in force: %s", error)

    def _replace(self, listing: Listing) -> None:
        with self._lock:
            self._seen = {deployment.key: deployment for deployment in listing.deployments}
            self._judge()

    def _take(self, change: Change) -> None:
        if change.deployment is None:
            return
        with self._lock:
            seen = {} if self._seen is None else self._seen
            before = seen.pop(change.deployment.key, None)
            if change.kind != "DELETED":
                seen[change.deployment.key] = change.deployment
            self._seen = seen
            if seen.get(change.deployment.key) != before:
                self._judge()

    def _judge(self) -> None:
        if self._seen is None:
            return
        last = self._now
        self._now = annotated_limits(self._seen.values(), self._models, last.limits)
        for complaint in set(self._now.complaints) - set(last.complaints):
            _log.warning("%s", complaint)
        self._tell_log()

    def _tell_log(self) -> None:
        author = Author(who="unknown", source=ANNOTATION, reason="annotated in Kubernetes")
        try:
            with self._limits_log.turn():
                self._limits_log.record(
                    self._now.limits, author, datetime.now(timezone.utc), self._now.writers
                )
        except SpecInvalid as error:
            _log.warning("%s", error)


def _remembered(log: LimitsLog) -> dict[str, QpsLimit]:
    """The annotations' limits as the log ends with them."""
    limits = {}
    for field, entry in state(log.read()[0], ANNOTATION).items():
        try:
            qps = UNLIMITED if entry.new == "unlimited" else Decimal(entry.new)
        except InvalidOperation:
            continue
        limits[field] = QpsLimit(model=entry.model, version=entry.version, qps=qps, origin=field)
    return limits
