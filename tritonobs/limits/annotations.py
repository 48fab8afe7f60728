"""Limits from the annotations of Kubernetes objects; keeps the last ones while the API is not reachable.

Every change goes to the log of limits. After a restart the limits are those the log ends with, until the API
server has answered: a limit does not vanish because two things were restarted at once.

The objects of one kind are followed by a list, then watches; after trouble a pause, then a list again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Callable, Mapping

from tritonobs.clients.kubernetes import Change, KubernetesClient, Listing
from tritonobs.clients.kubernetes_api import Expired
from tritonobs.errors import ClientError, SecretUnusable
from tritonobs.limits.log import ANNOTATION, LimitsLog, state
from tritonobs.names import MAX_QPS_ANNOTATION
from tritonobs.plan.fleet import Model, QpsLimit
from tritonobs.plan.kubernetes import AnnotatedObject
from tritonobs.plan.limits import Annotated, annotated_limits, overrides
from tritonobs.spec.values import parse_qps
from tritonobs.tasks import Threads

Announce = Callable[[AnnotatedObject, str, str], None]
"""An object, and what is in force or what is wrong on it."""
_log = logging.getLogger(__name__)

_WATCH_SECONDS = 240
_LONGEST_STEP_SECONDS = 330.0
"""A watch, and the client's timeout for it."""
_LONGEST_PAUSE_SECONDS = 30.0
_MOST_DOUBLINGS = 5


class AnnotationFeed:
    """What the objects of several kinds say; `limits` may be read from any thread.

    `clients` are by the name of the kind. `log` gives the log of limits as it is on disk. `changed` is called
    with the current annotations, `announce` with each object whose limit changed; both in any thread.
    """

    def __init__(
        self,
        clients: Mapping[str, KubernetesClient],
        models: tuple[Model, ...],
        log: Callable[[], LimitsLog],
        changed: Callable[[Annotated], None],
        *,
        annotation: str = MAX_QPS_ANNOTATION,
        announce: Announce | None = None,
    ) -> None:
        self._models = models
        self._annotation = annotation
        self._log_of = log
        self._changed = changed
        self._announce = announce
        self._lock = threading.Lock()
        self._remembered = self._closed = False
        self._seen: dict[str, dict[str, AnnotatedObject]] = {}
        self._now = Annotated(limits={}, writers={}, complaints={})
        self.followers = {kind: Follower(self, kind, client) for kind, client in clients.items()}
        """The caller calls `follow` of each again and again."""

    @property
    def connected(self) -> bool:
        """Whether the API server answered for every kind when it was last asked."""
        return all(one.connected for one in self.followers.values())

    @property
    def limits(self) -> Mapping[tuple[str, str], QpsLimit]:
        """The current annotations, or the last known ones, by model and version."""
        # `_now` is replaced and never changed, so a reader needs no lock.
        return overrides(self._now.limits.values())

    @property
    def refused(self) -> int:
        """How many annotations are not valid."""
        return len(self._now.complaints)

    def close(self) -> None:
        """Stop following."""
        self._closed = True
        for follower in self.followers.values():
            follower.close()

    def use_models(self, models: tuple[Model, ...]) -> None:
        """Judge the annotations again, by another fleet file."""
        with self._lock:
            self._models = models
            self._judge()

    def remember(self) -> None:
        """The last entries of the log, before the first question to the server.

        If the log cannot be read, the server is asked all the same.
        """
        with self._lock:
            if self._remembered:
                return
            self._remembered = True
            try:
                limits = _ended_with(self._log_of())
            except Exception as error:  # noqa: BLE001 (the log may hold anything)
                _log.warning("the limits of annotations before the restart are not known: %s", error)
                limits = {}
            self._now = Annotated(limits=limits, writers={}, complaints={})

    def replace(self, kind: str, listing: Listing) -> None:
        """Every object of a kind."""
        with self._lock:
            self._seen[kind] = {one.key: one for one in listing.objects}
            self._judge()

    def take(self, kind: str, change: Change) -> None:
        """What came after the list."""
        if change.annotated is None:
            return
        with self._lock:
            seen = self._seen.setdefault(kind, {})
            before = seen.pop(change.annotated.key, None)
            if change.kind != "DELETED":
                seen[change.annotated.key] = change.annotated
            # A Deployment changes with every step of a rollout, its annotations seldom.
            if seen.get(change.annotated.key) != before:
                self._judge()

    def _judge(self) -> None:
        # Until something was listed, what the log ended with stays in force.
        if not self._seen or self._closed:
            return
        last = self._now
        objects = [one for seen in self._seen.values() for one in seen.values()]
        found = annotated_limits(objects, self._models, last.limits, self._annotation)
        # Limits of a kind from before the restart stay in force until that kind was listed.
        unseen = {
            origin: limit
            for origin, limit in last.limits.items()
            if (kind := origin.partition(" ")[0]) in self.followers and kind not in self._seen
        }
        self._now = Annotated(
            limits={**unseen, **found.limits}, writers=found.writers, complaints=found.complaints
        )
        for origin, complaint in self._now.complaints.items():
            if last.complaints.get(origin) != complaint:
                _log.warning("%s: %s", origin, complaint)
        self._changed(self._now)
        if self._announce:
            self._tell(last, {one.key: one for one in objects})

    def _tell(self, last: Annotated, objects: Mapping[str, AnnotatedObject]) -> None:
        """Each object whose limit, or whose error, has changed."""
        now = self._now
        for origin in sorted({*now.limits, *now.complaints}):
            one = objects.get(origin.rpartition(" ")[0])
            limit, complaint = now.limits.get(origin), now.complaints.get(origin, "")
            before = (last.limits.get(origin), last.complaints.get(origin, ""))
            if one is not None and self._announce and (limit, complaint) != before:
                of = f"{limit.model}{f' version {limit.version}' if limit.version else ''}" if limit else ""
                self._announce(one, f"limit {limit.qps:f} in force for {of}" if limit else "", complaint)


