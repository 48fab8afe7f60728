"""The limits in force: the fleet file's, with those of annotations in their place; every change is logged."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.clients.kubernetes import KubernetesClient
from tritonobs.errors import ClientError, SpecInvalid
from tritonobs.plan.limits import with_overrides
from tritonobs.serve.annotations import AnnotationFeed
from tritonobs.serve.change import log_of, note_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.kubernetes import ApiServer

_log = logging.getLogger(__name__)


class LiveLimits(Collector):
    """What the daemon knows of limits beyond the fleet file it loaded."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self._path = path
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="limits-log")
        self._server: ApiServer | None = None
        self._feed: AnnotationFeed | None = None
        self._merged: tuple[Plan, object, Plan] | None = None
        self.apply(plan)

    def apply(self, plan: Plan) -> None:
        """Use a fleet file that was loaded anew."""
        self._writer.submit(self._note)
        if plan.kubernetes.watched != self._server:
            self._restart(plan)
        elif self._feed:
            self._feed.use_models(plan.models)

    def merged(self, plan: Plan) -> Plan:
        """The plan with what annotations say now."""
        if self._feed is None:
            return plan
        limits = self._feed.limits
        if self._merged is None or self._merged[0] is not plan or self._merged[1] != limits:
            self._merged = (plan, limits, with_overrides(plan, limits))
        return self._merged[2]

    def close(self) -> None:
        """Follow nothing any more."""
        self._writer.shutdown(wait=False, cancel_futures=True)
        if self._feed:
            self._feed.close()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """How well the annotations can be followed; nothing where none are."""
        if self._server is None:
            return
        connected = GaugeMetricFamily(
            names.LIMIT_SOURCE_UP, "1 while the source of limits can be read.", labels=("source",)
        )
        connected.add_metric(("kubernetes",), int(self._feed is not None and self._feed.connected))
        yield connected
        yield GaugeMetricFamily(
            names.LIMIT_ANNOTATIONS_REFUSED,
            "Annotations that cannot be meant as limits.",
            value=self._feed.refused if self._feed else 0,
        )

    def _restart(self, plan: Plan) -> None:
        if self._feed:
            self._feed.close()
        self._server, self._feed = plan.kubernetes.watched, None
        if self._server is None:
            return
        try:
            client = _client(self._server)
        except ClientError as error:
            _log.warning("annotations are not followed: %s", error)
            return
        self._feed = AnnotationFeed(client, plan.models, log_of(self._path))
        self._feed.start()

    def _note(self) -> None:
        try:
            for entry in note_file(self._path):
                _log.info("%s: %s → %s", entry.field, entry.old or "nothing", entry.new or "nothing")
        except SpecInvalid as error:
            _log.warning("%s", error)


def _client(server: ApiServer) -> KubernetesClient:
    return KubernetesClient(
        server.url, namespace=server.namespace, token_file=server.token_file, ca_file=server.ca_file
    )
