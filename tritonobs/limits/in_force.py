"""The limits in force: the fleet file's, replaced by those of annotations; every change is logged.

The log is written beside the event loop: a full disk or a held lock delays nothing else. Events on annotated
objects say "limit 80 in force", or why not. Nothing waits for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.clients.kubernetes import KubernetesClient
from tritonobs.clients.kubernetes_api import KubernetesApi
from tritonobs.errors import ClientError, SecretUnusable, TritonobsError
from tritonobs.limits.annotations import AnnotationFeed
from tritonobs.limits.change import log_of, note_file
from tritonobs.limits.log import ANNOTATION, Author, LimitsLog
from tritonobs.names import MODEL_ANNOTATION
from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import AnnotatedObject, Watched, WatchedKind
from tritonobs.plan.limits import Annotated, with_overrides
from tritonobs.tasks import Supervisor, Threads

_log = logging.getLogger(__name__)
_FEED, _LOG, _EVENTS = "annotations", "limits log", "events"
_MOST_WAITING = 1_000
_POST_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
_LONGEST_MESSAGE = 1_000
_SOURCE = "tritonobs"

_PATIENCE_SECONDS = 10.0
_MOST_CHANGES = 1000
_AUTHOR = Author(who="unknown", source=ANNOTATION, reason="annotated in Kubernetes")


class LiveLimits(Collector):
    """Limits that the daemon knows beyond the fleet file it loaded. Its tasks are the supervisor's.

    `speaks` says whether this daemon, of several, is the one that writes the state of their limits to
    objects.
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
        """The plan with the limits of the current annotations."""
        feed = self._feed
        if feed is None:
            return plan
        limits, last = feed.limits, self._merged
        if last is None or last[0] is not plan or last[1] != limits:
            self._merged = last = (plan, limits, with_overrides(plan, limits))
        return last[2]

    def close(self) -> None:
        """Stop following."""
        self._supervisor.drop(_LOG)
        self._leave()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Metrics about the annotations; nothing where they are not followed."""
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
        # Kept even where no API server can be reached: `collect` then gives 0, which alerts can see.
        self._watched = watched = plan.kubernetes.watched
        if watched is None:
            return
        try:
            clients = {kind.kind: _client(watched, kind) for kind in watched.kinds}
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


def _client(watched: Watched, kind: WatchedKind) -> KubernetesClient:
    return KubernetesClient(
        KubernetesApi(watched.server),
        kind,
        namespace=watched.namespace,
        prefixes=(watched.annotation, MODEL_ANNOTATION),
    )


class Events:
    """Posts what it is given, one after the other; of very many the newest. `speaks`: whether we do now."""

    def __init__(self, api: KubernetesApi, speaks: Callable[[], bool]) -> None:
        self._api, self._speaks = api, speaks
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque(maxlen=_MOST_WAITING)
        self._loop = asyncio.get_running_loop()
        self._something = asyncio.Event()
        self._threads = Threads("events")
        self._refused = ""

    def tell(self, one: AnnotatedObject, in_force: str, complaint: str) -> None:
        """Report what is in force on this object, or what is wrong; from any thread."""
        if self._speaks():
            self._waiting.append((one.namespace, event(one, in_force, complaint)))
            self._loop.call_soon_threadsafe(self._something.set)

    async def post(self) -> None:
        """One round: wait for something to report, and report it."""
        await self._something.wait()
        self._something.clear()
        while self._waiting:
            namespace, body = self._waiting.popleft()
            try:
                await self._threads.run(lambda: self._post(namespace, body), seconds=2 * _POST_SECONDS)  # noqa: B023 (awaited at once)
            except (ClientError, SecretUnusable) as error:
                # Logged once: a service account without the right to create Events has each of them refused.
                if str(error) != self._refused:
                    _log.warning("an Event could not be written: %s", error)
                self._refused = str(error)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _post(self, namespace: str, body: dict[str, Any]) -> None:
        self._api.ask("POST", f"/api/v1/namespaces/{namespace}/events", body=body, seconds=_POST_SECONDS)


def event(one: AnnotatedObject, in_force: str, complaint: str) -> dict[str, Any]:
    """The Event about an object, as the API takes it."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{one.name[:200]}.{uuid4().hex[:16]}", "namespace": one.namespace},
        "involvedObject": {
            "apiVersion": one.api,
            "kind": one.kind,
            "namespace": one.namespace,
            "name": one.name,
            **({"uid": one.uid} if one.uid else {}),
        },
        "type": "Warning" if complaint else "Normal",
        "reason": "LimitRefused" if complaint else "LimitInForce",
        "message": (complaint or in_force)[:_LONGEST_MESSAGE],
        "source": {"component": _SOURCE},
        "reportingComponent": _SOURCE,
        "reportingInstance": _SOURCE,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


class LogKeeper:
    """Logs changes in order. Changes that cannot be written wait, the last 1,000 at most."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = Threads("limits log")
        self._loop = asyncio.get_running_loop()
        self._something = asyncio.Event()
        self._annotations: deque[tuple[Annotated, datetime]] = deque(maxlen=_MOST_CHANGES)
        """What they said, from which moment on."""
        self._file_changed = False
        self._log: LimitsLog | None = None

    def file_changed(self) -> None:
        """Another fleet file is in use."""
        self._file_changed = True
        self._something.set()

    def annotated(self, said: Annotated) -> None:
        """Annotations changed; from any thread."""
        self._annotations.append((said, datetime.now(timezone.utc)))
        self._loop.call_soon_threadsafe(self._something.set)

    def log(self) -> LimitsLog:
        """The log of the fleet file in use. Reads files.

        Raises:
            SpecInvalid: the fleet file is wrong, and no valid one was read before.
        """
        if self._log is None:
            self._log = log_of(self._path)
        return self._log

    async def write(self) -> None:
        """One round: wait for a change, write all there is.

        Raises:
            TritonobsError: it could not be written now; the next round tries again.
        """
        await self._something.wait()
        # Before the work: what comes meanwhile raises it again.
        self._something.clear()
        try:
            await self._threads.run(self._write, seconds=_PATIENCE_SECONDS)
        except BaseException:
            self._something.set()
            raise

    def _write(self) -> None:
        try:
            if self._file_changed:
                self._note()
            while self._annotations:
                # It leaves the queue only when it is written: a full disk loses nothing.
                change = self._annotations[0]
                self._record(*change)
                # Where there are too many, the oldest may have left by itself meanwhile.
                if self._annotations[0] is change:
                    self._annotations.popleft()
        except OSError as error:
            raise TritonobsError(f"the log of limits cannot be written: {error.strerror or error}") from error

    def _note(self) -> None:
        # Lowered first: a change that comes meanwhile raises it again.
        self._file_changed = False
        try:
            entries = note_file(self._path)
            self._log = log_of(self._path)
        except BaseException:
            self._file_changed = True
            raise
        for entry in entries:
            _log.info("%s: %s → %s", entry.field, entry.old or "nothing", entry.new or "nothing")

    def _record(self, said: Annotated, at: datetime) -> None:
        log = self.log()
        with log.turn():
            log.record(said.limits, _AUTHOR, at, said.writers)