def _ended_with(log: LimitsLog) -> dict[str, QpsLimit]:
    """The annotations' limits as the log ends with them."""
    limits = {}
    for field, entry in state(log.read()[0], ANNOTATION).items():
        try:
            qps = parse_qps(entry.new)
        except ValueError:
            continue
        limits[field] = QpsLimit(model=entry.model, version=entry.version, qps=qps, origin=field)
    return limits


class Follower:
    """Gives a feed every whole list of a kind, and what came after it; in a thread of its own."""

    def __init__(self, feed: AnnotationFeed, kind: str, client: KubernetesClient) -> None:
        self._feed, self._kind, self._client = feed, kind, client
        self._threads = Threads("annotations")
        self._version = ""
        self._failures = 0
        self._closed = False
        self.connected = False
        """Whether the API server answered when it was last asked."""

    def close(self) -> None:
        """Follow no longer. A watch that is waiting for the server ends with the process."""
        self._closed = True
        self._client.close()

    async def follow(self) -> None:
        """One step: a list, or a watch to its end; after trouble with the server, a pause."""
        try:
            await self._threads.run(self._step, seconds=_LONGEST_STEP_SECONDS)
        except Expired as gone:
            _log.info("%s; listing again", gone)
            self._version = ""
        except (ClientError, SecretUnusable) as error:
            self._trouble(error)
        # A change may have been applied by half, so the next step lists again.
        except BaseException:
            self._lost()
            raise
        else:
            self._failures = 0
            return
        # Spread out, so that many daemons do not come back to a restarted API server at one moment.
        longest = min(2.0 ** min(self._failures + 1, _MOST_DOUBLINGS), _LONGEST_PAUSE_SECONDS)
        self._failures += 1
        await asyncio.sleep(longest * random.uniform(0.25, 0.5))  # noqa: S311 (no secret)

    def _step(self) -> None:
        if not self._version:
            self._feed.remember()
            listing = self._client.list()
            self._feed.replace(self._kind, listing)
            self._version = listing.resource_version
            self.connected = True
            return
        for change in self._client.watch(self._version, seconds=_WATCH_SECONDS):
            self._version = change.resource_version
            self._feed.take(self._kind, change)
            if self._closed:
                return

    def _trouble(self, error: Exception) -> None:
        level = logging.WARNING if self.connected or not self._failures else logging.DEBUG
        self._lost()
        _log.log(level, "annotations cannot be followed, their last limits stay in force: %s", error)

    def _lost(self) -> None:
        self.connected, self._version = False, ""
